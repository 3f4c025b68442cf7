-- Which key took a rotated one's place, so that a rotation that is repeated within the
-- grace does not give a key that ends with the grace. Keys that were rotated before do
-- not say.
--
-- Gateways of the version before serve meanwhile: as in 00017, no lock on the keys is
-- waited for by others for long, and each statement can be carried out again.

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
            ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS successor_id text NOT NULL DEFAULT '';
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
            ALTER TABLE api_keys DROP COLUMN IF EXISTS successor_id;
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
