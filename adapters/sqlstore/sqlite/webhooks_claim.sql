-- The deliveries to lease, in the order of their turns.
--
-- $1 JSON array of the tenants with due deliveries, $2 the time now, $3 how many at most,
-- $4 how many of those are reserved, $5 how many may go to endpoints that fail,
-- $6 how many of one tenant, $7 how many of one endpoint may be leased at the same time,
-- $8 the feature level of this process
--
-- CROSS JOIN keeps SQLite from beginning with the deliveries. A bare parameter after LIMIT
-- is what it plans by: it would prepare the statement anew whenever it runs.
WITH RECURSIVE pending (tenant_id, endpoint_id) AS (
    -- The endpoints with a pending delivery, found by a skip scan of the index.
    SELECT r.tenant_id, (
        SELECT d.endpoint_id FROM webhook_deliveries d
        WHERE d.status = 'pending' AND d.tenant_id = r.tenant_id
        ORDER BY d.endpoint_id, d.next_attempt_at LIMIT 1)
    FROM (SELECT value ->> 'tenant_id' AS tenant_id FROM json_each($1)) AS r
    UNION ALL
    SELECT p.tenant_id, (
        SELECT d.endpoint_id FROM webhook_deliveries d
        WHERE d.status = 'pending' AND d.tenant_id = p.tenant_id AND d.endpoint_id > p.endpoint_id
        ORDER BY d.endpoint_id, d.next_attempt_at LIMIT 1)
    FROM pending p
    WHERE p.endpoint_id IS NOT NULL
), served AS (
    SELECT p.tenant_id, p.endpoint_id, e.is_active AND e.failing_since IS NOT NULL AS fails
    FROM pending p
    JOIN webhook_endpoints e ON e.tenant_id = p.tenant_id AND e.id = p.endpoint_id
), counted AS MATERIALIZED (
    SELECT s.tenant_id, s.endpoint_id, s.fails, (
        SELECT count(*) FROM webhook_deliveries l
        WHERE l.tenant_id = s.tenant_id AND l.endpoint_id = s.endpoint_id AND l.status = 'pending' AND l.leased_until > $2) AS leased
    FROM served s
), bounded AS (
    SELECT tenant_id, endpoint_id, fails, leased,
        sum(leased) OVER (PARTITION BY tenant_id) AS busy,
        CASE WHEN fails THEN 1 ELSE CAST($7 AS integer) END - leased AS places
    FROM counted
), urgent AS (
    -- By an index of their own: they may stand behind very many others.
    SELECT r.tenant_id, d.endpoint_id, d.id, d.next_attempt_at
    FROM (SELECT value ->> 'tenant_id' AS tenant_id FROM json_each($1)) AS r
    CROSS JOIN webhook_deliveries d
    WHERE d.tenant_id = r.tenant_id AND d.id IN (
        SELECT f.id
        FROM webhook_deliveries f INDEXED BY webhook_deliveries_urgent
        WHERE f.tenant_id = r.tenant_id AND f.is_urgent AND f.status = 'pending' AND f.next_attempt_at <= $2 AND coalesce(f.leased_until, f.next_attempt_at) <= $2 AND f.needs_level <= $8
        ORDER BY f.next_attempt_at, f.id
        LIMIT CAST($3 AS bigint)
    )
), first AS (
    -- Of each endpoint as many as it may get; where it gets none, none is looked at.
    SELECT c.tenant_id, c.endpoint_id, d.id, d.next_attempt_at, d.is_urgent, c.fails, c.busy, c.places
    FROM bounded c
    CROSS JOIN webhook_deliveries d
    WHERE c.places > 0 AND c.busy < CAST($6 AS integer) AND d.tenant_id = c.tenant_id AND d.id IN (
        SELECT f.id
        FROM webhook_deliveries f
        WHERE f.tenant_id = c.tenant_id AND f.endpoint_id = c.endpoint_id AND f.status = 'pending' AND f.next_attempt_at <= $2 AND coalesce(f.leased_until, f.next_attempt_at) <= $2 AND f.needs_level <= $8
        ORDER BY f.next_attempt_at, f.id
        LIMIT CAST($7 AS bigint)
    )
    UNION
    SELECT c.tenant_id, c.endpoint_id, u.id, u.next_attempt_at, true, c.fails, c.busy, c.places
    FROM urgent u
    JOIN bounded c ON c.tenant_id = u.tenant_id AND c.endpoint_id = u.endpoint_id
), placed AS (
    SELECT tenant_id, id, next_attempt_at, is_urgent, fails, busy, places,
        row_number() OVER (PARTITION BY tenant_id, endpoint_id ORDER BY is_urgent DESC, next_attempt_at, id) AS place
    FROM first
), turns AS (
    SELECT tenant_id, id, next_attempt_at, fails,
        busy + row_number() OVER (PARTITION BY tenant_id ORDER BY is_urgent DESC, next_attempt_at, id) AS turn
    FROM placed
    WHERE place <= places
), lanes AS (
    SELECT tenant_id, id, next_attempt_at, fails, turn,
        row_number() OVER (PARTITION BY fails ORDER BY turn, next_attempt_at, id) AS lane
    FROM turns
    WHERE turn <= CAST($6 AS integer)
), ranks AS (
    SELECT tenant_id, id, next_attempt_at, turn, row_number() OVER (ORDER BY turn, next_attempt_at, id) AS rank
    FROM lanes
    WHERE NOT fails OR lane <= CAST($5 AS integer)
), foremost AS (
    SELECT tenant_id, id, rank
    FROM ranks
    WHERE rank <= CAST($3 AS integer) AND (turn = 1 OR rank <= CAST($3 AS integer) - CAST($4 AS integer))
)
SELECT d.id, d.tenant_id, d.endpoint_id, d.event_id, d.event_type, d.status, d.attempts, d.attempted, d.next_attempt_at, d.is_manual,
    d.is_urgent, d.leased_until, d.delivered_at, d.reason, d.created_at, d.updated_at, d.revision
FROM foremost t
CROSS JOIN webhook_deliveries d
WHERE d.tenant_id = t.tenant_id AND d.id = t.id
    AND (d.free_at <= $2) IS TRUE -- no index answers this, so that the key finds the delivery
ORDER BY t.rank
