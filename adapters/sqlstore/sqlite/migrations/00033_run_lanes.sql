-- Lanes bound how many runs of one key of a trigger are live at a time.
--
-- runs.lane names the trigger and the key of a run, '' for a run that is not bounded, and
-- runs.lane_limit is how many there may be as its trigger said when it was started. The same in
-- live_runs; there lane_seq orders the runs of a lane by when they came, and held says that a run
-- waits for others to end. Nobody leases it then: it has no due_at.

-- +goose Up
ALTER TABLE runs ADD COLUMN lane text NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN lane_limit integer NOT NULL DEFAULT 0;
ALTER TABLE live_runs ADD COLUMN lane text NOT NULL DEFAULT '';
ALTER TABLE live_runs ADD COLUMN lane_limit integer NOT NULL DEFAULT 0;
ALTER TABLE live_runs ADD COLUMN lane_seq integer NOT NULL DEFAULT 0;
ALTER TABLE live_runs ADD COLUMN held boolean NOT NULL DEFAULT false;
CREATE INDEX live_runs_lane ON live_runs (tenant_id, lane, held, lane_seq) WHERE lane <> '';

-- +goose Down
DROP INDEX live_runs_lane;
ALTER TABLE live_runs DROP COLUMN held;
ALTER TABLE live_runs DROP COLUMN lane_seq;
ALTER TABLE live_runs DROP COLUMN lane_limit;
ALTER TABLE live_runs DROP COLUMN lane;
ALTER TABLE runs DROP COLUMN lane_limit;
ALTER TABLE runs DROP COLUMN lane;
