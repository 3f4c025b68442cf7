-- What changes with the active version of a workflow.
--
-- triggers.left_at is since when a trigger starts nothing because its version is not the active
-- one any more; null for one that was not left behind. Its schedule stays held, and the ledger
-- says of each instant that it started nothing.
-- workflows.previous_version_id is the version that was active before; null while none was
-- replaced since this migration.
--
-- Gateways of 0.1.0 go on after it: they publish without moving triggers, and what they do
-- changes these columns as it has to.

-- +goose Up
ALTER TABLE triggers ADD COLUMN left_at timestamp;
ALTER TABLE workflows ADD COLUMN previous_version_id text;
CREATE INDEX triggers_left ON triggers (left_at) WHERE left_at IS NOT NULL;

-- The triggers whose schedules are held: those that can fire, and those that could if their
-- version were the active one, as it was.
DROP VIEW firing_schedules;
CREATE VIEW firing_schedules AS
SELECT t.tenant_id, t.id AS trigger_id, v.id AS workflow_version_id, v.workflow_id, v.needs_level
FROM workflow_versions v
JOIN workflows w ON w.tenant_id = v.tenant_id AND w.id = v.workflow_id
JOIN tenants o ON o.id = v.tenant_id
JOIN triggers t ON t.tenant_id = v.tenant_id AND t.workflow_version_id = v.id
WHERE (v.is_active OR t.left_at IS NOT NULL) AND w.is_active AND o.status = 'active' AND t.type = 'schedule' AND t.is_active;

DROP TRIGGER triggers_schedule_changed;
-- +goose StatementBegin
CREATE TRIGGER triggers_schedule_changed AFTER UPDATE OF is_active, activated_at ON triggers
WHEN NEW.type = 'schedule' AND (OLD.is_active <> NEW.is_active OR OLD.activated_at <> NEW.activated_at) BEGIN
    DELETE FROM trigger_schedules WHERE tenant_id = NEW.tenant_id AND trigger_id = NEW.id;
    INSERT INTO trigger_schedules (tenant_id, trigger_id, dealt_with, next_at, needs_level)
    SELECT s.tenant_id, s.trigger_id, NEW.activated_at, NEW.activated_at, s.needs_level FROM firing_schedules s
    WHERE s.tenant_id = NEW.tenant_id AND s.trigger_id = NEW.id;
END;
-- +goose StatementEnd

-- A schedule that is held, and goes on being held, is dealt with as far as it was: also that of
-- a trigger which was left behind, when its version is the active one again.
DROP TRIGGER workflow_versions_schedule;
-- +goose StatementBegin
CREATE TRIGGER workflow_versions_schedule AFTER UPDATE OF is_active ON workflow_versions WHEN NOT OLD.is_active AND NEW.is_active BEGIN
    UPDATE triggers SET left_at = NULL WHERE tenant_id = NEW.tenant_id AND workflow_version_id = NEW.id AND left_at IS NOT NULL;
    INSERT INTO trigger_schedules (tenant_id, trigger_id, dealt_with, next_at, needs_level)
    SELECT s.tenant_id, s.trigger_id, NEW.published_at, NEW.published_at, s.needs_level FROM firing_schedules s
    WHERE s.tenant_id = NEW.tenant_id AND s.workflow_version_id = NEW.id
    ON CONFLICT (tenant_id, trigger_id) DO UPDATE SET needs_level = excluded.needs_level;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER workflow_versions_replaced AFTER UPDATE OF is_active ON workflow_versions WHEN OLD.is_active AND NOT NEW.is_active BEGIN
    DELETE FROM trigger_schedules WHERE tenant_id = NEW.tenant_id AND trigger_id IN (
        SELECT t.id FROM triggers t WHERE t.tenant_id = NEW.tenant_id AND t.workflow_version_id = NEW.id AND t.left_at IS NULL);
    UPDATE workflows SET previous_version_id = NEW.id WHERE tenant_id = NEW.tenant_id AND id = NEW.workflow_id;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER triggers_schedule_attached AFTER UPDATE OF workflow_version_id, left_at ON triggers
WHEN NEW.type = 'schedule' AND NEW.is_active AND (OLD.workflow_version_id <> NEW.workflow_version_id OR OLD.left_at IS NOT NEW.left_at) BEGIN
    DELETE FROM trigger_schedules WHERE tenant_id = NEW.tenant_id AND trigger_id = NEW.id AND NOT EXISTS (
        SELECT 1 FROM firing_schedules s WHERE s.tenant_id = NEW.tenant_id AND s.trigger_id = NEW.id);
    INSERT INTO trigger_schedules (tenant_id, trigger_id, dealt_with, next_at, needs_level)
    SELECT s.tenant_id, s.trigger_id, NEW.updated_at, NEW.updated_at, s.needs_level FROM firing_schedules s
    WHERE s.tenant_id = NEW.tenant_id AND s.trigger_id = NEW.id
    ON CONFLICT (tenant_id, trigger_id) DO UPDATE SET needs_level = excluded.needs_level;
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER triggers_schedule_attached;
DROP TRIGGER workflow_versions_replaced;
DROP TRIGGER workflow_versions_schedule;
DROP TRIGGER triggers_schedule_changed;
DELETE FROM trigger_schedules WHERE EXISTS (SELECT 1 FROM triggers t WHERE t.tenant_id = trigger_schedules.tenant_id AND t.id = trigger_schedules.trigger_id AND t.left_at IS NOT NULL);
DROP VIEW firing_schedules;
CREATE VIEW firing_schedules AS
SELECT t.tenant_id, t.id AS trigger_id, v.id AS workflow_version_id, v.workflow_id, v.needs_level
FROM firing_versions v
JOIN triggers t ON t.tenant_id = v.tenant_id AND t.workflow_version_id = v.id
WHERE t.type = 'schedule' AND t.is_active;
-- +goose StatementBegin
CREATE TRIGGER triggers_schedule_changed AFTER UPDATE OF is_active, activated_at ON triggers
WHEN NEW.type = 'schedule' AND (OLD.is_active <> NEW.is_active OR OLD.activated_at <> NEW.activated_at) BEGIN
    DELETE FROM trigger_schedules WHERE tenant_id = NEW.tenant_id AND trigger_id = NEW.id;
    INSERT INTO trigger_schedules (tenant_id, trigger_id, dealt_with, next_at, needs_level)
    SELECT NEW.tenant_id, NEW.id, NEW.activated_at, NEW.activated_at, v.needs_level FROM firing_versions v
    WHERE v.tenant_id = NEW.tenant_id AND v.id = NEW.workflow_version_id AND NEW.is_active;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER workflow_versions_schedule AFTER UPDATE OF is_active ON workflow_versions WHEN OLD.is_active <> NEW.is_active BEGIN
    DELETE FROM trigger_schedules WHERE tenant_id = NEW.tenant_id AND trigger_id IN (
        SELECT t.id FROM triggers t WHERE t.tenant_id = NEW.tenant_id AND t.workflow_version_id = NEW.id);
    INSERT INTO trigger_schedules (tenant_id, trigger_id, dealt_with, next_at, needs_level)
    SELECT s.tenant_id, s.trigger_id, NEW.published_at, NEW.published_at, s.needs_level FROM firing_schedules s
    WHERE s.tenant_id = NEW.tenant_id AND s.workflow_version_id = NEW.id;
END;
-- +goose StatementEnd
DROP INDEX triggers_left;
ALTER TABLE workflows DROP COLUMN previous_version_id;
ALTER TABLE triggers DROP COLUMN left_at;
