-- What is removed, for recounting what tenants have used.
--
-- Whatever deletes runs, deliveries or deliveries to hooks, their part of what was counted is appended to usage_deltas as removed, so that what was counted is what
-- the records say and what was removed. A tenant that is being deleted takes all of it along.

-- +goose Up
-- +goose StatementBegin
CREATE TRIGGER runs_count_removed BEFORE DELETE ON runs WHEN EXISTS (SELECT 1 FROM tenants WHERE id = OLD.tenant_id) BEGIN
    INSERT INTO usage_deltas (tenant_id, day, removed, runs_started, runs_children) VALUES (OLD.tenant_id, substr(OLD.created_at, 1, 10), true, 1, OLD.parent_run_id <> '');
    INSERT INTO usage_deltas (tenant_id, day, removed, node_attempts, runs_completed, runs_failed, runs_cancelled)
        SELECT OLD.tenant_id, date(CAST(e.value ->> 'at' AS integer) / 1000, 'unixepoch') AS day, true, sum(e.value ->> 'type' = 'node.started'),
            sum(e.value ->> 'type' = 'run.completed'), sum(e.value ->> 'type' = 'run.failed'), sum(e.value ->> 'type' = 'run.cancelled')
        FROM run_history h, json_each(CASE WHEN json_valid(h.entries) THEN h.entries ELSE '[]' END) AS e WHERE h.tenant_id = OLD.tenant_id AND h.run_id = OLD.id
            AND e.type = 'object' AND e.value ->> 'at' IS NOT NULL AND e.value ->> 'type' IN ('node.started', 'run.completed', 'run.failed', 'run.cancelled') GROUP BY 2;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER webhook_deliveries_count_removed BEFORE DELETE ON webhook_deliveries WHEN OLD.status <> 'pending' AND EXISTS (SELECT 1 FROM tenants WHERE id = OLD.tenant_id) BEGIN
    INSERT INTO usage_deltas (tenant_id, day, removed, delivered, deliveries_failed)
        VALUES (OLD.tenant_id, substr(OLD.updated_at, 1, 10), true, OLD.status = 'delivered', OLD.status = 'failed');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER hook_deliveries_count_removed BEFORE DELETE ON hook_deliveries WHEN OLD.replay_of = '' AND EXISTS (SELECT 1 FROM tenants WHERE id = OLD.tenant_id) BEGIN
    INSERT INTO usage_deltas (tenant_id, day, removed, hooks_accepted, hooks_refused)
        VALUES (OLD.tenant_id, substr(OLD.received_at, 1, 10), true, NOT OLD.refused, OLD.refused);
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER hook_deliveries_count_removed;
DROP TRIGGER webhook_deliveries_count_removed;
DROP TRIGGER runs_count_removed;
