-- How runs are found: by what they wait for, and by what lists ask for.
--
-- Gateways of the version before serve meanwhile, so nothing here locks runs for longer
-- than it takes to change the catalog, and whoever waits for that lock, with all others
-- queuing behind it, gives up after two seconds and lets them through before it asks
-- again. As this cannot be one transaction, each statement can be carried out again after
-- an interruption anywhere.

-- +goose NO TRANSACTION
-- +goose Up

-- What a run waits for and an event can bring, written by the statement that records the
-- pause, so that nobody has to read what the run has computed to know. awaits is a JSON
-- array of {event, until}; awaited is what the index looks for: = and the event, = alone
-- for any event, - for a time only, * for several that differ. Both say something as of
-- the step awaits_seq only: gateways of the version before do not write them, so that a
-- run whose last step they made waits for ?, and is read as a whole.
--
-- What lists filter by and never changes has a table of its own. Every step of a run
-- writes each index of runs anew, whatever it changes, and three to five times over in
-- the life of a run that was more work than all else; here it is written once. The
-- statement that starts a run writes it. For gateways of the version before, which do not
-- name awaits_seq, a trigger does.

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION add_run_facets() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO run_facets (tenant_id, created_at, id, sub_tenant_id, workflow_id, workflow_version_id, trigger_id, entity_id)
    VALUES (NEW.tenant_id, NEW.created_at, NEW.id, NEW.sub_tenant_id, NEW.workflow_id, NEW.workflow_version_id, NEW.trigger_id, NEW.entity_id);
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION remove_run_facets() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM run_facets f USING gone g WHERE f.tenant_id = g.tenant_id AND f.created_at = g.created_at AND f.id = g.id;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
DO $do$
DECLARE
    pause double precision := 0.5;
    broken regclass;
BEGIN
    LOOP
        BEGIN
            SET LOCAL lock_timeout = '2s';
            ALTER TABLE runs ADD COLUMN IF NOT EXISTS awaits text, ADD COLUMN IF NOT EXISTS awaited text COLLATE "C", ADD COLUMN IF NOT EXISTS awaits_seq bigint;
            -- What an interrupted CREATE INDEX CONCURRENTLY left is no index, but has its name.
            FOR broken IN SELECT indexrelid::regclass FROM pg_index
                WHERE NOT indisvalid AND indexrelid IN (to_regclass('runs_awaiting'), to_regclass('runs_awaiting_event'), to_regclass('runs_of_status'))
            LOOP
                EXECUTE format('DROP INDEX %s', broken);
            END LOOP;
            CREATE TABLE IF NOT EXISTS run_facets (
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
            CREATE INDEX IF NOT EXISTS run_facets_sub_tenant ON run_facets (tenant_id, sub_tenant_id, created_at, id) WHERE sub_tenant_id <> '';
            CREATE INDEX IF NOT EXISTS run_facets_workflow ON run_facets (tenant_id, workflow_id, created_at, id);
            CREATE INDEX IF NOT EXISTS run_facets_version ON run_facets (tenant_id, workflow_version_id, created_at, id);
            CREATE INDEX IF NOT EXISTS run_facets_trigger ON run_facets (tenant_id, trigger_id, created_at, id) WHERE trigger_id <> '';
            CREATE INDEX IF NOT EXISTS run_facets_entity ON run_facets (tenant_id, entity_id, created_at, id);
            CREATE OR REPLACE TRIGGER runs_added AFTER INSERT ON runs FOR EACH ROW WHEN (NEW.awaits_seq IS NULL) EXECUTE FUNCTION add_run_facets();
            CREATE OR REPLACE TRIGGER runs_removed AFTER DELETE ON runs REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION remove_run_facets();
            EXIT;
        EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
            NULL; -- what the attempt held is free again
        END;
        COMMIT;
        PERFORM pg_sleep(pause);
        pause := least(2 * pause, 30);
    END LOOP;
END
$do$;
-- +goose StatementEnd

-- From here on the triggers keep what is added and removed; what was there before is
-- copied, each batch in a transaction of its own. The share of each key keeps a run from
-- being removed while it is copied, and holds up no step of it. Half a second is less than
-- until the database looks for a deadlock, so that whoever removes runs never is the one
-- that has to give way.
-- +goose StatementBegin
DO $do$
DECLARE
    last_tenant text := '';
    last_id     text := '';
BEGIN
    LOOP
        BEGIN
            SET LOCAL lock_timeout = '500ms';
            WITH batch AS (
                SELECT tenant_id, created_at, id, sub_tenant_id, workflow_id, workflow_version_id, trigger_id, entity_id FROM runs
                WHERE (tenant_id, id) > (last_tenant, last_id) ORDER BY tenant_id, id LIMIT 2000 FOR KEY SHARE
            ), copied AS (
                INSERT INTO run_facets (tenant_id, created_at, id, sub_tenant_id, workflow_id, workflow_version_id, trigger_id, entity_id)
                SELECT tenant_id, created_at, id, sub_tenant_id, workflow_id, workflow_version_id, trigger_id, entity_id FROM batch
                ON CONFLICT DO NOTHING
            )
            SELECT tenant_id, id INTO last_tenant, last_id FROM batch ORDER BY tenant_id DESC, id DESC LIMIT 1;
            EXIT WHEN NOT FOUND;
        EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
            NULL; -- the same batch again
        END;
        COMMIT;
    END LOOP;
END
$do$;
-- +goose StatementEnd

CREATE INDEX CONCURRENTLY IF NOT EXISTS runs_awaiting ON runs (tenant_id, entity_id, created_at, id)
    WHERE status IN ('paused', 'running') AND (CASE WHEN awaits_seq = seq THEN awaited ELSE '?' END) IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS runs_awaiting_event ON runs (tenant_id, entity_id, (CASE WHEN awaits_seq = seq THEN awaited ELSE '?' END), created_at, id)
    WHERE status IN ('paused', 'running') AND (CASE WHEN awaits_seq = seq THEN awaited ELSE '?' END) IS NOT NULL;
-- Those that are pending are among the unfinished ones, of which there is an index.
CREATE INDEX CONCURRENTLY IF NOT EXISTS runs_of_status ON runs (tenant_id, status, created_at, id) WHERE status <> 'pending';

-- runs_underway, runs_by_creation, runs_of_workflow and runs_of_entity go with 00020:
-- gateways of the version before find by the first what waits, and list by the
-- others.

-- +goose Down
-- +goose StatementBegin
DO $do$
DECLARE
    pause double precision := 0.5;
BEGIN
    LOOP
        BEGIN
            SET LOCAL lock_timeout = '2s';
            DROP TRIGGER IF EXISTS runs_removed ON runs;
            DROP TRIGGER IF EXISTS runs_added ON runs;
            DROP FUNCTION IF EXISTS remove_run_facets();
            DROP FUNCTION IF EXISTS add_run_facets();
            DROP TABLE IF EXISTS run_facets;
            DROP INDEX IF EXISTS runs_of_status;
            DROP INDEX IF EXISTS runs_awaiting_event;
            DROP INDEX IF EXISTS runs_awaiting;
            ALTER TABLE runs DROP COLUMN IF EXISTS awaits_seq, DROP COLUMN IF EXISTS awaited, DROP COLUMN IF EXISTS awaits;
            EXIT;
        EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
            NULL; -- what the attempt held is free again
        END;
        COMMIT;
        PERFORM pg_sleep(pause);
        pause := least(2 * pause, 30);
    END LOOP;
END
$do$;
-- +goose StatementEnd
