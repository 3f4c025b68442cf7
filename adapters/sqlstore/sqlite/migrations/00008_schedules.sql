-- The ledger of fires, and when each schedule has to be looked at next.

-- +goose Up
ALTER TABLE triggers ADD COLUMN activated_at timestamp NOT NULL DEFAULT '1970-01-01 00:00:00+00:00';
UPDATE triggers SET activated_at = created_at;

-- One row for each instant of each trigger.
CREATE TABLE trigger_fires (
    tenant_id    text NOT NULL,
    trigger_id   text NOT NULL,
    scheduled_at timestamp NOT NULL,
    outcome      text NOT NULL,
    reason       text NOT NULL,
    run_id       text NOT NULL,
    recorded_at  timestamp NOT NULL,
    PRIMARY KEY (tenant_id, trigger_id, scheduled_at),
    CONSTRAINT trigger_fires_trigger FOREIGN KEY (tenant_id, trigger_id) REFERENCES triggers ON DELETE CASCADE
);
CREATE INDEX trigger_fires_by_record ON trigger_fires (recorded_at);

-- One row for each trigger that can fire by a schedule, and none for the others: what
-- is inactive costs nothing, and begins anew when it becomes active again. Every
-- instant up to dealt_with was dealt with. Where next_at is not known yet, it is a time
-- that is too early; it is null when the schedule is never due again.
CREATE TABLE trigger_schedules (
    tenant_id  text NOT NULL,
    trigger_id text NOT NULL,
    dealt_with timestamp NOT NULL,
    next_at    timestamp,
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

-- +goose StatementBegin
CREATE TRIGGER triggers_schedule AFTER INSERT ON triggers WHEN NEW.type = 'schedule' AND NEW.is_active BEGIN
    INSERT INTO trigger_schedules (tenant_id, trigger_id, dealt_with, next_at)
    SELECT NEW.tenant_id, NEW.id, NEW.activated_at, NEW.activated_at FROM firing_versions v
    WHERE v.tenant_id = NEW.tenant_id AND v.id = NEW.workflow_version_id AND NEW.is_active;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER triggers_schedule_changed AFTER UPDATE OF is_active, activated_at ON triggers
WHEN NEW.type = 'schedule' AND (OLD.is_active <> NEW.is_active OR OLD.activated_at <> NEW.activated_at) BEGIN
    DELETE FROM trigger_schedules WHERE tenant_id = NEW.tenant_id AND trigger_id = NEW.id;
    INSERT INTO trigger_schedules (tenant_id, trigger_id, dealt_with, next_at)
    SELECT NEW.tenant_id, NEW.id, NEW.activated_at, NEW.activated_at FROM firing_versions v
    WHERE v.tenant_id = NEW.tenant_id AND v.id = NEW.workflow_version_id AND NEW.is_active;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER workflow_versions_schedule AFTER UPDATE OF is_active ON workflow_versions WHEN OLD.is_active <> NEW.is_active BEGIN
    DELETE FROM trigger_schedules WHERE tenant_id = NEW.tenant_id AND trigger_id IN (
        SELECT t.id FROM triggers t WHERE t.tenant_id = NEW.tenant_id AND t.workflow_version_id = NEW.id);
    INSERT INTO trigger_schedules (tenant_id, trigger_id, dealt_with, next_at)
    SELECT s.tenant_id, s.trigger_id, NEW.published_at, NEW.published_at FROM firing_schedules s
    WHERE s.tenant_id = NEW.tenant_id AND s.workflow_version_id = NEW.id;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER workflows_schedule AFTER UPDATE OF is_active ON workflows WHEN OLD.is_active <> NEW.is_active BEGIN
    DELETE FROM trigger_schedules WHERE tenant_id = NEW.tenant_id AND trigger_id IN (
        SELECT t.id FROM triggers t JOIN workflow_versions v ON v.tenant_id = t.tenant_id AND v.id = t.workflow_version_id
        WHERE v.tenant_id = NEW.tenant_id AND v.workflow_id = NEW.id);
    INSERT INTO trigger_schedules (tenant_id, trigger_id, dealt_with, next_at)
    SELECT s.tenant_id, s.trigger_id, NEW.updated_at, NEW.updated_at FROM firing_schedules s
    WHERE s.tenant_id = NEW.tenant_id AND s.workflow_id = NEW.id;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER tenants_schedule AFTER UPDATE OF status ON tenants WHEN OLD.status <> NEW.status BEGIN
    DELETE FROM trigger_schedules WHERE tenant_id = NEW.id;
    INSERT INTO trigger_schedules (tenant_id, trigger_id, dealt_with, next_at)
    SELECT s.tenant_id, s.trigger_id, NEW.updated_at, NEW.updated_at FROM firing_schedules s WHERE s.tenant_id = NEW.id;
END;
-- +goose StatementEnd

INSERT INTO trigger_schedules (tenant_id, trigger_id, dealt_with, next_at)
SELECT tenant_id, trigger_id, strftime('%Y-%m-%d %H:%M:%f+00:00', 'now'), strftime('%Y-%m-%d %H:%M:%f+00:00', 'now') FROM firing_schedules;

-- +goose Down
DROP TRIGGER tenants_schedule;
DROP TRIGGER workflows_schedule;
DROP TRIGGER workflow_versions_schedule;
DROP TRIGGER triggers_schedule_changed;
DROP TRIGGER triggers_schedule;
DROP VIEW firing_schedules;
DROP VIEW firing_versions;
DROP TABLE trigger_schedules;
DROP TABLE trigger_fires;
ALTER TABLE triggers DROP COLUMN activated_at;
