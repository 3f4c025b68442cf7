-- How many bytes of runs each tenant keeps, and payloads that several runs share.
--
-- Gateways of the version before serve meanwhile: as in 00017, no lock on runs is waited
-- for by others for long, and each statement can be carried out again.

-- +goose NO TRANSACTION
-- +goose Up

-- runs.kept is how many bytes of a run are counted in tenant_storage: its own payload, its
-- progress and its history. It is null for runs of the version before, which are not
-- counted until a gateway of this version records a step of them. kept_before is what it
-- was before its last change, so that the statement that changes it knows the difference.
--
-- A tenant's bytes are spread over shards, one for each of the connections that write at
-- the same time, so that they do not wait for one another; their sum is what is kept. The
-- statements that start and record runs add to it themselves. Triggers count what is
-- removed, also by gateways of the version before and with a tenant.
--
-- A payload in run_payloads is added by the unit that starts the first runs with it, and
-- goes with the last one. Whoever adds runs to it holds its row; whoever removes runs waits
-- for that, and only then looks whether any are left.

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION release_run_storage() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM run_payloads p
        WHERE (p.tenant_id, p.id) IN (SELECT g.tenant_id, g.payload_id FROM gone g WHERE g.payload_id IS NOT NULL)
        ORDER BY p.tenant_id, p.id FOR UPDATE;
    IF FOUND THEN
        DELETE FROM run_payloads p
            WHERE (p.tenant_id, p.id) IN (SELECT g.tenant_id, g.payload_id FROM gone g WHERE g.payload_id IS NOT NULL)
            AND NOT EXISTS (SELECT FROM runs u WHERE u.tenant_id = p.tenant_id AND u.payload_id = p.id);
    END IF;
    INSERT INTO tenant_storage (tenant_id, shard, bytes)
        SELECT g.tenant_id, pg_backend_pid() % 32, -sum(g.kept) FROM gone g
        JOIN tenants t ON t.id = g.tenant_id -- else its deletion takes the runs along
        GROUP BY g.tenant_id HAVING sum(g.kept) <> 0 ORDER BY g.tenant_id
        ON CONFLICT (tenant_id, shard) DO UPDATE SET bytes = tenant_storage.bytes + excluded.bytes;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION count_run_payloads() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tenant_storage (tenant_id, shard, bytes)
        SELECT c.tenant_id, pg_backend_pid() % 32, sum(octet_length(c.payload)) * CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END FROM changed c
        JOIN tenants t ON t.id = c.tenant_id
        GROUP BY c.tenant_id ORDER BY c.tenant_id
        ON CONFLICT (tenant_id, shard) DO UPDATE SET bytes = tenant_storage.bytes + excluded.bytes;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
DO $do$
DECLARE
    pause double precision := 0.5;
    broken regclass;
BEGIN
    LOOP
        BEGIN
            SET LOCAL lock_timeout = '2s';
            CREATE TABLE IF NOT EXISTS tenant_storage (
                tenant_id text    NOT NULL CONSTRAINT tenant_storage_tenant REFERENCES tenants ON DELETE CASCADE,
                shard     integer NOT NULL,
                bytes     bigint  NOT NULL,
                PRIMARY KEY (tenant_id, shard)
            ) WITH (fillfactor = 50);
            CREATE TABLE IF NOT EXISTS run_payloads (
                tenant_id text NOT NULL CONSTRAINT run_payloads_tenant REFERENCES tenants ON DELETE CASCADE,
                id        text NOT NULL,
                payload   text NOT NULL,
                PRIMARY KEY (tenant_id, id)
            );
            ALTER TABLE runs ADD COLUMN IF NOT EXISTS payload_id text, ADD COLUMN IF NOT EXISTS kept bigint, ADD COLUMN IF NOT EXISTS kept_before bigint;
            -- What an interrupted CREATE INDEX CONCURRENTLY left is no index, but has its name.
            FOR broken IN SELECT indexrelid::regclass FROM pg_index WHERE NOT indisvalid AND indexrelid = to_regclass('runs_of_payload')
            LOOP
                EXECUTE format('DROP INDEX %s', broken);
            END LOOP;
            CREATE OR REPLACE TRIGGER run_payloads_added AFTER INSERT ON run_payloads REFERENCING NEW TABLE AS changed
                FOR EACH STATEMENT EXECUTE FUNCTION count_run_payloads();
            CREATE OR REPLACE TRIGGER run_payloads_removed AFTER DELETE ON run_payloads REFERENCING OLD TABLE AS changed
                FOR EACH STATEMENT EXECUTE FUNCTION count_run_payloads();
            CREATE OR REPLACE TRIGGER runs_released AFTER DELETE ON runs REFERENCING OLD TABLE AS gone
                FOR EACH STATEMENT EXECUTE FUNCTION release_run_storage();
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

CREATE INDEX CONCURRENTLY IF NOT EXISTS runs_of_payload ON runs (tenant_id, payload_id) WHERE payload_id IS NOT NULL;

-- +goose Down
-- +goose StatementBegin
DO $do$
DECLARE
    pause double precision := 0.5;
BEGIN
    LOOP
        BEGIN
            SET LOCAL lock_timeout = '2s';
            DROP TRIGGER IF EXISTS runs_released ON runs;
            -- Each run gets its payload back: gateways of the version before know of no other.
            UPDATE runs u SET payload = p.payload FROM run_payloads p WHERE p.tenant_id = u.tenant_id AND p.id = u.payload_id;
            DROP INDEX IF EXISTS runs_of_payload;
            DROP TABLE IF EXISTS run_payloads;
            DROP TABLE IF EXISTS tenant_storage;
            DROP FUNCTION IF EXISTS release_run_storage();
            DROP FUNCTION IF EXISTS count_run_payloads();
            ALTER TABLE runs DROP COLUMN IF EXISTS kept_before, DROP COLUMN IF EXISTS kept, DROP COLUMN IF EXISTS payload_id;
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
