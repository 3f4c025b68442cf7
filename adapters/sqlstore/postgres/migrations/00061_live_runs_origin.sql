-- One index of live runs by what started them instead of two: each is written when a run is started, leased and
-- recorded. It does not begin with the tenant, for the reason that is given with the two.
--
-- Gateways of 0.1.0 serve meanwhile and go on after it: they look for runs of a trigger without its
-- workflow, and then look through the live runs. Each statement can be carried out again.

-- +goose NO TRANSACTION
-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS live_runs_origin; -- one that could not be completed
CREATE INDEX CONCURRENTLY live_runs_origin ON live_runs (workflow_id, tenant_id, trigger_id);
DROP INDEX CONCURRENTLY IF EXISTS live_runs_workflow;
DROP INDEX CONCURRENTLY IF EXISTS live_runs_trigger;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS live_runs_workflow;
CREATE INDEX CONCURRENTLY live_runs_workflow ON live_runs (workflow_id, tenant_id);
DROP INDEX CONCURRENTLY IF EXISTS live_runs_trigger;
CREATE INDEX CONCURRENTLY live_runs_trigger ON live_runs (trigger_id, tenant_id);
DROP INDEX CONCURRENTLY IF EXISTS live_runs_origin;
