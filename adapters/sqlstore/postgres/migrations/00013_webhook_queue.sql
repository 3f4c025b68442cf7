-- When the next delivery of each tenant can be lent, so that the tenants with deliveries
-- that are due are found among many.

-- +goose Up
CREATE INDEX webhook_deliveries_next ON webhook_deliveries (tenant_id, free_at) WHERE status = 'pending';

-- +goose Down
DROP INDEX webhook_deliveries_next;
