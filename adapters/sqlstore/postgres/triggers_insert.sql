-- Adds the triggers whose version exists and whose idempotency key, if any, is free, each with
-- its outcome and its entry of the audit log. A key that another transaction is about to take makes it wait for that one.
-- $1 to $24: a column each, as arrays of equal length; $25: the retention of outcomes in seconds.
WITH asked AS (
    SELECT *
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
            $10::timestamptz[], $11::text[], $12::text[], $13::text[], $14::text[],
            $15::text[], $16::text[], $17::text[], $18::text[], $19::text[], $20::text[], $21::text[], $22::bytea[], $23::bytea[], $24::boolean[])
        AS a (tenant_id, id, sub_tenant_id, workflow_version_id, name, search_text, type, config, event,
            created_at, scope, key, fingerprint, metadata,
            audit_id, actor_kind, actor_id, action, target_kind, request_id, said, answer, digest, is_active)
    WHERE EXISTS (SELECT FROM workflow_versions v WHERE v.tenant_id = a.tenant_id AND v.id = a.workflow_version_id)
), claimed AS (
    INSERT INTO outcomes (tenant_id, scope, key, fingerprint, answer, created_at)
    SELECT tenant_id, scope, key, fingerprint, answer, created_at
    FROM asked
    WHERE key <> ''
    ORDER BY tenant_id, scope, key
    ON CONFLICT (tenant_id, scope, key) DO UPDATE
    SET fingerprint = excluded.fingerprint, answer = excluded.answer, created_at = excluded.created_at
    WHERE outcomes.created_at <= excluded.created_at - make_interval(secs => $25)
    RETURNING tenant_id, scope, key
), recorded AS (
    INSERT INTO audit_waiting (tenant_id, id, at, actor_kind, actor_id, action, target_kind, target_id, request_id, said, digest)
    SELECT tenant_id, audit_id, created_at, actor_kind, actor_id, action, target_kind, id, request_id, said, digest
    FROM asked a
    WHERE a.audit_id <> '' AND (a.key = '' OR EXISTS (SELECT FROM claimed c WHERE c.tenant_id = a.tenant_id AND c.scope = a.scope AND c.key = a.key))
)
INSERT INTO triggers (tenant_id, id, sub_tenant_id, workflow_version_id, name, search_text, type, config, metadata, event,
    is_active, activated_at, created_at, updated_at, revision)
SELECT tenant_id, id, sub_tenant_id, workflow_version_id, name, search_text, type, config, metadata, nullif(event, ''),
    is_active, created_at, created_at, created_at, 1
FROM asked a
WHERE a.key = '' OR EXISTS (SELECT FROM claimed c WHERE c.tenant_id = a.tenant_id AND c.scope = a.scope AND c.key = a.key)
