-- Budgets of tenants, which the operator sets; 0 is none. usage_thresholds is what tenants were told of them: once in a month of UTC, by the
-- amount of the budget.
--
-- Gateways of 0.1.0 go on after it, and keep to none.

-- +goose NO TRANSACTION
-- +goose Up
CALL change_under_load($$ALTER TABLE tenants ADD COLUMN IF NOT EXISTS budget_runs bigint NOT NULL DEFAULT 0,
    ADD COLUMN IF NOT EXISTS budget_live bigint NOT NULL DEFAULT 0, ADD COLUMN IF NOT EXISTS budget_bytes bigint NOT NULL DEFAULT 0$$);
CREATE TABLE IF NOT EXISTS usage_thresholds (
    tenant_id text NOT NULL CONSTRAINT usage_thresholds_tenant REFERENCES tenants ON DELETE CASCADE,
    month     text COLLATE "C" NOT NULL,
    budget    text NOT NULL,
    amount    bigint NOT NULL,
    percent   integer NOT NULL,
    PRIMARY KEY (tenant_id, month, budget, amount, percent)
);

-- +goose Down
DROP TABLE usage_thresholds;
ALTER TABLE tenants DROP COLUMN budget_bytes, DROP COLUMN budget_live, DROP COLUMN budget_runs;
