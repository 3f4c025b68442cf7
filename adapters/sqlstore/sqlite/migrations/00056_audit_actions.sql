-- A log is searched for an action by an index, and the oldest entry of each is found by its chain.

-- +goose Up
CREATE INDEX audit_entries_of_action ON audit_entries (tenant_id, action, at, id);
DROP INDEX audit_entries_by_age;

-- +goose Down
CREATE INDEX audit_entries_by_age ON audit_entries (at);
DROP INDEX audit_entries_of_action;
