-- When the next delivery of each tenant can be lent, so that the tenants with deliveries
-- that are due are found among many. Only queries that say that free_at is not null, which
-- it never is of a pending delivery, use this index: others have better ones.

-- +goose Up
CREATE INDEX webhook_deliveries_next ON webhook_deliveries (tenant_id, free_at) WHERE status = 'pending' AND free_at IS NOT NULL;

-- +goose Down
DROP INDEX webhook_deliveries_next;
