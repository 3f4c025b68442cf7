-- Entries of the audit log that are not sealed yet.
--
-- A change writes its entry here, into one index, and who changes things waits for no more. The sealer moves it
-- into audit_entries, whose rows all have their places in a chain and are not written again. Both are audit_log.
-- Each statement can be carried out again.

-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS audit_waiting (
    tenant_id   text COLLATE "C" NOT NULL,
    id          text COLLATE "C" NOT NULL,
    at          timestamptz NOT NULL,
    actor_kind  text NOT NULL,
    actor_id    text NOT NULL,
    action      text NOT NULL,
    target_kind text NOT NULL,
    target_id   text NOT NULL,
    request_id  text NOT NULL,
    said        text NOT NULL,
    PRIMARY KEY (tenant_id, at, id)
) WITH (
    vacuum_truncate = false, toast.vacuum_truncate = false, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0
);
WITH moved AS (DELETE FROM audit_entries WHERE seq IS NULL RETURNING tenant_id, id, at, actor_kind, actor_id, action, target_kind, target_id, request_id, said)
    INSERT INTO audit_waiting (tenant_id, id, at, actor_kind, actor_id, action, target_kind, target_id, request_id, said) SELECT tenant_id, id, at, actor_kind, actor_id, action, target_kind, target_id, request_id, said FROM moved;
DROP INDEX CONCURRENTLY IF EXISTS audit_entries_unsealed;
CREATE OR REPLACE VIEW audit_log AS
    SELECT tenant_id, id, at, actor_kind, actor_id, action, target_kind, target_id, request_id, said, seq, hash FROM audit_entries
    UNION ALL SELECT tenant_id, id, at, actor_kind, actor_id, action, target_kind, target_id, request_id, said, CAST(NULL AS bigint), CAST(NULL AS bytea) FROM audit_waiting;

-- +goose Down
DROP VIEW IF EXISTS audit_log;
DROP INDEX CONCURRENTLY IF EXISTS audit_entries_unsealed; -- what an interruption leaves of it is no index, but has its name
CREATE INDEX CONCURRENTLY audit_entries_unsealed ON audit_entries (tenant_id, at, id) WHERE seq IS NULL;
CREATE TABLE IF NOT EXISTS audit_waiting (LIKE audit_entries);
WITH moved AS (DELETE FROM audit_waiting RETURNING tenant_id, id, at, actor_kind, actor_id, action, target_kind, target_id, request_id, said)
    INSERT INTO audit_entries (tenant_id, id, at, actor_kind, actor_id, action, target_kind, target_id, request_id, said) SELECT tenant_id, id, at, actor_kind, actor_id, action, target_kind, target_id, request_id, said FROM moved;
DROP TABLE audit_waiting;
