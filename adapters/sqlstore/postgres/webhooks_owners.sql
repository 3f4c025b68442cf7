-- The active tenants with pending deliveries, and when the first of each is free, found by a
-- skip scan of the index: it costs as much as there are tenants, however many deliveries
-- each has.
--
-- $1 the feature level of this process
WITH RECURSIVE owners (tenant_id, free_at) AS (
    (SELECT d.tenant_id, d.free_at
    FROM webhook_deliveries d
    WHERE d.status = 'pending' AND d.free_at IS NOT NULL AND d.needs_level <= $1
    ORDER BY d.tenant_id, d.free_at LIMIT 1)
    UNION ALL
    SELECT n.tenant_id, n.free_at
    FROM owners o
    CROSS JOIN LATERAL (
        SELECT d.tenant_id, d.free_at
        FROM webhook_deliveries d
        WHERE d.status = 'pending' AND d.free_at IS NOT NULL AND d.needs_level <= $1 AND d.tenant_id > o.tenant_id
        ORDER BY d.tenant_id, d.free_at LIMIT 1
    ) AS n
)
SELECT o.tenant_id, o.free_at
FROM owners o
JOIN tenants t ON t.id = o.tenant_id
WHERE t.status = 'active'
