-- The earliest time at which a run is free, null for never. Of the runs that are found by their
-- time it looks at the first ones only: those of tenants that are not active may be among them,
-- and if no others are, the last of them is when to look again.
-- $1: the feature level of this process; $2: whether it serves Temporal.
WITH RECURSIVE ready (tenant_id, active) AS (
    SELECT t.id, t.status = 'active'
    FROM tenants t
    WHERE t.id = (
        SELECT f.tenant_id FROM live_runs f
        WHERE f.ready_at = f.free_at AND f.needs_level <= $1 AND (f.engine <> 'temporal' OR $2) AND f.tenant_id > ''
        ORDER BY f.tenant_id, f.ready_at LIMIT 1
    )
    UNION ALL
    SELECT t.id, t.status = 'active'
    FROM ready w
    JOIN tenants t ON t.id = (
        SELECT f.tenant_id FROM live_runs f
        WHERE f.ready_at = f.free_at AND f.needs_level <= $1 AND (f.engine <> 'temporal' OR $2) AND f.tenant_id > w.tenant_id
        ORDER BY f.tenant_id, f.ready_at LIMIT 1
    ) AND NOT w.active
), timed AS MATERIALIZED (
    SELECT f.free_at, f.tenant_id
    FROM live_runs f
    WHERE f.free_at IS NOT NULL AND f.ready_at IS DISTINCT FROM f.free_at AND f.needs_level <= $1 AND (f.engine <> 'temporal' OR $2)
    ORDER BY f.free_at, f.tenant_id, f.id LIMIT 256
)
SELECT min(free_at)
FROM (
    SELECT (
        SELECT f.ready_at FROM live_runs f
        WHERE f.tenant_id = w.tenant_id AND f.ready_at = f.free_at AND f.needs_level <= $1 AND (f.engine <> 'temporal' OR $2)
        ORDER BY f.ready_at, f.id LIMIT 1
    ) AS free_at
    FROM ready w WHERE w.active
    UNION ALL
    SELECT s.free_at FROM timed s JOIN tenants t ON t.id = s.tenant_id WHERE t.status = 'active'
    UNION ALL
    SELECT max(s.free_at) FROM timed s HAVING count(*) = 256
) AS all_of_them
