-- Runs that a claim can lease, in the order of the tenants from the one after $4 on: the first
-- runs of each tenant that may get any, as many as quota. Those that take turns come from a skip
-- scan of live_runs_ready, which costs as much as there are tenants on the way; those that are found
-- by their time come from live_runs_timed, as far as a claim looks.
-- $1: now; $2: how many runs are wanted; $3: how many a tenant may have; $4: the tenant that the
-- last claim came to; $5: the feature level of this process; $6: whether it serves Temporal. The scan ends 16 tenants after as many as runs are wanted.
-- The order in the subqueries that find the next tenant leaves no other index to choose,
-- whatever the statistics say: the wrong one reads every run of a tenant.
WITH RECURSIVE ahead (tenant_id, leased, active, found) AS (
    SELECT t.id, (SELECT count(*) FROM live_runs l WHERE l.tenant_id = t.id AND l.lease_until > $1), t.status = 'active', 0
    FROM tenants t
    WHERE t.id = (
        SELECT f.tenant_id FROM live_runs f
        WHERE f.ready_at = f.free_at AND f.needs_level <= $5 AND (f.engine <> 'temporal' OR $6) AND f.tenant_id > $4
        ORDER BY f.tenant_id, f.ready_at LIMIT 1
    )
    UNION ALL
    SELECT t.id, (SELECT count(*) FROM live_runs l WHERE l.tenant_id = t.id AND l.lease_until > $1), t.status = 'active',
        w.found + CASE WHEN w.active AND w.leased < $3 THEN 1 ELSE 0 END
    FROM ahead w
    JOIN tenants t ON t.id = (
        SELECT f.tenant_id FROM live_runs f
        WHERE f.ready_at = f.free_at AND f.needs_level <= $5 AND (f.engine <> 'temporal' OR $6) AND f.tenant_id > w.tenant_id
        ORDER BY f.tenant_id, f.ready_at LIMIT 1
    ) AND w.found + CASE WHEN w.active AND w.leased < $3 THEN 1 ELSE 0 END < $2 + 16
), behind (tenant_id, leased, active, found) AS (
    SELECT t.id, (SELECT count(*) FROM live_runs l WHERE l.tenant_id = t.id AND l.lease_until > $1), t.status = 'active',
        (SELECT count(*) FROM ahead WHERE active AND leased < $3)
    FROM tenants t
    WHERE t.id = (
        SELECT f.tenant_id FROM live_runs f
        WHERE f.ready_at = f.free_at AND f.needs_level <= $5 AND (f.engine <> 'temporal' OR $6) AND f.tenant_id > ''
        ORDER BY f.tenant_id, f.ready_at LIMIT 1
    ) AND t.id <= $4 AND (SELECT count(*) FROM ahead WHERE active AND leased < $3) < $2 + 16
    UNION ALL
    SELECT t.id, (SELECT count(*) FROM live_runs l WHERE l.tenant_id = t.id AND l.lease_until > $1), t.status = 'active',
        w.found + CASE WHEN w.active AND w.leased < $3 THEN 1 ELSE 0 END
    FROM behind w
    JOIN tenants t ON t.id = (
        SELECT f.tenant_id FROM live_runs f
        WHERE f.ready_at = f.free_at AND f.needs_level <= $5 AND (f.engine <> 'temporal' OR $6) AND f.tenant_id > w.tenant_id
        ORDER BY f.tenant_id, f.ready_at LIMIT 1
    ) AND t.id <= $4 AND w.found + CASE WHEN w.active AND w.leased < $3 THEN 1 ELSE 0 END < $2 + 16
), elapsed AS MATERIALIZED (
    SELECT f.tenant_id, f.id, f.free_at
    FROM live_runs f
    WHERE f.free_at IS NOT NULL AND f.ready_at IS DISTINCT FROM f.free_at AND f.free_at <= $1 AND f.needs_level <= $5 AND (f.engine <> 'temporal' OR $6)
    ORDER BY f.free_at, f.tenant_id, f.id LIMIT 256
), candidates AS MATERIALIZED (
    SELECT tenant_id, leased FROM ahead WHERE active AND leased < $3
    UNION
    SELECT tenant_id, leased FROM behind WHERE active AND leased < $3
    UNION
    SELECT t.id, (SELECT count(*) FROM live_runs l WHERE l.tenant_id = t.id AND l.lease_until > $1)
    FROM (SELECT DISTINCT tenant_id FROM elapsed) e
    JOIN tenants t ON t.id = e.tenant_id
    WHERE t.status = 'active'
), quota (n) AS (
    SELECT 1 + 2 * $2 / (1 + count(*)) FROM candidates
)
SELECT tenant_id, id, leased, (SELECT n FROM quota) AS quota, (SELECT count(*) FROM elapsed) AS elapsed
FROM (
    SELECT r.tenant_id, r.id, r.free_at, c.leased
    FROM candidates c
    CROSS JOIN LATERAL (
        SELECT f.tenant_id, f.id, f.free_at
        FROM live_runs f
        WHERE f.tenant_id = c.tenant_id AND f.ready_at = f.free_at AND f.needs_level <= $5 AND (f.engine <> 'temporal' OR $6)
        ORDER BY f.ready_at, f.id LIMIT (SELECT n FROM quota)
    ) AS r
    UNION ALL
    SELECT r.tenant_id, r.id, r.free_at, c.leased
    FROM elapsed r
    JOIN candidates c ON c.tenant_id = r.tenant_id
) AS free
ORDER BY CASE WHEN tenant_id > $4 THEN 0 ELSE 1 END, tenant_id, free_at, id
