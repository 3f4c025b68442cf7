-- A log is searched for an action by an index, and the oldest entry of each is found by its chain.
-- Each statement can be carried out again.

-- +goose NO TRANSACTION
-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS audit_entries_of_action; -- what an interruption leaves of it is no index, but has its name
CREATE INDEX CONCURRENTLY audit_entries_of_action ON audit_entries (tenant_id, action, at, id);
DROP INDEX CONCURRENTLY IF EXISTS audit_entries_by_age;

-- +goose Down
CREATE INDEX CONCURRENTLY audit_entries_by_age ON audit_entries (at);
DROP INDEX CONCURRENTLY audit_entries_of_action;
