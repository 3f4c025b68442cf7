-- Who has runs to claim is found without looking at those who only have runs that wait.
-- A run takes turns when ready_at is the time at which it is free: from its start, or
-- since a claim let it in because its time had come. It stops by itself as soon as that
-- time changes. All others are found by their time.

-- +goose Up
ALTER TABLE runs ADD COLUMN ready_at timestamp;
CREATE INDEX runs_ready ON runs (tenant_id, ready_at, id) WHERE ready_at = free_at;
CREATE INDEX runs_timed ON runs (free_at, tenant_id, id) WHERE free_at IS NOT NULL AND ready_at IS DISTINCT FROM free_at;
-- Together the two hold what runs_free does, which goes with 00020: gateways of
-- the version before claim by it.

-- +goose Down
DROP INDEX runs_timed;
DROP INDEX runs_ready;
ALTER TABLE runs DROP COLUMN ready_at;
