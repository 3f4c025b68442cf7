-- Trying and repeating.
--
-- runs.snapshot_id names the row of run_payloads that holds the graph of a draft as it was when the
-- run was started; null for runs of published versions. runs.rerun_of is the run that a run
-- repeats; null for none.
-- workflow_versions.pins are the version's sample data, a JSON object by node id; null for none.
--
-- Gateways of 0.1.0 go on after it: they start runs without these columns, and leave those that
-- have a snapshot alone.

-- +goose Up
ALTER TABLE runs ADD COLUMN snapshot_id text;
ALTER TABLE runs ADD COLUMN rerun_of text;
CREATE INDEX runs_of_snapshot ON runs (tenant_id, snapshot_id) WHERE snapshot_id IS NOT NULL;
ALTER TABLE workflow_versions ADD COLUMN pins text;

DROP TRIGGER runs_deleted;
-- +goose StatementBegin
CREATE TRIGGER runs_deleted AFTER DELETE ON runs BEGIN
    UPDATE tenant_storage SET bytes = bytes - OLD.kept WHERE tenant_id = OLD.tenant_id AND shard = 0;
    DELETE FROM run_payloads WHERE tenant_id = OLD.tenant_id AND id IN (OLD.payload_id, OLD.snapshot_id)
        AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.tenant_id = OLD.tenant_id AND r.payload_id = run_payloads.id)
        AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.tenant_id = OLD.tenant_id AND r.snapshot_id = run_payloads.id);
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER runs_deleted;
-- +goose StatementBegin
CREATE TRIGGER runs_deleted AFTER DELETE ON runs BEGIN
    UPDATE tenant_storage SET bytes = bytes - OLD.kept WHERE tenant_id = OLD.tenant_id AND shard = 0;
    DELETE FROM run_payloads WHERE tenant_id = OLD.tenant_id AND id = OLD.payload_id
        AND NOT EXISTS (SELECT 1 FROM runs WHERE tenant_id = OLD.tenant_id AND payload_id = OLD.payload_id);
END;
-- +goose StatementEnd
ALTER TABLE workflow_versions DROP COLUMN pins;
DROP INDEX runs_of_snapshot;
ALTER TABLE runs DROP COLUMN rerun_of;
ALTER TABLE runs DROP COLUMN snapshot_id;
