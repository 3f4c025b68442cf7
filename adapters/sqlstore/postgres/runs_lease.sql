-- Leases those of the runs in $1, a JSON array of objects, that are still free and that no other transaction has:
-- in the order of place, until the runs before are as large as $5. They are returned in any order.
-- $2: now; $3: when the leases end; $4: the worker; $6: the least number of a lease, the time in
-- milliseconds: a run that has finished and goes on again begins with no number of its own.
-- IS TRUE keeps every index from answering whether a run is free, so that its key finds it. The condition
-- that is always true makes the runs few in the eyes of the planner, who looks up each by its key then.
WITH wanted AS MATERIALIZED (
    SELECT r.owner_id, r.run_id, CAST(r.place AS bigint) AS place
    FROM json_to_recordset(CAST($1 AS json)) AS r (owner_id text, run_id text, place text)
    WHERE r.run_id || '' = r.run_id
), locked AS MATERIALIZED (
    SELECT w.owner_id, w.run_id, w.place, u.size
    FROM wanted w
    CROSS JOIN live_runs u
    WHERE u.tenant_id = w.owner_id AND u.id = w.run_id AND (u.free_at <= $2) IS TRUE
    FOR NO KEY UPDATE OF u SKIP LOCKED
), fitting AS (
    SELECT owner_id, run_id
    FROM (SELECT l.*, sum(size) OVER (ORDER BY place) - size AS before FROM locked l) AS weighed
    WHERE before < $5
)
UPDATE live_runs SET lease = greatest(lease + 1, $6), lease_until = $3, worker = $4, alone = CASE
    WHEN lease_until IS NULL OR worker IN ('', $4) THEN 0
    WHEN alone = 2 THEN 3
    ELSE 1
END
FROM fitting f
WHERE live_runs.tenant_id = f.owner_id AND live_runs.id = f.run_id
RETURNING live_runs.tenant_id, live_runs.id, live_runs.lease, live_runs.alone, live_runs.woken, live_runs.engine
