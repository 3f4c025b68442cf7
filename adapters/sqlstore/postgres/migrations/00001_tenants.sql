-- +goose Up
CREATE TABLE tenants (
    id         text        PRIMARY KEY,
    name       text        NOT NULL,
    status     text        NOT NULL,
    settings   text        NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    revision   bigint      NOT NULL
);
CREATE INDEX tenants_by_creation ON tenants (created_at, id);

CREATE TABLE api_keys (
    tenant_id    text        NOT NULL CONSTRAINT api_keys_tenant REFERENCES tenants ON DELETE CASCADE,
    id           text        NOT NULL,
    type         text        NOT NULL,
    name         text        NOT NULL,
    hash         bytea       NOT NULL CONSTRAINT api_keys_hash UNIQUE,
    last_four    text        NOT NULL,
    created_at   timestamptz NOT NULL,
    last_used_at timestamptz,
    expires_at   timestamptz,
    revoked_at   timestamptz,
    revision     bigint      NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX api_keys_by_creation ON api_keys (tenant_id, created_at, id);

-- +goose Down
DROP TABLE api_keys;
DROP TABLE tenants;
