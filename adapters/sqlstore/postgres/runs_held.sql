-- Those of the leases in $1, a JSON array of objects, that are still good.
SELECT u.tenant_id, u.id, u.seq, u.woken
FROM live_runs u, json_to_recordset(CAST($1 AS json)) AS r (owner_id text, run_id text, number text)
WHERE u.tenant_id = r.owner_id AND u.id = r.run_id AND u.lease = CAST(r.number AS bigint) AND u.lease_until IS NOT NULL
