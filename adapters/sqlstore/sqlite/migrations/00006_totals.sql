-- How many workflows and triggers each tenant has, kept in the transaction that adds
-- or removes one, so that a list knows its exact total without counting.

-- +goose Up
CREATE TABLE totals (
    tenant_id text NOT NULL CONSTRAINT totals_tenant REFERENCES tenants ON DELETE CASCADE,
    kind      text NOT NULL,
    is_active boolean NOT NULL,
    n         integer NOT NULL,
    PRIMARY KEY (tenant_id, kind, is_active)
);

-- +goose StatementBegin
CREATE TRIGGER workflows_inserted AFTER INSERT ON workflows BEGIN
    INSERT INTO totals (tenant_id, kind, is_active, n) VALUES (NEW.tenant_id, 'workflows', NEW.is_active, 1)
    ON CONFLICT (tenant_id, kind, is_active) DO UPDATE SET n = n + 1;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER workflows_deleted AFTER DELETE ON workflows BEGIN
    UPDATE totals SET n = n - 1 WHERE tenant_id = OLD.tenant_id AND kind = 'workflows' AND is_active = OLD.is_active;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER workflows_changed AFTER UPDATE OF is_active ON workflows WHEN OLD.is_active <> NEW.is_active BEGIN
    UPDATE totals SET n = n - 1 WHERE tenant_id = OLD.tenant_id AND kind = 'workflows' AND is_active = OLD.is_active;
    INSERT INTO totals (tenant_id, kind, is_active, n) VALUES (NEW.tenant_id, 'workflows', NEW.is_active, 1)
    ON CONFLICT (tenant_id, kind, is_active) DO UPDATE SET n = n + 1;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER triggers_inserted AFTER INSERT ON triggers BEGIN
    INSERT INTO totals (tenant_id, kind, is_active, n) VALUES (NEW.tenant_id, 'triggers', NEW.is_active, 1)
    ON CONFLICT (tenant_id, kind, is_active) DO UPDATE SET n = n + 1;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER triggers_deleted AFTER DELETE ON triggers BEGIN
    UPDATE totals SET n = n - 1 WHERE tenant_id = OLD.tenant_id AND kind = 'triggers' AND is_active = OLD.is_active;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER triggers_changed AFTER UPDATE OF is_active ON triggers WHEN OLD.is_active <> NEW.is_active BEGIN
    UPDATE totals SET n = n - 1 WHERE tenant_id = OLD.tenant_id AND kind = 'triggers' AND is_active = OLD.is_active;
    INSERT INTO totals (tenant_id, kind, is_active, n) VALUES (NEW.tenant_id, 'triggers', NEW.is_active, 1)
    ON CONFLICT (tenant_id, kind, is_active) DO UPDATE SET n = n + 1;
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER triggers_changed;
DROP TRIGGER triggers_deleted;
DROP TRIGGER triggers_inserted;
DROP TRIGGER workflows_changed;
DROP TRIGGER workflows_deleted;
DROP TRIGGER workflows_inserted;
DROP TABLE totals;
