-- Indexes of runs that nothing reads any more. Every step of a run writes an entry into
-- each index of the table, so these were a third of what a run cost the database.
--
-- What lists ask for is in run_facets, what waits in runs_awaiting, and what is to be
-- claimed in runs_ready and runs_timed. Indexes that are replaced go a release after the
-- one that replaces them; these may go at once, as no gateway that reads them was ever
-- released, and one would find the same, only more slowly. As nothing here may lock runs,
-- it is no transaction, and each statement can be carried out again.

-- +goose NO TRANSACTION
-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS runs_free;
DROP INDEX CONCURRENTLY IF EXISTS runs_underway;
DROP INDEX CONCURRENTLY IF EXISTS runs_by_creation;
DROP INDEX CONCURRENTLY IF EXISTS runs_of_workflow;
DROP INDEX CONCURRENTLY IF EXISTS runs_of_entity;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS runs_of_entity;
CREATE INDEX CONCURRENTLY runs_of_entity ON runs (tenant_id, entity_id, created_at, id);
DROP INDEX CONCURRENTLY IF EXISTS runs_of_workflow;
CREATE INDEX CONCURRENTLY runs_of_workflow ON runs (tenant_id, workflow_id, created_at, id);
DROP INDEX CONCURRENTLY IF EXISTS runs_by_creation;
CREATE INDEX CONCURRENTLY runs_by_creation ON runs (tenant_id, created_at, id);
DROP INDEX CONCURRENTLY IF EXISTS runs_underway;
CREATE INDEX CONCURRENTLY runs_underway ON runs (tenant_id, entity_id, created_at, id) WHERE status IN ('paused', 'running');
DROP INDEX CONCURRENTLY IF EXISTS runs_free;
CREATE INDEX CONCURRENTLY runs_free ON runs (tenant_id, free_at, id) WHERE free_at IS NOT NULL;
