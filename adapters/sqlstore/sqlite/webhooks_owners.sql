-- The active tenants with pending deliveries, and when the first of each is free, found by a
-- skip scan of the index: it costs as much as there are tenants, however many deliveries
-- each has.
--
-- $1 the feature level of this process
WITH RECURSIVE names (tenant_id) AS (
    SELECT min(d.tenant_id)
    FROM webhook_deliveries d
    WHERE d.status = 'pending' AND d.free_at IS NOT NULL AND d.needs_level <= $1
    UNION ALL
    SELECT (
        SELECT min(d.tenant_id)
        FROM webhook_deliveries d
        WHERE d.status = 'pending' AND d.free_at IS NOT NULL AND d.needs_level <= $1 AND d.tenant_id > n.tenant_id)
    FROM names n
    WHERE n.tenant_id IS NOT NULL
), owners AS (
    SELECT n.tenant_id, (
        SELECT min(d.free_at)
        FROM webhook_deliveries d
        WHERE d.tenant_id = n.tenant_id AND d.status = 'pending' AND d.free_at IS NOT NULL AND d.needs_level <= $1) AS free_at
    FROM names n
    WHERE n.tenant_id IS NOT NULL
)
SELECT o.tenant_id, o.free_at
FROM owners o
JOIN tenants t ON t.id = o.tenant_id
WHERE t.status = 'active'
