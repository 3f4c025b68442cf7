-- Processes keep keys, settings and node types in memory, and are told here when one
-- of them changes. What only notes the last use of a key tells nobody.

-- +goose Up
-- +goose StatementBegin
CREATE FUNCTION tell_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    changed record;
BEGIN
    IF TG_OP = 'DELETE' THEN changed := OLD; ELSE changed := NEW; END IF;
    IF TG_TABLE_NAME = 'tenants' THEN
        PERFORM pg_notify('sluice_changes', changed.id);
    ELSE
        PERFORM pg_notify('sluice_changes', changed.tenant_id);
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER tenants_change AFTER DELETE OR UPDATE ON tenants FOR EACH ROW EXECUTE FUNCTION tell_change();
CREATE TRIGGER api_keys_change AFTER INSERT OR DELETE OR UPDATE OF name, hash, expires_at, revoked_at ON api_keys
    FOR EACH ROW EXECUTE FUNCTION tell_change();
CREATE TRIGGER custom_nodes_change AFTER INSERT OR DELETE OR UPDATE ON custom_nodes FOR EACH ROW EXECUTE FUNCTION tell_change();

-- The totals are kept once for each statement instead of once for each row, so that a
-- statement that inserts many rows pays for one. With them the changes are counted: a
-- list whose count of changes is what it was is what it was.
ALTER TABLE totals ADD COLUMN changes bigint NOT NULL DEFAULT 0;
DROP TRIGGER triggers_total ON triggers;
DROP TRIGGER workflows_total ON workflows;

-- +goose StatementBegin
CREATE FUNCTION keep_totals() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- In the order of the tenants, so that two statements never wait for each other.
    IF TG_OP = 'UPDATE' THEN
        INSERT INTO totals (tenant_id, kind, is_active, shard, n, changes)
        SELECT tenant_id, TG_TABLE_NAME, is_active, pg_backend_pid() % 32, 0, 1
        FROM changed GROUP BY tenant_id, is_active ORDER BY tenant_id, is_active
        ON CONFLICT (tenant_id, kind, is_active, shard) DO UPDATE SET changes = totals.changes + 1;
    ELSIF TG_OP = 'INSERT' THEN
        INSERT INTO totals (tenant_id, kind, is_active, shard, n, changes)
        SELECT tenant_id, TG_TABLE_NAME, is_active, pg_backend_pid() % 32, count(*), 1
        FROM changed GROUP BY tenant_id, is_active ORDER BY tenant_id, is_active
        ON CONFLICT (tenant_id, kind, is_active, shard) DO UPDATE SET n = totals.n + excluded.n, changes = totals.changes + 1;
    ELSE
        -- The tenant is gone when its deletion has taken the records along.
        INSERT INTO totals (tenant_id, kind, is_active, shard, n, changes)
        SELECT c.tenant_id, TG_TABLE_NAME, c.is_active, pg_backend_pid() % 32, -count(*), 1
        FROM changed c JOIN tenants t ON t.id = c.tenant_id GROUP BY c.tenant_id, c.is_active ORDER BY c.tenant_id, c.is_active
        ON CONFLICT (tenant_id, kind, is_active, shard) DO UPDATE SET n = totals.n + excluded.n, changes = totals.changes + 1;
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER triggers_inserted AFTER INSERT ON triggers REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION keep_totals();
CREATE TRIGGER triggers_deleted AFTER DELETE ON triggers REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION keep_totals();
CREATE TRIGGER workflows_inserted AFTER INSERT ON workflows REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION keep_totals();
CREATE TRIGGER workflows_deleted AFTER DELETE ON workflows REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION keep_totals();
CREATE TRIGGER triggers_updated AFTER UPDATE ON triggers REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION keep_totals();
CREATE TRIGGER workflows_updated AFTER UPDATE ON workflows REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION keep_totals();

-- +goose Down
DROP TRIGGER workflows_updated ON workflows;
DROP TRIGGER triggers_updated ON triggers;
DROP TRIGGER workflows_deleted ON workflows;
DROP TRIGGER workflows_inserted ON workflows;
DROP TRIGGER triggers_deleted ON triggers;
DROP TRIGGER triggers_inserted ON triggers;
DROP FUNCTION keep_totals();
ALTER TABLE totals DROP COLUMN changes;
CREATE TRIGGER workflows_total AFTER INSERT OR DELETE ON workflows FOR EACH ROW EXECUTE FUNCTION keep_total();
CREATE TRIGGER triggers_total AFTER INSERT OR DELETE ON triggers FOR EACH ROW EXECUTE FUNCTION keep_total();
DROP TRIGGER custom_nodes_change ON custom_nodes;
DROP TRIGGER api_keys_change ON api_keys;
DROP TRIGGER tenants_change ON tenants;
DROP FUNCTION tell_change();
