-- What changes with the active version of a workflow.
--
-- triggers.left_at is since when a trigger starts nothing because its version is not the active
-- one any more; null for one that was not left behind. Its schedule stays held, and the ledger
-- says of each instant that it started nothing.
-- workflows.previous_version_id is the version that was active before; null while none was
-- replaced since this migration.
--
-- Gateways of 0.1.0 serve meanwhile and go on after it: they publish without moving triggers,
-- and what they do changes these columns as it has to. No lock on a table is waited for by
-- others for long, and each statement can be carried out again.

-- +goose NO TRANSACTION
-- +goose Up
-- change_under_load carries a change out that locks tables, though others use them: it gives up
-- after two seconds, so that nobody waits behind it for longer, and tries again.
-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE change_under_load(change text) LANGUAGE plpgsql AS $procedure$
DECLARE
    pause double precision := 0.5;
BEGIN
    LOOP
        BEGIN
            SET LOCAL lock_timeout = '2s';
            EXECUTE change;
            EXIT;
        EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
            NULL; -- what the attempt held is free again
        END;
        COMMIT;
        PERFORM pg_sleep(pause);
        pause := least(2 * pause, 30);
    END LOOP;
END
$procedure$;
-- +goose StatementEnd

CALL change_under_load($$ALTER TABLE triggers ADD COLUMN IF NOT EXISTS left_at timestamptz$$);
CALL change_under_load($$ALTER TABLE workflows ADD COLUMN IF NOT EXISTS previous_version_id text$$);

-- What an interruption leaves of it is no index, but has its name.
DROP INDEX CONCURRENTLY IF EXISTS triggers_left;
CREATE INDEX CONCURRENTLY triggers_left ON triggers (left_at) WHERE left_at IS NOT NULL;

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION schedule_trigger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        DELETE FROM trigger_schedules WHERE tenant_id = NEW.tenant_id AND trigger_id = NEW.id;
    END IF;
    INSERT INTO trigger_schedules (tenant_id, trigger_id, dealt_with, next_at, needs_level)
    SELECT s.tenant_id, s.trigger_id, NEW.activated_at, NEW.activated_at, s.needs_level FROM firing_schedules s
    WHERE s.tenant_id = NEW.tenant_id AND s.trigger_id = NEW.id;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- A schedule that is held, and goes on being held, is dealt with as far as it was: also that of
