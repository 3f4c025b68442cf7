-- Other indexes of live runs by what started them.
--
-- Of an index that begins with the tenant, as live_runs_origin does, the planner takes every run of
-- the tenant for what it looks for, where the table was nearly empty when it was last vacuumed: it
-- then looks through all of them at each step of each run. Of those without a condition only the
-- primary key begins with the tenant now.
--
-- Gateways of 0.1.0 serve meanwhile and go on after it: they look for runs of a trigger without saying
-- that they want some trigger, so that an index with that condition would be none for them. Each statement can be carried out again.

-- +goose NO TRANSACTION
-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS live_runs_workflow; -- one that could not be completed
CREATE INDEX CONCURRENTLY live_runs_workflow ON live_runs (workflow_id, tenant_id);
DROP INDEX CONCURRENTLY IF EXISTS live_runs_trigger;
CREATE INDEX CONCURRENTLY live_runs_trigger ON live_runs (trigger_id, tenant_id);
DROP INDEX CONCURRENTLY IF EXISTS live_runs_origin;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS live_runs_origin;
CREATE INDEX CONCURRENTLY live_runs_origin ON live_runs (tenant_id, trigger_id, workflow_id);
DROP INDEX CONCURRENTLY IF EXISTS live_runs_trigger;
DROP INDEX CONCURRENTLY IF EXISTS live_runs_workflow;
