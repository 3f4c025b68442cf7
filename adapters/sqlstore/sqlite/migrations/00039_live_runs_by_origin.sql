-- Other indexes of live runs by what started them, as on PostgreSQL, where the planner mistakes one
-- that begins with the tenant for the primary key.

-- +goose Up
CREATE INDEX live_runs_workflow ON live_runs (workflow_id, tenant_id);
CREATE INDEX live_runs_trigger ON live_runs (trigger_id, tenant_id);
DROP INDEX live_runs_origin;

-- +goose Down
CREATE INDEX live_runs_origin ON live_runs (tenant_id, trigger_id, workflow_id);
DROP INDEX live_runs_trigger;
DROP INDEX live_runs_workflow;
