-- Has runs take turns whose time has come: what a claim can look at is bounded.
-- $1: now; $2: the feature level of this process; $3: whether it serves Temporal.
WITH elapsed AS MATERIALIZED (
    SELECT f.tenant_id, f.id
    FROM live_runs f
    WHERE f.free_at IS NOT NULL AND f.ready_at IS DISTINCT FROM f.free_at AND f.free_at <= $1 AND f.needs_level <= $2 AND (f.engine <> 'temporal' OR $3)
    ORDER BY f.free_at, f.tenant_id, f.id LIMIT 500
)
UPDATE live_runs SET ready_at = free_at
FROM elapsed e
WHERE live_runs.tenant_id = e.tenant_id AND live_runs.id = e.id
