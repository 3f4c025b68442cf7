-- The events that wait, the oldest of each tenant before the second of any. A skip scan of
-- the index finds the tenants, so that it costs what it returns, however many events wait
-- behind.
--
-- $1 JSON array of the events to leave out, $2 how many at most, $3 how many to choose from,
-- since other units may have the first ones, $4 the feature level of this process
--
-- CROSS JOIN keeps SQLite from beginning with the events. A bare parameter after LIMIT is
-- what it plans by: it would prepare the statement anew whenever it runs.
WITH RECURSIVE owners (tenant_id) AS (
    SELECT * FROM (
        SELECT n.tenant_id FROM webhook_events n
        WHERE n.waits AND n.needs_level <= $4
        ORDER BY n.tenant_id, n.happened_at LIMIT 1
    ) AS first
    UNION ALL
    SELECT (
        SELECT n.tenant_id FROM webhook_events n
        WHERE n.waits AND n.needs_level <= $4 AND n.tenant_id > o.tenant_id
        ORDER BY n.tenant_id, n.happened_at LIMIT 1)
    FROM owners o
    WHERE o.tenant_id IS NOT NULL
), excepted AS MATERIALIZED (
    SELECT r.tenant_id, r.id
    FROM (SELECT value ->> 'tenant_id' AS tenant_id, value ->> 'id' AS id FROM json_each($1)) AS r
), turns AS (
    SELECT w.tenant_id, w.id, w.happened_at,
        row_number() OVER (PARTITION BY w.tenant_id ORDER BY w.happened_at, w.id) AS turn
    FROM owners o
    CROSS JOIN webhook_events w
    WHERE w.tenant_id = o.tenant_id AND w.id IN (
        SELECT f.id
        FROM webhook_events f
        WHERE f.waits AND f.needs_level <= $4 AND f.tenant_id = o.tenant_id
            AND NOT EXISTS (SELECT 1 FROM excepted x WHERE x.tenant_id = f.tenant_id AND x.id = f.id)
        ORDER BY f.happened_at, f.id
        LIMIT CAST($3 AS bigint)
    )
), foremost AS (
    SELECT tenant_id, id, turn
    FROM turns
    ORDER BY turn, happened_at, id
    LIMIT CAST($3 AS bigint)
)
SELECT e.id, e.tenant_id, e.sub_tenant_id, e.type, e.of_child, e.happened_at, e.data
FROM foremost t
CROSS JOIN webhook_events e
WHERE e.tenant_id = t.tenant_id AND e.id = t.id AND e.waits
ORDER BY t.turn, e.happened_at, e.id
LIMIT CAST($2 AS bigint)
