-- One index of live runs by what started them instead of two: each is written when a run is started, leased and
-- recorded.

-- +goose Up
CREATE INDEX live_runs_origin ON live_runs (workflow_id, tenant_id, trigger_id);
DROP INDEX live_runs_workflow;
DROP INDEX live_runs_trigger;

-- +goose Down
CREATE INDEX live_runs_workflow ON live_runs (workflow_id, tenant_id);
CREATE INDEX live_runs_trigger ON live_runs (trigger_id, tenant_id);
DROP INDEX live_runs_origin;
