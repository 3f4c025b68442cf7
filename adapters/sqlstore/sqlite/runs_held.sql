-- Those of the leases in $1, a JSON array of objects, that are still good.
SELECT u.tenant_id, u.id, u.seq, u.woken
FROM live_runs u, (SELECT value ->> 'owner_id' AS owner_id, value ->> 'run_id' AS run_id, value ->> 'number' AS number FROM json_each($1)) AS r
WHERE u.tenant_id = r.owner_id AND u.id = r.run_id AND u.lease = CAST(r.number AS bigint) AND u.lease_until IS NOT NULL