-- a trigger which was left behind, when its version is the active one again.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION schedule_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.is_active THEN
        UPDATE triggers SET left_at = NULL WHERE tenant_id = NEW.tenant_id AND workflow_version_id = NEW.id AND left_at IS NOT NULL;
        INSERT INTO trigger_schedules (tenant_id, trigger_id, dealt_with, next_at, needs_level)
        SELECT s.tenant_id, s.trigger_id, NEW.published_at, NEW.published_at, s.needs_level FROM firing_schedules s
        WHERE s.tenant_id = NEW.tenant_id AND s.workflow_version_id = NEW.id
        ON CONFLICT (tenant_id, trigger_id) DO UPDATE SET needs_level = excluded.needs_level;
    ELSE
        DELETE FROM trigger_schedules d USING triggers t WHERE t.tenant_id = NEW.tenant_id AND t.workflow_version_id = NEW.id
            AND t.left_at IS NULL AND d.tenant_id = t.tenant_id AND d.trigger_id = t.id;
        UPDATE workflows SET previous_version_id = NEW.id WHERE tenant_id = NEW.tenant_id AND id = NEW.workflow_id;
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION schedule_attached() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO trigger_schedules (tenant_id, trigger_id, dealt_with, next_at, needs_level)
    SELECT s.tenant_id, s.trigger_id, NEW.updated_at, NEW.updated_at, s.needs_level FROM firing_schedules s
    WHERE s.tenant_id = NEW.tenant_id AND s.trigger_id = NEW.id
    ON CONFLICT (tenant_id, trigger_id) DO UPDATE SET needs_level = excluded.needs_level;
    IF NOT FOUND THEN
        DELETE FROM trigger_schedules WHERE tenant_id = NEW.tenant_id AND trigger_id = NEW.id;
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CALL change_under_load($change$
    -- The triggers whose schedules are held: those that can fire, and those that could if
    -- their version were the active one, as it was.
    CREATE OR REPLACE VIEW firing_schedules AS
    SELECT t.tenant_id, t.id AS trigger_id, v.id AS workflow_version_id, v.workflow_id, v.needs_level
    FROM workflow_versions v
    JOIN workflows w ON w.tenant_id = v.tenant_id AND w.id = v.workflow_id
    JOIN tenants o ON o.id = v.tenant_id
    JOIN triggers t ON t.tenant_id = v.tenant_id AND t.workflow_version_id = v.id
    WHERE (v.is_active OR t.left_at IS NOT NULL) AND w.is_active AND o.status = 'active' AND t.type = 'schedule' AND t.is_active;
    DROP TRIGGER IF EXISTS triggers_attached_locks ON triggers;
    CREATE TRIGGER triggers_attached_locks BEFORE UPDATE OF workflow_version_id, left_at ON triggers FOR EACH ROW
        WHEN (NEW.type = 'schedule' AND (OLD.workflow_version_id <> NEW.workflow_version_id OR OLD.left_at IS DISTINCT FROM NEW.left_at))
        EXECUTE FUNCTION lock_for_schedule();
    DROP TRIGGER IF EXISTS triggers_schedule_attached ON triggers;
    CREATE TRIGGER triggers_schedule_attached AFTER UPDATE OF workflow_version_id, left_at ON triggers FOR EACH ROW
        WHEN (NEW.type = 'schedule' AND NEW.is_active AND (OLD.workflow_version_id <> NEW.workflow_version_id OR OLD.left_at IS DISTINCT FROM NEW.left_at))
        EXECUTE FUNCTION schedule_attached();
$change$);
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER triggers_schedule_attached ON triggers;
DROP TRIGGER triggers_attached_locks ON triggers;
DROP FUNCTION schedule_attached;
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION schedule_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM trigger_schedules d USING triggers t WHERE t.tenant_id = NEW.tenant_id AND t.workflow_version_id = NEW.id
        AND d.tenant_id = t.tenant_id AND d.trigger_id = t.id;
    INSERT INTO trigger_schedules (tenant_id, trigger_id, dealt_with, next_at, needs_level)
    SELECT s.tenant_id, s.trigger_id, NEW.published_at, NEW.published_at, s.needs_level FROM firing_schedules s
    WHERE s.tenant_id = NEW.tenant_id AND s.workflow_version_id = NEW.id;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION schedule_trigger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        DELETE FROM trigger_schedules WHERE tenant_id = NEW.tenant_id AND trigger_id = NEW.id;
    END IF;
    INSERT INTO trigger_schedules (tenant_id, trigger_id, dealt_with, next_at, needs_level)
    SELECT NEW.tenant_id, NEW.id, NEW.activated_at, NEW.activated_at, v.needs_level FROM firing_versions v
    WHERE v.tenant_id = NEW.tenant_id AND v.id = NEW.workflow_version_id AND NEW.is_active;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE OR REPLACE VIEW firing_schedules AS
SELECT t.tenant_id, t.id AS trigger_id, v.id AS workflow_version_id, v.workflow_id, v.needs_level
FROM firing_versions v
JOIN triggers t ON t.tenant_id = v.tenant_id AND t.workflow_version_id = v.id
WHERE t.type = 'schedule' AND t.is_active;
DELETE FROM trigger_schedules d USING triggers t WHERE t.tenant_id = d.tenant_id AND t.id = d.trigger_id AND t.left_at IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS triggers_left;
ALTER TABLE workflows DROP COLUMN previous_version_id;
ALTER TABLE triggers DROP COLUMN left_at;
DROP PROCEDURE change_under_load;
