-- Deliveries that somebody asked for go before the others of their endpoint, of which
-- there may be very many. The index holds those that wait, which are few.

-- +goose Up
ALTER TABLE webhook_deliveries ADD COLUMN is_urgent boolean NOT NULL DEFAULT false;
CREATE INDEX webhook_deliveries_urgent ON webhook_deliveries (tenant_id, next_attempt_at, id) WHERE status = 'pending' AND is_urgent;

-- +goose Down
DROP INDEX webhook_deliveries_urgent;
ALTER TABLE webhook_deliveries DROP COLUMN is_urgent;
