-- Processes keep keys, settings and node types in memory, and read here what changed:
-- the newest 1000 notices are kept. What only notes the last use of a key tells nobody.

-- +goose Up
CREATE TABLE notices (
    seq     integer PRIMARY KEY AUTOINCREMENT,
    topic   text    NOT NULL,
    payload text    NOT NULL
);

-- +goose StatementBegin
CREATE TRIGGER notices_kept AFTER INSERT ON notices BEGIN
    DELETE FROM notices WHERE seq <= NEW.seq - 1000;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER tenants_told_update AFTER UPDATE ON tenants BEGIN
    INSERT INTO notices (topic, payload) VALUES ('sluice_changes', NEW.id);
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER tenants_told_delete AFTER DELETE ON tenants BEGIN
    INSERT INTO notices (topic, payload) VALUES ('sluice_changes', OLD.id);
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER api_keys_told_insert AFTER INSERT ON api_keys BEGIN
    INSERT INTO notices (topic, payload) VALUES ('sluice_changes', NEW.tenant_id);
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER api_keys_told_update AFTER UPDATE OF name, hash, expires_at, revoked_at ON api_keys BEGIN
    INSERT INTO notices (topic, payload) VALUES ('sluice_changes', NEW.tenant_id);
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER api_keys_told_delete AFTER DELETE ON api_keys BEGIN
    INSERT INTO notices (topic, payload) VALUES ('sluice_changes', OLD.tenant_id);
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER custom_nodes_told_insert AFTER INSERT ON custom_nodes BEGIN
    INSERT INTO notices (topic, payload) VALUES ('sluice_changes', NEW.tenant_id);
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER custom_nodes_told_update AFTER UPDATE ON custom_nodes BEGIN
    INSERT INTO notices (topic, payload) VALUES ('sluice_changes', NEW.tenant_id);
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER custom_nodes_told_delete AFTER DELETE ON custom_nodes BEGIN
    INSERT INTO notices (topic, payload) VALUES ('sluice_changes', OLD.tenant_id);
END;
-- +goose StatementEnd

-- Counts the changes of what has a total: a list whose count of changes and total are
-- what they were is what it was.
ALTER TABLE totals ADD COLUMN changes integer NOT NULL DEFAULT 0;

-- +goose StatementBegin
CREATE TRIGGER workflows_counted_insert AFTER INSERT ON workflows BEGIN
    UPDATE totals SET changes = changes + 1 WHERE tenant_id = NEW.tenant_id AND kind = 'workflows';
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER workflows_counted_update AFTER UPDATE ON workflows BEGIN
    UPDATE totals SET changes = changes + 1 WHERE tenant_id = NEW.tenant_id AND kind = 'workflows';
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER workflows_counted_delete AFTER DELETE ON workflows BEGIN
    UPDATE totals SET changes = changes + 1 WHERE tenant_id = OLD.tenant_id AND kind = 'workflows';
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER triggers_counted_insert AFTER INSERT ON triggers BEGIN
    UPDATE totals SET changes = changes + 1 WHERE tenant_id = NEW.tenant_id AND kind = 'triggers';
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER triggers_counted_update AFTER UPDATE ON triggers BEGIN
    UPDATE totals SET changes = changes + 1 WHERE tenant_id = NEW.tenant_id AND kind = 'triggers';
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER triggers_counted_delete AFTER DELETE ON triggers BEGIN
    UPDATE totals SET changes = changes + 1 WHERE tenant_id = OLD.tenant_id AND kind = 'triggers';
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER workflows_counted_insert;
DROP TRIGGER workflows_counted_update;
DROP TRIGGER workflows_counted_delete;
DROP TRIGGER triggers_counted_insert;
DROP TRIGGER triggers_counted_update;
DROP TRIGGER triggers_counted_delete;
ALTER TABLE totals DROP COLUMN changes;
DROP TRIGGER custom_nodes_told_delete;
DROP TRIGGER custom_nodes_told_update;
DROP TRIGGER custom_nodes_told_insert;
DROP TRIGGER api_keys_told_delete;
DROP TRIGGER api_keys_told_update;
DROP TRIGGER api_keys_told_insert;
DROP TRIGGER tenants_told_delete;
DROP TRIGGER tenants_told_update;
DROP TRIGGER notices_kept;
DROP TABLE notices;
