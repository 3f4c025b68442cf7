-- Adds the triggers whose version exists and whose idempotency key, if any, is free, each with
-- its outcome. A key that another transaction is about to take makes it wait for that one.
-- $1 to $16: a column each, as arrays of equal length; $17: the retention of outcomes in seconds.
WITH asked AS (
    SELECT *
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
            $10::timestamptz[], $11::text[], $12::text[], $13::text[], $14::text[], $15::bytea[], $16::boolean[])
        AS a (tenant_id, id, sub_tenant_id, workflow_version_id, name, search_text, type, config, event,
            created_at, scope, key, fingerprint, metadata, answer, is_active)
    WHERE EXISTS (SELECT FROM workflow_versions v WHERE v.tenant_id = a.tenant_id AND v.id = a.workflow_version_id)
), claimed AS (
    INSERT INTO outcomes (tenant_id, scope, key, fingerprint, answer, created_at)
    SELECT tenant_id, scope, key, fingerprint, answer, created_at
    FROM asked
    WHERE key <> ''
    ORDER BY tenant_id, scope, key
    ON CONFLICT (tenant_id, scope, key) DO UPDATE
    SET fingerprint = excluded.fingerprint, answer = excluded.answer, created_at = excluded.created_at
    WHERE outcomes.created_at <= excluded.created_at - make_interval(secs => $17)
    RETURNING tenant_id, scope, key
)
INSERT INTO triggers (tenant_id, id, sub_tenant_id, workflow_version_id, name, search_text, type, config, metadata, event,
    is_active, activated_at, created_at, updated_at, revision)
SELECT tenant_id, id, sub_tenant_id, workflow_version_id, name, search_text, type, config, metadata, nullif(event, ''),
    is_active, created_at, created_at, created_at, 1
FROM asked a
WHERE a.key = '' OR EXISTS (SELECT FROM claimed c WHERE c.tenant_id = a.tenant_id AND c.scope = a.scope AND c.key = a.key)
