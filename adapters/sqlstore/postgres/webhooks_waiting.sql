-- The events that wait, tenant by tenant, the oldest of each first. A skip scan of the index
-- finds as many tenants as have the events to choose from, so that it costs as much as those,
-- however many wait behind.
--
-- $1 JSON array of the events to leave out, $2 how many at most, $3 how many to choose from,
-- since other units may have the first ones, $4 the feature level of this process, $5 the tenant
-- after which to begin, $6 the last one, empty for all
WITH RECURSIVE excepted AS MATERIALIZED (
    SELECT r.tenant_id, r.id
    FROM json_to_recordset(CAST($1 AS json)) AS r(tenant_id text, id text)
), owners (tenant_id, found) AS (
    SELECT CAST($5 AS text), CAST(0 AS bigint)
    UNION ALL
    SELECT t.id, o.found + (
        SELECT count(*) FROM (
            SELECT 1 FROM webhook_events f
            WHERE f.waits AND f.needs_level <= $4 AND f.tenant_id = t.id
                AND NOT EXISTS (SELECT 1 FROM excepted x WHERE x.tenant_id = f.tenant_id AND x.id = f.id)
            LIMIT CAST($3 AS bigint)) AS counted)
    FROM owners o
    JOIN tenants t ON t.id = (
        SELECT n.tenant_id FROM webhook_events n
        WHERE n.waits AND n.needs_level <= $4 AND n.tenant_id > o.tenant_id
        ORDER BY n.tenant_id, n.happened_at LIMIT 1
    ) AND (CAST($6 AS text) = '' OR t.id <= $6) AND o.found < CAST($3 AS bigint)
), foremost AS (
    SELECT w.tenant_id, w.id
    FROM owners o
    CROSS JOIN webhook_events w
    WHERE o.tenant_id > $5 AND w.tenant_id = o.tenant_id AND w.id = ANY (ARRAY(
        SELECT f.id
        FROM webhook_events f
        WHERE f.waits AND f.needs_level <= $4 AND f.tenant_id = o.tenant_id
            AND NOT EXISTS (SELECT 1 FROM excepted x WHERE x.tenant_id = f.tenant_id AND x.id = f.id)
        ORDER BY f.happened_at, f.id
        LIMIT CAST($3 AS bigint)
    ))
    ORDER BY w.tenant_id, w.happened_at, w.id
    LIMIT CAST($3 AS bigint)
)
SELECT e.id, e.tenant_id, e.sub_tenant_id, e.type, e.of_child, e.happened_at, e.data
FROM foremost t
CROSS JOIN webhook_events e
WHERE e.tenant_id = t.tenant_id AND e.id = t.id AND e.waits
ORDER BY e.tenant_id, e.happened_at, e.id
LIMIT CAST($2 AS bigint)
FOR UPDATE OF e SKIP LOCKED
