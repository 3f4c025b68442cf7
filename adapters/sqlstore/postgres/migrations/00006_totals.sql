-- How many workflows and triggers each tenant has, kept in the transaction that adds
-- or removes one, so that a list knows its exact total without counting. A total is
-- spread over shards, one for each of the connections that write at the same time,
-- so that they do not wait for one another; their sum is the total.

-- +goose Up
CREATE TABLE totals (
    tenant_id text    NOT NULL CONSTRAINT totals_tenant REFERENCES tenants ON DELETE CASCADE,
    kind      text    NOT NULL,
    is_active boolean NOT NULL,
    shard     integer NOT NULL,
    n         bigint  NOT NULL,
    PRIMARY KEY (tenant_id, kind, is_active, shard)
) WITH (fillfactor = 50);

-- +goose StatementBegin
CREATE FUNCTION add_to_total(owner text, of_kind text, active boolean, amount integer) RETURNS void LANGUAGE sql AS $$
    -- The tenant is gone when its deletion has taken the record along.
    INSERT INTO totals (tenant_id, kind, is_active, shard, n)
    SELECT owner, of_kind, active, pg_backend_pid() % 32, amount
    WHERE amount > 0 OR EXISTS (SELECT FROM tenants WHERE id = owner)
    ON CONFLICT (tenant_id, kind, is_active, shard) DO UPDATE SET n = totals.n + excluded.n
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION keep_total() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        PERFORM add_to_total(OLD.tenant_id, TG_TABLE_NAME, OLD.is_active, -1);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        PERFORM add_to_total(NEW.tenant_id, TG_TABLE_NAME, NEW.is_active, 1);
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER workflows_total AFTER INSERT OR DELETE ON workflows FOR EACH ROW EXECUTE FUNCTION keep_total();
CREATE TRIGGER workflows_total_changed AFTER UPDATE OF is_active ON workflows FOR EACH ROW
    WHEN (OLD.is_active <> NEW.is_active) EXECUTE FUNCTION keep_total();
CREATE TRIGGER triggers_total AFTER INSERT OR DELETE ON triggers FOR EACH ROW EXECUTE FUNCTION keep_total();
CREATE TRIGGER triggers_total_changed AFTER UPDATE OF is_active ON triggers FOR EACH ROW
    WHEN (OLD.is_active <> NEW.is_active) EXECUTE FUNCTION keep_total();

-- +goose Down
DROP TRIGGER triggers_total_changed ON triggers;
DROP TRIGGER triggers_total ON triggers;
DROP TRIGGER workflows_total_changed ON workflows;
DROP TRIGGER workflows_total ON workflows;
DROP FUNCTION keep_total();
DROP FUNCTION add_to_total(text, text, boolean, integer);
DROP TABLE totals;
