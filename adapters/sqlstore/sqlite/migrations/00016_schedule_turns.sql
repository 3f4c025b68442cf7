-- Schedules that are due are dealt with in turns of tenants: which tenants there are, and
-- what is due of each, is read off this index.

-- +goose Up
CREATE INDEX trigger_schedules_turns ON trigger_schedules (tenant_id, next_at, trigger_id) WHERE next_at IS NOT NULL;

-- +goose Down
DROP INDEX trigger_schedules_turns;
