-- Trying and repeating.
--
-- runs.snapshot_id names the row of run_payloads that holds the graph of a draft as it was when the
-- run was started; null for runs of published versions. runs.rerun_of is the run that a run
-- repeats; null for none.
-- workflow_versions.pins are the version's sample data, a JSON object by node id; null for none.
--
-- Gateways of 0.1.0 serve meanwhile and go on after it: they start runs without these columns, and
-- leave those that have a snapshot alone. No lock on a table is waited for by others for long, and
-- each statement can be carried out again.

-- +goose NO TRANSACTION
-- +goose Up
CALL change_under_load($$ALTER TABLE runs ADD COLUMN IF NOT EXISTS snapshot_id text, ADD COLUMN IF NOT EXISTS rerun_of text$$);
CALL change_under_load($$ALTER TABLE workflow_versions ADD COLUMN IF NOT EXISTS pins text$$);

-- What an interruption leaves of it is no index, but has its name.
DROP INDEX CONCURRENTLY IF EXISTS runs_of_snapshot;
CREATE INDEX CONCURRENTLY runs_of_snapshot ON runs (tenant_id, snapshot_id) WHERE snapshot_id IS NOT NULL;

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION clean_up_after_runs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM live_runs l USING deleted d WHERE d.finished_at IS NULL AND l.tenant_id = d.tenant_id AND l.id = d.id;
    DELETE FROM run_history h USING deleted d WHERE h.tenant_id = d.tenant_id AND h.run_id = d.id;
    DELETE FROM run_outputs o USING deleted d WHERE d.outputs > 0 AND o.tenant_id = d.tenant_id AND o.run_id = d.id;
    DELETE FROM run_facets f USING deleted d WHERE f.tenant_id = d.tenant_id AND f.created_at = d.created_at AND f.id = d.id;
    PERFORM FROM run_payloads p
        WHERE (p.tenant_id, p.id) IN (SELECT d.tenant_id, d.payload_id FROM deleted d WHERE d.payload_id IS NOT NULL UNION SELECT d.tenant_id, d.snapshot_id FROM deleted d WHERE d.snapshot_id IS NOT NULL)
        ORDER BY p.tenant_id, p.id FOR UPDATE;
    IF FOUND THEN
        DELETE FROM run_payloads p
            WHERE (p.tenant_id, p.id) IN (SELECT d.tenant_id, d.payload_id FROM deleted d WHERE d.payload_id IS NOT NULL UNION SELECT d.tenant_id, d.snapshot_id FROM deleted d WHERE d.snapshot_id IS NOT NULL)
            AND NOT EXISTS (SELECT FROM runs u WHERE u.tenant_id = p.tenant_id AND u.payload_id = p.id)
            AND NOT EXISTS (SELECT FROM runs u WHERE u.tenant_id = p.tenant_id AND u.snapshot_id = p.id);
    END IF;
    INSERT INTO tenant_storage (tenant_id, shard, bytes)
        SELECT d.tenant_id, pg_backend_pid() % 32, -sum(d.kept) FROM deleted d
        JOIN tenants t ON t.id = d.tenant_id -- a tenant that is being deleted takes its storage along
        GROUP BY d.tenant_id HAVING sum(d.kept) <> 0 ORDER BY d.tenant_id
        ON CONFLICT (tenant_id, shard) DO UPDATE SET bytes = tenant_storage.bytes + excluded.bytes;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION clean_up_after_runs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM live_runs l USING deleted d WHERE d.finished_at IS NULL AND l.tenant_id = d.tenant_id AND l.id = d.id;
    DELETE FROM run_history h USING deleted d WHERE h.tenant_id = d.tenant_id AND h.run_id = d.id;
    DELETE FROM run_outputs o USING deleted d WHERE d.outputs > 0 AND o.tenant_id = d.tenant_id AND o.run_id = d.id;
    DELETE FROM run_facets f USING deleted d WHERE f.tenant_id = d.tenant_id AND f.created_at = d.created_at AND f.id = d.id;
    PERFORM FROM run_payloads p
        WHERE (p.tenant_id, p.id) IN (SELECT d.tenant_id, d.payload_id FROM deleted d WHERE d.payload_id IS NOT NULL)
        ORDER BY p.tenant_id, p.id FOR UPDATE;
    IF FOUND THEN
        DELETE FROM run_payloads p
            WHERE (p.tenant_id, p.id) IN (SELECT d.tenant_id, d.payload_id FROM deleted d WHERE d.payload_id IS NOT NULL)
            AND NOT EXISTS (SELECT FROM runs u WHERE u.tenant_id = p.tenant_id AND u.payload_id = p.id);
    END IF;
    INSERT INTO tenant_storage (tenant_id, shard, bytes)
        SELECT d.tenant_id, pg_backend_pid() % 32, -sum(d.kept) FROM deleted d
        JOIN tenants t ON t.id = d.tenant_id -- a tenant that is being deleted takes its storage along
        GROUP BY d.tenant_id HAVING sum(d.kept) <> 0 ORDER BY d.tenant_id
        ON CONFLICT (tenant_id, shard) DO UPDATE SET bytes = tenant_storage.bytes + excluded.bytes;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
ALTER TABLE workflow_versions DROP COLUMN pins;
DROP INDEX CONCURRENTLY IF EXISTS runs_of_snapshot;
ALTER TABLE runs DROP COLUMN rerun_of;
ALTER TABLE runs DROP COLUMN snapshot_id;
