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
-- +goose StatementBegin
DO $do$
DECLARE
    pause double precision := 0.5;
BEGIN
    LOOP
        BEGIN
            SET LOCAL lock_timeout = '2s';
            ALTER TABLE runs ADD COLUMN IF NOT EXISTS lane text NOT NULL DEFAULT '', ADD COLUMN IF NOT EXISTS lane_limit integer NOT NULL DEFAULT 0;
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

-- +goose StatementBegin
DO $do$
DECLARE
    pause double precision := 0.5;
BEGIN
    LOOP
        BEGIN
            SET LOCAL lock_timeout = '2s';
            ALTER TABLE live_runs ADD COLUMN IF NOT EXISTS lane text NOT NULL DEFAULT '', ADD COLUMN IF NOT EXISTS lane_limit integer NOT NULL DEFAULT 0,
                ADD COLUMN IF NOT EXISTS lane_seq bigint NOT NULL DEFAULT 0, ADD COLUMN IF NOT EXISTS held boolean NOT NULL DEFAULT false;
            EXIT;
        EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
            NULL;
        END;
        COMMIT;
        PERFORM pg_sleep(pause);
        pause := least(2 * pause, 30);
    END LOOP;
END
$do$;
-- +goose StatementEnd

DROP INDEX CONCURRENTLY IF EXISTS live_runs_lane; -- one that could not be completed
CREATE INDEX CONCURRENTLY live_runs_lane ON live_runs (tenant_id, lane, held, lane_seq) WHERE lane <> '';

-- +goose Down
DROP INDEX live_runs_lane;
ALTER TABLE live_runs DROP COLUMN held, DROP COLUMN lane_seq, DROP COLUMN lane_limit, DROP COLUMN lane;
ALTER TABLE runs DROP COLUMN lane_limit, DROP COLUMN lane;
