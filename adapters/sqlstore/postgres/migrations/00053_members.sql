-- Who uses the console: users, memberships, sessions and links.
--
-- Users belong to no tenant, and neither do their sessions and the links by which they come in. Of passwords,
-- sessions and links only hashes are kept. issuer and subject are null for somebody who does not sign in elsewhere.
--
-- Gateways of 0.1.0 go on after it: they know nothing of users.

-- +goose Up
CREATE TABLE users (
    id            text NOT NULL PRIMARY KEY,
    email         text COLLATE "C" NOT NULL,
    name          text NOT NULL,
    language      text NOT NULL,
    is_operator   boolean NOT NULL,
    password_hash text NOT NULL,
    issuer        text COLLATE "C",
    subject       text COLLATE "C",
    created_at    timestamptz NOT NULL,
    disabled_at   timestamptz,
    revision      bigint NOT NULL
);
CREATE UNIQUE INDEX users_email ON users (email);
CREATE UNIQUE INDEX users_identity ON users (issuer, subject);
CREATE INDEX users_by_creation ON users (created_at, id);

CREATE TABLE memberships (
    tenant_id  text NOT NULL CONSTRAINT memberships_tenant REFERENCES tenants ON DELETE CASCADE,
    id         text NOT NULL,
    user_id    text NOT NULL CONSTRAINT memberships_of_user REFERENCES users ON DELETE CASCADE,
    role       text NOT NULL,
    created_at timestamptz NOT NULL,
    revision   bigint NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX memberships_user ON memberships (user_id, tenant_id);
CREATE INDEX memberships_by_creation ON memberships (tenant_id, created_at, id);

CREATE TABLE console_sessions (
    user_id      text NOT NULL CONSTRAINT console_sessions_user REFERENCES users ON DELETE CASCADE,
    id           text NOT NULL,
    hash         bytea NOT NULL,
    agent        text NOT NULL,
    address      text NOT NULL,
    created_at   timestamptz NOT NULL,
    last_used_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, id)
);
CREATE UNIQUE INDEX console_sessions_hash ON console_sessions (hash);

CREATE TABLE sign_in_links (
    hash    bytea NOT NULL PRIMARY KEY,
    user_id text NOT NULL CONSTRAINT sign_in_links_user REFERENCES users ON DELETE CASCADE,
    purpose text NOT NULL,
    ends_at timestamptz NOT NULL
);
CREATE INDEX sign_in_links_of ON sign_in_links (user_id, ends_at);

-- +goose Down
DROP TABLE sign_in_links;
DROP TABLE console_sessions;
DROP TABLE memberships;
DROP TABLE users;
