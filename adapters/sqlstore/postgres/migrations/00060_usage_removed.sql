-- What is removed, for recounting what tenants have used.
--
-- Whatever deletes runs, deliveries or deliveries to hooks, their part of what was counted is appended to usage_deltas as removed, so that what was counted is what
-- the records say and what was removed. A tenant that is being deleted takes all of it along.

-- +goose NO TRANSACTION
-- +goose Up
-- What can be read of a history: what cannot must not keep a run from being removed.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION readable_entries(entries text) RETURNS TABLE (type text, at bigint) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT e ->> 'type', CAST(e ->> 'at' AS bigint) FROM json_array_elements(CAST(replace(entries, '\u0000', '\ufffd') AS json)) AS e;
EXCEPTION WHEN data_exception THEN
    RETURN;
END
$$;
-- +goose StatementEnd
-- Triggers of a table come by their names: this one before what removes the histories.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION count_removed_runs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO usage_deltas (tenant_id, day, removed, runs_started, runs_children)
        SELECT d.tenant_id, to_char(d.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD'), true, count(*), count(*) FILTER (WHERE d.parent_run_id <> '')
        FROM deleted d JOIN tenants t ON t.id = d.tenant_id GROUP BY 1, 2;
    INSERT INTO usage_deltas (tenant_id, day, removed, node_attempts, runs_completed, runs_failed, runs_cancelled)
        SELECT d.tenant_id, to_char(to_timestamp(e.at / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD'), true, count(*) FILTER (WHERE e.type = 'node.started'),
            count(*) FILTER (WHERE e.type = 'run.completed'), count(*) FILTER (WHERE e.type = 'run.failed'), count(*) FILTER (WHERE e.type = 'run.cancelled')
        FROM deleted d JOIN tenants t ON t.id = d.tenant_id JOIN run_history h ON h.tenant_id = d.tenant_id AND h.run_id = d.id, readable_entries(h.entries) AS e
        WHERE e.type IN ('node.started', 'run.completed', 'run.failed', 'run.cancelled') AND e.at IS NOT NULL GROUP BY 1, 2;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CALL change_under_load($$CREATE OR REPLACE TRIGGER runs_count_removed AFTER DELETE ON runs REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION count_removed_runs()$$);

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION count_removed_deliveries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO usage_deltas (tenant_id, day, removed, delivered, deliveries_failed)
        SELECT d.tenant_id, to_char(d.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD'), true, count(*) FILTER (WHERE d.status = 'delivered'), count(*) FILTER (WHERE d.status = 'failed')
        FROM deleted d JOIN tenants t ON t.id = d.tenant_id WHERE d.status <> 'pending' GROUP BY 1, 2;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CALL change_under_load($$CREATE OR REPLACE TRIGGER webhook_deliveries_count_removed AFTER DELETE ON webhook_deliveries REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION count_removed_deliveries()$$);

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION count_removed_hook_deliveries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO usage_deltas (tenant_id, day, removed, hooks_accepted, hooks_refused)
        SELECT d.tenant_id, to_char(d.received_at AT TIME ZONE 'UTC', 'YYYY-MM-DD'), true, count(*) FILTER (WHERE NOT d.refused), count(*) FILTER (WHERE d.refused)
        FROM deleted d JOIN tenants t ON t.id = d.tenant_id WHERE d.replay_of = '' GROUP BY 1, 2;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CALL change_under_load($$CREATE OR REPLACE TRIGGER hook_deliveries_count_removed AFTER DELETE ON hook_deliveries REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION count_removed_hook_deliveries()$$);

-- +goose Down
DROP TRIGGER hook_deliveries_count_removed ON hook_deliveries;
DROP TRIGGER webhook_deliveries_count_removed ON webhook_deliveries;
DROP TRIGGER runs_count_removed ON runs;
DROP FUNCTION count_removed_hook_deliveries();
DROP FUNCTION count_removed_deliveries();
DROP FUNCTION count_removed_runs();
DROP FUNCTION readable_entries(text);
