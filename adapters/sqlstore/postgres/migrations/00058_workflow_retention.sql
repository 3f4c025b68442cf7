-- workflows.run_retention_days is for how many days finished runs of the workflow are kept; null for as long as those of its
-- tenant.
--
-- Gateways of 0.1.0 go on after it, and keep them as long as those of the tenant.

-- +goose Up
ALTER TABLE workflows ADD COLUMN run_retention_days integer;
CREATE INDEX workflows_kept_shorter ON workflows (tenant_id, id) WHERE run_retention_days IS NOT NULL;

-- +goose Down
DROP INDEX workflows_kept_shorter;
ALTER TABLE workflows DROP COLUMN run_retention_days;
