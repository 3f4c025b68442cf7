-- Schedules that are due are dealt with in turns of tenants: which tenants there are, and
-- what is due of each, is read off this index. Gateways serve while it is built; what an
-- interruption leaves of it is no index, but has its name.

-- +goose NO TRANSACTION
-- +goose Up
DROP INDEX CONCURRENTLY IF EXISTS trigger_schedules_turns;
CREATE INDEX CONCURRENTLY trigger_schedules_turns ON trigger_schedules (tenant_id, next_at, trigger_id) WHERE next_at IS NOT NULL;

-- +goose Down
DROP INDEX CONCURRENTLY IF EXISTS trigger_schedules_turns;
