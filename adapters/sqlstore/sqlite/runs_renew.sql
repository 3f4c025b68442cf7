-- Moves the end of those of the leases in $1, a JSON array of objects, that are still good.
-- $2: when they end; $3: whether they are given back.
WITH locked AS MATERIALIZED (
    SELECT u.tenant_id, u.id
    FROM live_runs u, (SELECT value ->> 'owner_id' AS owner_id, value ->> 'run_id' AS run_id, value ->> 'number' AS number FROM json_each($1)) AS r
    WHERE u.tenant_id = r.owner_id AND u.id = r.run_id AND u.lease = CAST(r.number AS bigint) AND u.lease_until IS NOT NULL
)
UPDATE live_runs SET lease_until = $2, worker = CASE WHEN $3 THEN '' ELSE worker END
FROM locked l
WHERE live_runs.tenant_id = l.tenant_id AND live_runs.id = l.id
RETURNING live_runs.tenant_id, live_runs.id, live_runs.seq, live_runs.woken
