-- The ledger of fires, and when each schedule has to be looked at next.

-- +goose Up
ALTER TABLE triggers ADD COLUMN activated_at timestamptz;
UPDATE triggers SET activated_at = created_at;
ALTER TABLE triggers ALTER COLUMN activated_at SET NOT NULL;
ALTER TABLE triggers ALTER COLUMN activated_at SET DEFAULT now(); -- for gateways of the version before, which do not name it

-- One row for each instant of each trigger.
CREATE TABLE trigger_fires (
    tenant_id    text        NOT NULL,
    trigger_id   text        NOT NULL,
    scheduled_at timestamptz NOT NULL,
    outcome      text        NOT NULL,
    reason       text        NOT NULL,
    run_id       text        NOT NULL,
    recorded_at  timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, trigger_id, scheduled_at),
    CONSTRAINT trigger_fires_trigger FOREIGN KEY (tenant_id, trigger_id) REFERENCES triggers ON DELETE CASCADE
);
CREATE INDEX trigger_fires_by_record ON trigger_fires (recorded_at);

-- One row for each trigger that can fire by a schedule, and none for the others: what
-- is inactive costs nothing, and begins anew when it becomes active again. Every
-- instant up to dealt_with was dealt with. Where next_at is not known yet, it is a time
-- that is too early; it is null when the schedule is never due again.
CREATE TABLE trigger_schedules (
    tenant_id  text        NOT NULL,
    trigger_id text        NOT NULL,
    dealt_with timestamptz NOT NULL,
    next_at    timestamptz,
    PRIMARY KEY (tenant_id, trigger_id),
    CONSTRAINT trigger_schedules_trigger FOREIGN KEY (tenant_id, trigger_id) REFERENCES triggers ON DELETE CASCADE
);
CREATE INDEX trigger_schedules_due ON trigger_schedules (next_at) WHERE next_at IS NOT NULL;

-- The versions whose triggers can fire.
CREATE VIEW firing_versions AS
SELECT v.tenant_id, v.id, v.workflow_id
FROM workflow_versions v
JOIN workflows w ON w.tenant_id = v.tenant_id AND w.id = v.workflow_id
JOIN tenants o ON o.id = v.tenant_id
WHERE v.is_active AND w.is_active AND o.status = 'active';

-- The triggers that can fire by a schedule.
CREATE VIEW firing_schedules AS
SELECT t.tenant_id, t.id AS trigger_id, v.id AS workflow_version_id, v.workflow_id
FROM firing_versions v
JOIN triggers t ON t.tenant_id = v.tenant_id AND t.workflow_version_id = v.id
WHERE t.type = 'schedule' AND t.is_active;

-- Whether a trigger can fire depends on records that others may be changing. Holding
-- those before the trigger is written makes one of the two wait for the other, so that
-- the later one sees both. They are held from the top down, as everywhere.
-- +goose StatementBegin
CREATE FUNCTION hold_for_schedule() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM tenants WHERE id = NEW.tenant_id FOR SHARE;
    PERFORM FROM workflows w WHERE w.tenant_id = NEW.tenant_id AND w.id = (
        SELECT v.workflow_id FROM workflow_versions v WHERE v.tenant_id = NEW.tenant_id AND v.id = NEW.workflow_version_id) FOR SHARE;
    PERFORM FROM workflow_versions v WHERE v.tenant_id = NEW.tenant_id AND v.id = NEW.workflow_version_id FOR SHARE;
    RETURN NEW;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION schedule_trigger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        DELETE FROM trigger_schedules WHERE tenant_id = NEW.tenant_id AND trigger_id = NEW.id;
    END IF;
    INSERT INTO trigger_schedules (tenant_id, trigger_id, dealt_with, next_at)
    SELECT NEW.tenant_id, NEW.id, NEW.activated_at, NEW.activated_at FROM firing_versions v
    WHERE v.tenant_id = NEW.tenant_id AND v.id = NEW.workflow_version_id AND NEW.is_active;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER triggers_schedule_held BEFORE INSERT ON triggers FOR EACH ROW
    WHEN (NEW.type = 'schedule' AND NEW.is_active) EXECUTE FUNCTION hold_for_schedule();
