-- Who has runs to claim is found without looking at those who only have runs that wait.
-- A run takes turns when ready_at is the time at which it is free: from its start, or
-- since a claim let it in because its time had come. It stops by itself as soon as that
-- time changes. All others are found by their time.
--
-- Gateways of the version before serve meanwhile: as in 00017, no lock on runs is waited
-- for by others for long, and each statement can be carried out again.

-- +goose NO TRANSACTION
-- +goose Up
-- +goose StatementBegin
DO $do$
DECLARE
    pause double precision := 0.5;
    broken regclass;
BEGIN
    LOOP
        BEGIN
            SET LOCAL lock_timeout = '2s';
            ALTER TABLE runs ADD COLUMN IF NOT EXISTS ready_at timestamptz;
            -- What an interrupted CREATE INDEX CONCURRENTLY left is no index, but has its name.
            FOR broken IN SELECT indexrelid::regclass FROM pg_index
                WHERE NOT indisvalid AND indexrelid IN (to_regclass('runs_ready'), to_regclass('runs_timed'))
            LOOP
                EXECUTE format('DROP INDEX %s', broken);
            END LOOP;
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

CREATE INDEX CONCURRENTLY IF NOT EXISTS runs_ready ON runs (tenant_id, ready_at, id) WHERE ready_at = free_at;
CREATE INDEX CONCURRENTLY IF NOT EXISTS runs_timed ON runs (free_at, tenant_id, id) WHERE free_at IS NOT NULL AND ready_at IS DISTINCT FROM free_at;
-- Together the two hold what runs_free does, which goes with 00020: gateways of
-- the version before claim by it.

-- +goose Down
-- +goose StatementBegin
DO $do$
DECLARE
    pause double precision := 0.5;
BEGIN
    LOOP
        BEGIN
            SET LOCAL lock_timeout = '2s';
            DROP INDEX IF EXISTS runs_timed;
            DROP INDEX IF EXISTS runs_ready;
            ALTER TABLE runs DROP COLUMN IF EXISTS ready_at;
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
