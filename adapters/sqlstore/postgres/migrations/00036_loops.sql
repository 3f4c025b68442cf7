-- Nodes of runs that run their bodies for each item.
--
-- run_loops has a small row for each of them. items is how many items it has, item_run_id the run of
-- one of them, of which those of the others follow, next_item the first that has not been looked at,
-- live how many have begun and have not ended, paused how many of those are paused. failed says that
-- an item has failed and none begins any more, is_left that nobody waits for the node. payload_id is
-- what the runs of its items share.
-- run_items has a row for each 32 items: the place of the first one, from 0, and an array of their
-- texts. At place -1 is what all of them look at of other nodes, an object by their ids.
-- runs.item_index is the item that a run is of, null for none; item_size is how many bytes that has,
-- with what it looks at of other nodes. item_bytes is how many bytes of items a run has in run_items,
-- which are counted in kept.
--
-- Gateways of 0.1.0 serve meanwhile and go on after it: they leave such runs alone. No lock on a table
-- is waited for by others for long, and each statement can be carried out again.

-- +goose NO TRANSACTION
-- +goose Up
CALL change_under_load($$ALTER TABLE runs ADD COLUMN IF NOT EXISTS item_index integer, ADD COLUMN IF NOT EXISTS item_size integer NOT NULL DEFAULT 0, ADD COLUMN IF NOT EXISTS item_bytes bigint NOT NULL DEFAULT 0$$);

CREATE TABLE IF NOT EXISTS run_loops (
    tenant_id   text NOT NULL,
    run_id      text NOT NULL,
    node_id     text NOT NULL,
    items       integer NOT NULL,
    item_run_id text NOT NULL,
    next_item   integer NOT NULL,
    live        integer NOT NULL,
    paused      integer NOT NULL,
    concurrency integer NOT NULL,
    fail_fast   boolean NOT NULL,
    failed      boolean NOT NULL,
    is_left     boolean NOT NULL,
    payload_id  text NOT NULL,
    PRIMARY KEY (tenant_id, run_id, node_id)
) WITH (fillfactor = 50);
CREATE TABLE IF NOT EXISTS run_items (
    tenant_id   text NOT NULL,
    run_id      text NOT NULL,
    node_id     text NOT NULL,
    idx         integer NOT NULL,
    items       json NOT NULL,
    PRIMARY KEY (tenant_id, run_id, node_id, idx)
);

-- +goose StatementBegin

CREATE OR REPLACE FUNCTION clean_up_after_runs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM live_runs l USING deleted d WHERE d.finished_at IS NULL AND l.tenant_id = d.tenant_id AND l.id = d.id;
    DELETE FROM run_history h USING deleted d WHERE h.tenant_id = d.tenant_id AND h.run_id = d.id;
    DELETE FROM run_outputs o USING deleted d WHERE d.outputs > 0 AND o.tenant_id = d.tenant_id AND o.run_id = d.id;
    DELETE FROM run_items i USING deleted d WHERE d.item_bytes > 0 AND i.tenant_id = d.tenant_id AND i.run_id = d.id;
    DELETE FROM run_loops l USING deleted d WHERE d.item_bytes > 0 AND l.tenant_id = d.tenant_id AND l.run_id = d.id;
    DELETE FROM run_facets f USING deleted d WHERE f.tenant_id = d.tenant_id AND f.created_at = d.created_at AND f.id = d.id;
    PERFORM FROM run_payloads p
        WHERE (p.tenant_id, p.id) IN (SELECT d.tenant_id, d.payload_id FROM deleted d WHERE d.payload_id IS NOT NULL UNION SELECT d.tenant_id, d.snapshot_id FROM deleted d WHERE d.snapshot_id IS NOT NULL)
        ORDER BY p.tenant_id, p.id FOR UPDATE;
    IF FOUND THEN
        DELETE FROM run_payloads p
            WHERE (p.tenant_id, p.id) IN (SELECT d.tenant_id, d.payload_id FROM deleted d WHERE d.payload_id IS NOT NULL UNION SELECT d.tenant_id, d.snapshot_id FROM deleted d WHERE d.snapshot_id IS NOT NULL)
            AND NOT EXISTS (SELECT FROM runs u WHERE u.tenant_id = p.tenant_id AND u.payload_id = p.id)
            AND NOT EXISTS (SELECT FROM runs u WHERE u.tenant_id = p.tenant_id AND u.snapshot_id = p.id);
    END IF;
    INSERT INTO tenant_storage (tenant_id, shard, bytes)
        SELECT d.tenant_id, pg_backend_pid() % 32, -sum(d.kept) FROM deleted d
        JOIN tenants t ON t.id = d.tenant_id -- a tenant that is being deleted takes its storage along
        GROUP BY d.tenant_id HAVING sum(d.kept) <> 0 ORDER BY d.tenant_id
        ON CONFLICT (tenant_id, shard) DO UPDATE SET bytes = tenant_storage.bytes + excluded.bytes;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION clean_up_after_runs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM live_runs l USING deleted d WHERE d.finished_at IS NULL AND l.tenant_id = d.tenant_id AND l.id = d.id;
    DELETE FROM run_history h USING deleted d WHERE h.tenant_id = d.tenant_id AND h.run_id = d.id;
    DELETE FROM run_outputs o USING deleted d WHERE d.outputs > 0 AND o.tenant_id = d.tenant_id AND o.run_id = d.id;
    DELETE FROM run_facets f USING deleted d WHERE f.tenant_id = d.tenant_id AND f.created_at = d.created_at AND f.id = d.id;
    PERFORM FROM run_payloads p
        WHERE (p.tenant_id, p.id) IN (SELECT d.tenant_id, d.payload_id FROM deleted d WHERE d.payload_id IS NOT NULL UNION SELECT d.tenant_id, d.snapshot_id FROM deleted d WHERE d.snapshot_id IS NOT NULL)
        ORDER BY p.tenant_id, p.id FOR UPDATE;
    IF FOUND THEN
        DELETE FROM run_payloads p
            WHERE (p.tenant_id, p.id) IN (SELECT d.tenant_id, d.payload_id FROM deleted d WHERE d.payload_id IS NOT NULL UNION SELECT d.tenant_id, d.snapshot_id FROM deleted d WHERE d.snapshot_id IS NOT NULL)
            AND NOT EXISTS (SELECT FROM runs u WHERE u.tenant_id = p.tenant_id AND u.payload_id = p.id)
            AND NOT EXISTS (SELECT FROM runs u WHERE u.tenant_id = p.tenant_id AND u.snapshot_id = p.id);
    END IF;
    INSERT INTO tenant_storage (tenant_id, shard, bytes)
        SELECT d.tenant_id, pg_backend_pid() % 32, -sum(d.kept) FROM deleted d
        JOIN tenants t ON t.id = d.tenant_id -- a tenant that is being deleted takes its storage along
        GROUP BY d.tenant_id HAVING sum(d.kept) <> 0 ORDER BY d.tenant_id
        ON CONFLICT (tenant_id, shard) DO UPDATE SET bytes = tenant_storage.bytes + excluded.bytes;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
DROP TABLE run_items;
DROP TABLE run_loops;
ALTER TABLE runs DROP COLUMN item_bytes;
ALTER TABLE runs DROP COLUMN item_size;
ALTER TABLE runs DROP COLUMN item_index;
