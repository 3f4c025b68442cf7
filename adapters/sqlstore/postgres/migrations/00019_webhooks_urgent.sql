-- Deliveries that somebody asked for go before the others of their endpoint, of which
-- there may be very many. The index holds those that wait, which are few.
--
-- Gateways of the version before serve meanwhile: as in 00017, no lock on the deliveries is
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
            ALTER TABLE webhook_deliveries ADD COLUMN IF NOT EXISTS is_urgent boolean NOT NULL DEFAULT false;
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
-- What an interruption leaves of it is no index, but has its name.
DROP INDEX CONCURRENTLY IF EXISTS webhook_deliveries_urgent;
CREATE INDEX CONCURRENTLY webhook_deliveries_urgent ON webhook_deliveries (tenant_id, next_attempt_at, id) WHERE status = 'pending' AND is_urgent;

-- +goose Down
-- +goose StatementBegin
DO $do$
DECLARE
    pause double precision := 0.5;
BEGIN
    LOOP
        BEGIN
            SET LOCAL lock_timeout = '2s';
            DROP INDEX IF EXISTS webhook_deliveries_urgent;
            ALTER TABLE webhook_deliveries DROP COLUMN IF EXISTS is_urgent;
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
