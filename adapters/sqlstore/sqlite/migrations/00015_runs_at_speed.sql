-- PostgreSQL gives up the reference of run_history to runs here, whose check costs it
-- much. SQLite's costs nothing to speak of and stays.

-- +goose Up
-- A node may wait while others of its run still work.
DROP INDEX runs_paused;
CREATE INDEX runs_underway ON runs (tenant_id, entity_id, created_at, id) WHERE status IN ('paused', 'running');

-- +goose Down
DROP INDEX runs_underway;
CREATE INDEX runs_paused ON runs (tenant_id, entity_id, created_at, id) WHERE status = 'paused';
