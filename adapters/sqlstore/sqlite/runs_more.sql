-- More of the runs that a claim can lease, of the tenants in $3, a JSON array of objects.
-- $1: now; $2: how many runs of each tenant; $4: the feature level of this process; $5: whether it serves Temporal.
WITH elapsed AS MATERIALIZED (
    SELECT f.tenant_id, f.id, f.free_at
    FROM live_runs f
    WHERE f.free_at IS NOT NULL AND f.ready_at IS DISTINCT FROM f.free_at AND f.free_at <= $1 AND f.needs_level <= $4 AND (f.engine <> 'temporal' OR $5)
    ORDER BY f.free_at, f.tenant_id, f.id LIMIT 256
), candidates AS MATERIALIZED (
    SELECT r.tenant_id, r.leased
    FROM (SELECT value ->> 'tenant_id' AS tenant_id, value ->> 'leased' AS leased FROM json_each($3)) AS r
)
SELECT tenant_id, id
FROM (
    SELECT r.tenant_id, r.id, r.free_at, c.leased
    FROM candidates c
    CROSS JOIN live_runs r -- keeps SQLite from starting with the runs
    WHERE r.tenant_id = c.tenant_id AND r.id IN (
        SELECT f.id
        FROM live_runs f
        WHERE f.tenant_id = c.tenant_id AND f.ready_at = f.free_at AND f.needs_level <= $4 AND (f.engine <> 'temporal' OR $5)
        ORDER BY f.ready_at, f.id LIMIT $2
    )
    UNION ALL
    SELECT r.tenant_id, r.id, r.free_at, c.leased
    FROM elapsed r
    JOIN candidates c ON c.tenant_id = r.tenant_id
) AS free
ORDER BY tenant_id, free_at, id
