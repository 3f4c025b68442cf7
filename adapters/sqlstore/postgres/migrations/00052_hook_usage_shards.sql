-- hook_usage counts the deliveries of a hook in several rows, one of which each connection writes: units that keep
-- deliveries of one hook at the same time do not wait for each other. Their sum counts; one alone may be negative.
--
-- Gateways of 0.1.0 go on after it: they know nothing of hooks.

-- +goose Up
ALTER TABLE hook_usage ADD COLUMN shard integer NOT NULL DEFAULT 0;
ALTER TABLE hook_usage DROP CONSTRAINT hook_usage_pkey, ADD PRIMARY KEY (tenant_id, trigger_id, shard);

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION count_hook_deliveries() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    sign integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
    INSERT INTO hook_usage (tenant_id, trigger_id, shard, kept, bytes, refused)
        SELECT c.tenant_id, c.trigger_id, pg_backend_pid() % 32, sign * count(*) FILTER (WHERE NOT c.refused),
            sign * coalesce(sum(c.size) FILTER (WHERE NOT c.refused), 0), sign * count(*) FILTER (WHERE c.refused)
        FROM changed c
        JOIN hooks h ON h.tenant_id = c.tenant_id AND h.trigger_id = c.trigger_id -- a hook that is being deleted takes its count along
        GROUP BY c.tenant_id, c.trigger_id ORDER BY c.tenant_id, c.trigger_id
        ON CONFLICT (tenant_id, trigger_id, shard) DO UPDATE
            SET kept = hook_usage.kept + excluded.kept, bytes = hook_usage.bytes + excluded.bytes, refused = hook_usage.refused + excluded.refused;
    INSERT INTO tenant_storage (tenant_id, shard, bytes)
        SELECT c.tenant_id, pg_backend_pid() % 32, sign * sum(c.size) FROM changed c
        JOIN tenants t ON t.id = c.tenant_id -- a tenant that is being deleted takes its storage along
        WHERE NOT c.refused GROUP BY c.tenant_id HAVING sum(c.size) <> 0 ORDER BY c.tenant_id
        ON CONFLICT (tenant_id, shard) DO UPDATE SET bytes = tenant_storage.bytes + excluded.bytes;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION count_hook_deliveries() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    sign integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
    PERFORM FROM hook_usage u WHERE (u.tenant_id, u.trigger_id) IN (SELECT c.tenant_id, c.trigger_id FROM changed c)
        ORDER BY u.tenant_id, u.trigger_id FOR UPDATE;
    UPDATE hook_usage u SET kept = u.kept + sign * c.kept, bytes = u.bytes + sign * c.bytes, refused = u.refused + sign * c.refused FROM (
            SELECT tenant_id, trigger_id, count(*) FILTER (WHERE NOT changed.refused) AS kept, coalesce(sum(size) FILTER (WHERE NOT changed.refused), 0) AS bytes,
                count(*) FILTER (WHERE changed.refused) AS refused
            FROM changed GROUP BY tenant_id, trigger_id) c
        WHERE u.tenant_id = c.tenant_id AND u.trigger_id = c.trigger_id;
    INSERT INTO tenant_storage (tenant_id, shard, bytes)
        SELECT c.tenant_id, pg_backend_pid() % 32, sign * sum(c.size) FROM changed c
        JOIN tenants t ON t.id = c.tenant_id -- a tenant that is being deleted takes its storage along
        WHERE NOT c.refused GROUP BY c.tenant_id HAVING sum(c.size) <> 0 ORDER BY c.tenant_id
        ON CONFLICT (tenant_id, shard) DO UPDATE SET bytes = tenant_storage.bytes + excluded.bytes;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TEMPORARY TABLE sums ON COMMIT DROP AS SELECT tenant_id, trigger_id, sum(kept) AS kept, sum(bytes) AS bytes, sum(refused) AS refused FROM hook_usage GROUP BY tenant_id, trigger_id;
DELETE FROM hook_usage;
ALTER TABLE hook_usage DROP CONSTRAINT hook_usage_pkey, DROP COLUMN shard, ADD PRIMARY KEY (tenant_id, trigger_id);
INSERT INTO hook_usage (tenant_id, trigger_id, kept, bytes, refused) SELECT tenant_id, trigger_id, kept, bytes, refused FROM sums;
