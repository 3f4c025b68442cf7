-- Budgets of tenants, which the operator sets; 0 is none. usage_thresholds is what tenants were told of them: once in a month of UTC, by the
-- amount of the budget.
--
-- Gateways of 0.1.0 go on after it, and keep to none.

-- +goose Up
ALTER TABLE tenants ADD COLUMN budget_runs integer NOT NULL DEFAULT 0;
ALTER TABLE tenants ADD COLUMN budget_live integer NOT NULL DEFAULT 0;
ALTER TABLE tenants ADD COLUMN budget_bytes integer NOT NULL DEFAULT 0;
CREATE TABLE usage_thresholds (
    tenant_id text NOT NULL CONSTRAINT usage_thresholds_tenant REFERENCES tenants ON DELETE CASCADE,
    month     text NOT NULL,
    budget    text NOT NULL,
    amount    integer NOT NULL,
    percent   integer NOT NULL,
    PRIMARY KEY (tenant_id, month, budget, amount, percent)
);

-- +goose Down
DROP TABLE usage_thresholds;
ALTER TABLE tenants DROP COLUMN budget_bytes;
ALTER TABLE tenants DROP COLUMN budget_live;
ALTER TABLE tenants DROP COLUMN budget_runs;
