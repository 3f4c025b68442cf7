-- Connections: what workflows call with.
--
-- One row of connections for each of them. hosts is JSON; secret is sealed: a JSON object of all that it
-- authenticates with. connection_id of a webhook endpoint is empty where it has none.
--
-- What other processes keep in memory they are told of: hooks with what they verify with, and what became of keys that
-- are limited to a part of their tenant.
--
-- Gateways of 0.1.0 serve meanwhile and go on after it: they know nothing of connections. An endpoint gets one once
-- none of them is alive.

-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS connections (
    tenant_id     text NOT NULL CONSTRAINT connections_tenant REFERENCES tenants ON DELETE CASCADE,
    id            text NOT NULL,
    sub_tenant_id text COLLATE "C" NOT NULL,
    name          text COLLATE "C" NOT NULL,
    search_text   text NOT NULL,
    kind          text COLLATE "C" NOT NULL,
    hosts         text NOT NULL,
    secret        text NOT NULL,
    is_shared     boolean NOT NULL,
    is_active     boolean NOT NULL,
    metadata      text NOT NULL DEFAULT '{}',
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL,
    revision      bigint NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX IF NOT EXISTS connections_by_creation ON connections (tenant_id, created_at, id);
CREATE OR REPLACE TRIGGER connections_change AFTER DELETE OR UPDATE ON connections FOR EACH ROW EXECUTE FUNCTION notify_change();
CALL change_under_load($$CREATE OR REPLACE TRIGGER narrowed_keys_change AFTER UPDATE OF name, expires_at, revoked_at ON narrowed_keys
    FOR EACH ROW EXECUTE FUNCTION notify_change()$$);
CALL change_under_load($$ALTER TABLE webhook_endpoints ADD COLUMN IF NOT EXISTS connection_id text NOT NULL DEFAULT ''$$);

-- +goose Down
CALL change_under_load($$ALTER TABLE webhook_endpoints DROP COLUMN IF EXISTS connection_id$$);
DROP TRIGGER IF EXISTS narrowed_keys_change ON narrowed_keys;
DROP TABLE IF EXISTS connections;
