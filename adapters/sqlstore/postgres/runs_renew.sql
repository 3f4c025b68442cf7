-- Moves the end of those of the leases in $1, a JSON array of objects, that are still good.
-- $2: when they end; $3: whether they are given back.
-- A run that another transaction has is left out: whoever has it, for whatever reason, must not
-- end the leases of all others. Once the rows are locked nothing has to be waited for.
WITH locked AS MATERIALIZED (
    SELECT u.tenant_id, u.id
    FROM live_runs u, json_to_recordset(CAST($1 AS json)) AS r (owner_id text, run_id text, number text)
    WHERE u.tenant_id = r.owner_id AND u.id = r.run_id AND u.lease = CAST(r.number AS bigint) AND u.lease_until IS NOT NULL
    FOR NO KEY UPDATE OF u SKIP LOCKED
)
UPDATE live_runs SET lease_until = $2, worker = CASE WHEN $3 THEN '' ELSE worker END
FROM locked l
WHERE live_runs.tenant_id = l.tenant_id AND live_runs.id = l.id
RETURNING live_runs.tenant_id, live_runs.id, live_runs.seq, live_runs.woken
