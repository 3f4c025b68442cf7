-- What a lease that ended by its time says of the run: 1 that its process ended while it
-- worked on it, 2 that it is being tried alone, 3 that its process ended during that.

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
            ALTER TABLE runs ADD COLUMN IF NOT EXISTS alone smallint NOT NULL DEFAULT 0;
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

-- +goose Down
-- +goose StatementBegin
DO $do$
DECLARE
    pause double precision := 0.5;
BEGIN
    LOOP
        BEGIN
            SET LOCAL lock_timeout = '2s';
            ALTER TABLE runs DROP COLUMN IF EXISTS alone;
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
