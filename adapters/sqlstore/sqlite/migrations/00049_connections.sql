-- Connections: what workflows call with.
--
-- One row of connections for each of them. hosts is JSON; secret is sealed: a JSON object of all that it
-- authenticates with. connection_id of a webhook endpoint is empty where it has none.
--
-- What other processes keep in memory they are told of: hooks with what they verify with, and what became of keys that
-- are limited to a part of their tenant.
--
-- Gateways of 0.1.0 go on after it: they know nothing of connections. An endpoint gets one once none of them is alive.

-- +goose Up
CREATE TABLE connections (
    tenant_id     text NOT NULL CONSTRAINT connections_tenant REFERENCES tenants ON DELETE CASCADE,
    id            text NOT NULL,
    sub_tenant_id text NOT NULL,
    name          text NOT NULL,
    search_text   text NOT NULL,
    kind          text NOT NULL,
    hosts         text NOT NULL,
    secret        text NOT NULL,
    is_shared     boolean NOT NULL,
    is_active     boolean NOT NULL,
    metadata      text NOT NULL DEFAULT '{}',
    created_at    timestamp NOT NULL,
    updated_at    timestamp NOT NULL,
    revision      integer NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX connections_by_creation ON connections (tenant_id, created_at, id);
ALTER TABLE webhook_endpoints ADD COLUMN connection_id text NOT NULL DEFAULT '';

-- +goose StatementBegin
CREATE TRIGGER connections_notify_update AFTER UPDATE ON connections BEGIN
    INSERT INTO notices (topic, payload) VALUES ('sluice_changes', NEW.tenant_id);
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER connections_notify_delete AFTER DELETE ON connections BEGIN
    INSERT INTO notices (topic, payload) VALUES ('sluice_changes', OLD.tenant_id);
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER narrowed_keys_notify_update AFTER UPDATE OF name, expires_at, revoked_at ON narrowed_keys BEGIN
    INSERT INTO notices (topic, payload) VALUES ('sluice_changes', NEW.tenant_id);
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER hooks_notify_insert AFTER INSERT ON hooks BEGIN
    INSERT INTO notices (topic, payload) VALUES ('sluice_changes', NEW.tenant_id);
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER hooks_notify_update AFTER UPDATE ON hooks BEGIN
    INSERT INTO notices (topic, payload) VALUES ('sluice_changes', NEW.tenant_id);
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER hooks_notify_delete AFTER DELETE ON hooks BEGIN
    INSERT INTO notices (topic, payload) VALUES ('sluice_changes', OLD.tenant_id);
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER hooks_notify_insert;
DROP TRIGGER hooks_notify_update;
DROP TRIGGER hooks_notify_delete;
DROP TRIGGER narrowed_keys_notify_update;
ALTER TABLE webhook_endpoints DROP COLUMN connection_id;
DROP TABLE connections;
