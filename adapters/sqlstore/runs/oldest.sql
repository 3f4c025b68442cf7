-- The run of an active tenant that has been free for the longest time. Runs that take turns come
-- from a skip scan of live_runs_ready, which costs as much as there are tenants with some; those that
-- are found by their time come from live_runs_timed, as far as a claim looks.
-- $1: now.
WITH RECURSIVE ready (tenant_id) AS (
    SELECT (
        SELECT f.tenant_id FROM live_runs f
        WHERE f.ready_at = f.free_at AND f.tenant_id > ''
        ORDER BY f.tenant_id, f.ready_at LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT f.tenant_id FROM live_runs f
        WHERE f.ready_at = f.free_at AND f.tenant_id > w.tenant_id
        ORDER BY f.tenant_id, f.ready_at LIMIT 1
    )
    FROM ready w WHERE w.tenant_id IS NOT NULL
), timed AS MATERIALIZED (
    SELECT f.tenant_id, f.id, f.free_at
    FROM live_runs f
    WHERE f.free_at IS NOT NULL AND f.ready_at IS DISTINCT FROM f.free_at AND f.free_at <= $1
    ORDER BY f.free_at, f.tenant_id, f.id LIMIT 256
), first (tenant_id, id) AS MATERIALIZED (
    SELECT w.tenant_id, (
        SELECT f.id FROM live_runs f
        WHERE f.tenant_id = w.tenant_id AND f.ready_at = f.free_at
        ORDER BY f.ready_at, f.id LIMIT 1
    )
    FROM ready w CROSS JOIN tenants t -- keeps SQLite from starting with the tenants
    WHERE t.id = w.tenant_id AND t.status = 'active'
    UNION ALL
    SELECT s.tenant_id, s.id FROM timed s CROSS JOIN tenants t WHERE t.id = s.tenant_id AND t.status = 'active'
)
SELECT l.tenant_id, l.id, l.free_at
FROM first o CROSS JOIN live_runs l
WHERE l.tenant_id = o.tenant_id AND l.id = o.id
ORDER BY l.free_at, l.tenant_id, l.id LIMIT 1
