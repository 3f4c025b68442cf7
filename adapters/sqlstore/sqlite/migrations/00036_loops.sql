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
-- Gateways of 0.1.0 go on after it: they leave such runs alone.

-- +goose Up
ALTER TABLE runs ADD COLUMN item_index integer;
ALTER TABLE runs ADD COLUMN item_size integer NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN item_bytes integer NOT NULL DEFAULT 0;
CREATE TABLE run_loops (
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
    PRIMARY KEY (tenant_id, run_id, node_id),
    CONSTRAINT run_loops_run FOREIGN KEY (tenant_id, run_id) REFERENCES runs ON DELETE CASCADE
);
CREATE TABLE run_items (
    tenant_id   text NOT NULL,
    run_id      text NOT NULL,
    node_id     text NOT NULL,
    idx         integer NOT NULL,
    items       text NOT NULL,
    PRIMARY KEY (tenant_id, run_id, node_id, idx),
    CONSTRAINT run_items_run FOREIGN KEY (tenant_id, run_id) REFERENCES runs ON DELETE CASCADE
);

-- +goose Down
DROP TABLE run_items;
DROP TABLE run_loops;
ALTER TABLE runs DROP COLUMN item_bytes;
ALTER TABLE runs DROP COLUMN item_size;
ALTER TABLE runs DROP COLUMN item_index;

