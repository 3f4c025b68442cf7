-- How runs are found: by what they wait for, and by what lists ask for.

-- +goose Up

-- What a run waits for and an event can bring, written by the statement that records the
-- pause, so that nobody has to read what the run has computed to know. awaits is a JSON
-- array of {event, until}; awaited is what the index looks for: = and the event, = alone
-- for any event, - for a time only, * for several that differ. Both say something as of
-- the step awaits_seq only: gateways of the version before do not write them, so that a
-- run whose last step they made waits for ?, and is read as a whole.
ALTER TABLE runs ADD COLUMN awaits text;
ALTER TABLE runs ADD COLUMN awaited text;
ALTER TABLE runs ADD COLUMN awaits_seq integer;
CREATE INDEX runs_awaiting ON runs (tenant_id, entity_id, created_at, id)
    WHERE status IN ('paused', 'running') AND (CASE WHEN awaits_seq = seq THEN awaited ELSE '?' END) IS NOT NULL;
CREATE INDEX runs_awaiting_event ON runs (tenant_id, entity_id, (CASE WHEN awaits_seq = seq THEN awaited ELSE '?' END), created_at, id)
    WHERE status IN ('paused', 'running') AND (CASE WHEN awaits_seq = seq THEN awaited ELSE '?' END) IS NOT NULL;
DROP INDEX runs_underway;

-- What lists filter by. A step of a run touches the indexes only that it changes something
-- in, so these are written once, other than those of PostgreSQL, which keeps what never
-- changes in a table of its own.
CREATE INDEX runs_of_sub_tenant ON runs (tenant_id, sub_tenant_id, created_at, id);
CREATE INDEX runs_of_version ON runs (tenant_id, workflow_version_id, created_at, id);
CREATE INDEX runs_of_trigger ON runs (tenant_id, trigger_id, created_at, id) WHERE trigger_id <> '';
CREATE INDEX runs_of_status ON runs (tenant_id, status, created_at, id);

-- +goose Down
DROP INDEX runs_of_status;
DROP INDEX runs_of_trigger;
DROP INDEX runs_of_version;
DROP INDEX runs_of_sub_tenant;
CREATE INDEX runs_underway ON runs (tenant_id, entity_id, created_at, id) WHERE status IN ('paused', 'running');
DROP INDEX runs_awaiting_event;
DROP INDEX runs_awaiting;
ALTER TABLE runs DROP COLUMN awaits_seq;
ALTER TABLE runs DROP COLUMN awaited;
ALTER TABLE runs DROP COLUMN awaits;
