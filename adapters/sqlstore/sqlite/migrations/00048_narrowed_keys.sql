-- Keys that are limited to a part of their tenant, and embed tokens.
--
-- They have a table of their own, so that gateways that do not know them refuse them instead of
-- taking them for whole ones. narrowing is JSON, of which sub_tenant_id (null for the whole tenant)
-- and subject are found by.
--
-- Gateways of 0.1.0 go on after it.

-- +goose Up
CREATE TABLE narrowed_keys (
    tenant_id     text NOT NULL CONSTRAINT narrowed_keys_tenant REFERENCES tenants ON DELETE CASCADE,
    id            text NOT NULL,
    type          text NOT NULL,
    name          text NOT NULL,
    hash          blob NOT NULL CONSTRAINT narrowed_keys_hash UNIQUE,
    last_four     text NOT NULL,
    sub_tenant_id text,
    subject       text NOT NULL,
    narrowing     text NOT NULL,
    created_at    timestamp NOT NULL,
    last_used_at  timestamp,
    expires_at    timestamp,
    revoked_at    timestamp,
    successor_id  text NOT NULL,
    revision      integer NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX narrowed_keys_by_creation ON narrowed_keys (tenant_id, created_at, id);
CREATE INDEX narrowed_keys_ended ON narrowed_keys (expires_at) WHERE type = 'embed';

-- +goose Down
DROP TABLE narrowed_keys;