CREATE TRIGGER triggers_schedule AFTER INSERT ON triggers FOR EACH ROW
    WHEN (NEW.type = 'schedule' AND NEW.is_active) EXECUTE FUNCTION schedule_trigger();
CREATE TRIGGER triggers_schedule_changed_held BEFORE UPDATE OF is_active, activated_at ON triggers FOR EACH ROW
    WHEN (NEW.type = 'schedule' AND (OLD.is_active <> NEW.is_active OR OLD.activated_at <> NEW.activated_at)) EXECUTE FUNCTION hold_for_schedule();
CREATE TRIGGER triggers_schedule_changed AFTER UPDATE OF is_active, activated_at ON triggers FOR EACH ROW
    WHEN (NEW.type = 'schedule' AND (OLD.is_active <> NEW.is_active OR OLD.activated_at <> NEW.activated_at)) EXECUTE FUNCTION schedule_trigger();

-- +goose StatementBegin
CREATE FUNCTION schedule_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM trigger_schedules d USING triggers t WHERE t.tenant_id = NEW.tenant_id AND t.workflow_version_id = NEW.id
        AND d.tenant_id = t.tenant_id AND d.trigger_id = t.id;
    INSERT INTO trigger_schedules (tenant_id, trigger_id, dealt_with, next_at)
    SELECT s.tenant_id, s.trigger_id, NEW.published_at, NEW.published_at FROM firing_schedules s
    WHERE s.tenant_id = NEW.tenant_id AND s.workflow_version_id = NEW.id;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER workflow_versions_schedule AFTER UPDATE OF is_active ON workflow_versions FOR EACH ROW
    WHEN (OLD.is_active <> NEW.is_active) EXECUTE FUNCTION schedule_version();

-- +goose StatementBegin
CREATE FUNCTION schedule_workflow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM trigger_schedules d USING triggers t, workflow_versions v
    WHERE v.tenant_id = NEW.tenant_id AND v.workflow_id = NEW.id AND t.tenant_id = v.tenant_id AND t.workflow_version_id = v.id
        AND d.tenant_id = t.tenant_id AND d.trigger_id = t.id;
    INSERT INTO trigger_schedules (tenant_id, trigger_id, dealt_with, next_at)
    SELECT s.tenant_id, s.trigger_id, NEW.updated_at, NEW.updated_at FROM firing_schedules s
    WHERE s.tenant_id = NEW.tenant_id AND s.workflow_id = NEW.id;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER workflows_schedule AFTER UPDATE OF is_active ON workflows FOR EACH ROW
    WHEN (OLD.is_active <> NEW.is_active) EXECUTE FUNCTION schedule_workflow();

-- +goose StatementBegin
CREATE FUNCTION schedule_tenant() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM trigger_schedules WHERE tenant_id = NEW.id;
    INSERT INTO trigger_schedules (tenant_id, trigger_id, dealt_with, next_at)
    SELECT s.tenant_id, s.trigger_id, NEW.updated_at, NEW.updated_at FROM firing_schedules s WHERE s.tenant_id = NEW.id;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER tenants_schedule AFTER UPDATE OF status ON tenants FOR EACH ROW
    WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION schedule_tenant();

INSERT INTO trigger_schedules (tenant_id, trigger_id, dealt_with, next_at)
SELECT tenant_id, trigger_id, date_trunc('milliseconds', now()), date_trunc('milliseconds', now()) FROM firing_schedules;

-- +goose Down
DROP TRIGGER tenants_schedule ON tenants;
DROP TRIGGER workflows_schedule ON workflows;
DROP TRIGGER workflow_versions_schedule ON workflow_versions;
DROP TRIGGER triggers_schedule_changed ON triggers;
DROP TRIGGER triggers_schedule_changed_held ON triggers;
DROP TRIGGER triggers_schedule ON triggers;
DROP TRIGGER triggers_schedule_held ON triggers;
DROP FUNCTION schedule_tenant();
DROP FUNCTION schedule_workflow();
DROP FUNCTION schedule_version();
DROP FUNCTION schedule_trigger();
DROP FUNCTION hold_for_schedule();
DROP VIEW firing_schedules;
DROP VIEW firing_versions;
DROP TABLE trigger_schedules;
DROP TABLE trigger_fires;
ALTER TABLE triggers DROP COLUMN activated_at;
