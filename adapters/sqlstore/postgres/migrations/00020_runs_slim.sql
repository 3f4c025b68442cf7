-- Indexes of runs that nothing reads any more. Every step of a run writes an entry into
-- each index of the table, so these were a third of what a run cost the database.
--
-- What lists ask for is in run_facets, what waits in runs_awaiting, and what is to be
-- claimed in runs_ready and runs_timed. A gateway of a version before those works without
-- the indexes as well, only more slowly while the two serve side by side. As nothing here
-- may lock runs, it is no transaction, and each statement can be carried out again.

-- +goose NO TRANSACTION
-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS runs_free;
DROP INDEX CONCURRENTLY IF EXISTS runs_underway;
DROP INDEX CONCURRENTLY IF EXISTS runs_by_creation;
DROP INDEX CONCURRENTLY IF EXISTS runs_of_workflow;
DROP INDEX CONCURRENTLY IF EXISTS runs_of_entity;

-- +goose Down
CREATE INDEX CONCURRENTLY IF NOT EXISTS runs_of_entity ON runs (tenant_id, entity_id, created_at, id);
CREATE INDEX CONCURRENTLY IF NOT EXISTS runs_of_workflow ON runs (tenant_id, workflow_id, created_at, id);
CREATE INDEX CONCURRENTLY IF NOT EXISTS runs_by_creation ON runs (tenant_id, created_at, id);
CREATE INDEX CONCURRENTLY IF NOT EXISTS runs_underway ON runs (tenant_id, entity_id, created_at, id) WHERE status IN ('paused', 'running');
CREATE INDEX CONCURRENTLY IF NOT EXISTS runs_free ON runs (tenant_id, free_at, id) WHERE free_at IS NOT NULL;
