-- Lanes bound how many runs of one key of a trigger are live at a time.
--
-- runs.lane names the trigger and the key of a run, '' for a run that is not bounded, and
-- runs.lane_limit is how many there may be as its trigger said when it was started. The same in
-- live_runs; there lane_seq orders the runs of a lane by when they came, and held says that a run
-- waits for others to end. Nobody leases it then: it has no due_at.
--
-- No lock on a table is waited for by others for long, and each statement can be carried out again.

-- +goose NO TRANSACTION
-- +goose Up
CALL change_under_load($$ALTER TABLE runs ADD COLUMN IF NOT EXISTS lane text NOT NULL DEFAULT '', ADD COLUMN IF NOT EXISTS lane_limit integer NOT NULL DEFAULT 0$$);

-- +goose StatementBegin
CALL change_under_load($change$
    ALTER TABLE live_runs ADD COLUMN IF NOT EXISTS lane text NOT NULL DEFAULT '', ADD COLUMN IF NOT EXISTS lane_limit integer NOT NULL DEFAULT 0,
        ADD COLUMN IF NOT EXISTS lane_seq bigint NOT NULL DEFAULT 0, ADD COLUMN IF NOT EXISTS held boolean NOT NULL DEFAULT false;
$change$);
-- +goose StatementEnd
DROP INDEX CONCURRENTLY IF EXISTS live_runs_lane; -- one that could not be completed
CREATE INDEX CONCURRENTLY live_runs_lane ON live_runs (tenant_id, lane, held, lane_seq) WHERE lane <> '';

-- +goose Down
DROP INDEX live_runs_lane;
ALTER TABLE live_runs DROP COLUMN held, DROP COLUMN lane_seq, DROP COLUMN lane_limit, DROP COLUMN lane;
ALTER TABLE runs DROP COLUMN lane_limit, DROP COLUMN lane;
