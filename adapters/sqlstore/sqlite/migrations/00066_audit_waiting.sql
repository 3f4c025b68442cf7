-- Entries of the audit log that are not sealed yet.
--
-- A change writes its entry here, into one index, and who changes things waits for no more. The sealer moves it
-- into audit_entries, whose rows all have their places in a chain and are not written again. Both are audit_log.

-- +goose Up
CREATE TABLE audit_waiting (
    tenant_id   text NOT NULL,
    id          text NOT NULL,
    at          timestamp NOT NULL,
    actor_kind  text NOT NULL,
    actor_id    text NOT NULL,
    action      text NOT NULL,
    target_kind text NOT NULL,
    target_id   text NOT NULL,
    request_id  text NOT NULL,
    said        text NOT NULL,
    PRIMARY KEY (tenant_id, at, id)
);
INSERT INTO audit_waiting (tenant_id, id, at, actor_kind, actor_id, action, target_kind, target_id, request_id, said) SELECT tenant_id, id, at, actor_kind, actor_id, action, target_kind, target_id, request_id, said FROM audit_entries WHERE seq IS NULL;
DELETE FROM audit_entries WHERE seq IS NULL;
DROP INDEX audit_entries_unsealed;
CREATE VIEW audit_log AS
    SELECT tenant_id, id, at, actor_kind, actor_id, action, target_kind, target_id, request_id, said, seq, hash FROM audit_entries
    UNION ALL SELECT tenant_id, id, at, actor_kind, actor_id, action, target_kind, target_id, request_id, said, CAST(NULL AS integer), CAST(NULL AS blob) FROM audit_waiting;

-- +goose Down
DROP VIEW audit_log;
CREATE INDEX audit_entries_unsealed ON audit_entries (tenant_id, at, id) WHERE seq IS NULL;
INSERT INTO audit_entries (tenant_id, id, at, actor_kind, actor_id, action, target_kind, target_id, request_id, said) SELECT tenant_id, id, at, actor_kind, actor_id, action, target_kind, target_id, request_id, said FROM audit_waiting;
DROP TABLE audit_waiting;
