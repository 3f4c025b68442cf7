-- How runs are found: by what they wait for, and by what lists ask for.

-- +goose Up

-- What a run waits for and an event can bring, written by the statement that records the
-- pause, so that nobody has to read what the run has computed to know. awaits is a JSON
-- array of {event, until}; awaited is what the index looks for: = and the event, = alone
-- for any event, - for a time only, * for several that differ. Both say something as of
-- the step awaits_seq only: gateways of the version before do not write them, so that a
-- run whose last step they made waits for ?, and is read as a whole.
ALTER TABLE runs ADD COLUMN awaits text;
ALTER TABLE runs ADD COLUMN awaited text COLLATE "C";
ALTER TABLE runs ADD COLUMN awaits_seq bigint;
CREATE INDEX runs_awaiting ON runs (tenant_id, entity_id, created_at, id)
    WHERE status IN ('paused', 'running') AND (CASE WHEN awaits_seq = seq THEN awaited ELSE '?' END) IS NOT NULL;
CREATE INDEX runs_awaiting_event ON runs (tenant_id, entity_id, (CASE WHEN awaits_seq = seq THEN awaited ELSE '?' END), created_at, id)
    WHERE status IN ('paused', 'running') AND (CASE WHEN awaits_seq = seq THEN awaited ELSE '?' END) IS NOT NULL;
-- runs_underway goes with the next version: gateways of the version before find by it what
-- waits.

-- What lists filter by and never changes has a table of its own. Every step of a run
-- writes each index of runs anew, whatever it changes, and three to five times over in
-- the life of a run that was more work than all else; here it is written once.
CREATE TABLE run_facets (
    tenant_id           text        NOT NULL,
    created_at          timestamptz NOT NULL,
    id                  text        NOT NULL,
    sub_tenant_id       text COLLATE "C" NOT NULL,
    workflow_id         text        NOT NULL,
    workflow_version_id text        NOT NULL,
    trigger_id          text        NOT NULL,
    entity_id           text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, created_at, id)
);
INSERT INTO run_facets SELECT tenant_id, created_at, id, sub_tenant_id, workflow_id, workflow_version_id, trigger_id, entity_id FROM runs;
CREATE INDEX run_facets_sub_tenant ON run_facets (tenant_id, sub_tenant_id, created_at, id) WHERE sub_tenant_id <> '';
CREATE INDEX run_facets_workflow ON run_facets (tenant_id, workflow_id, created_at, id);
CREATE INDEX run_facets_version ON run_facets (tenant_id, workflow_version_id, created_at, id);
CREATE INDEX run_facets_trigger ON run_facets (tenant_id, trigger_id, created_at, id) WHERE trigger_id <> '';
CREATE INDEX run_facets_entity ON run_facets (tenant_id, entity_id, created_at, id);

-- The statement that starts a run writes it. For gateways of the version before, which do
-- not name awaits_seq, a trigger does.
-- +goose StatementBegin
CREATE FUNCTION add_run_facets() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO run_facets (tenant_id, created_at, id, sub_tenant_id, workflow_id, workflow_version_id, trigger_id, entity_id)
    VALUES (NEW.tenant_id, NEW.created_at, NEW.id, NEW.sub_tenant_id, NEW.workflow_id, NEW.workflow_version_id, NEW.trigger_id, NEW.entity_id);
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER runs_added AFTER INSERT ON runs FOR EACH ROW WHEN (NEW.awaits_seq IS NULL) EXECUTE FUNCTION add_run_facets();

-- +goose StatementBegin
CREATE FUNCTION remove_run_facets() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM run_facets f USING gone g WHERE f.tenant_id = g.tenant_id AND f.created_at = g.created_at AND f.id = g.id;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER runs_removed AFTER DELETE ON runs REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION remove_run_facets();

DROP INDEX runs_by_creation;
DROP INDEX runs_of_workflow;
DROP INDEX runs_of_entity;
-- Those that are pending are among the unfinished ones, of which there is an index.
CREATE INDEX runs_of_status ON runs (tenant_id, status, created_at, id) WHERE status <> 'pending';

-- +goose Down
DROP INDEX runs_of_status;
CREATE INDEX runs_by_creation ON runs (tenant_id, created_at, id);
CREATE INDEX runs_of_workflow ON runs (tenant_id, workflow_id, created_at, id);
CREATE INDEX runs_of_entity ON runs (tenant_id, entity_id, created_at, id);
DROP TRIGGER runs_removed ON runs;
DROP TRIGGER runs_added ON runs;
DROP FUNCTION remove_run_facets();
DROP FUNCTION add_run_facets();
DROP TABLE run_facets;
DROP INDEX runs_awaiting_event;
DROP INDEX runs_awaiting;
ALTER TABLE runs DROP COLUMN awaits_seq;
ALTER TABLE runs DROP COLUMN awaited;
ALTER TABLE runs DROP COLUMN awaits;
