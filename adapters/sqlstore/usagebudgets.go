package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/usage"
	"github.com/sluicehq/sluice/ports/outbound"
)

type usageBudgets struct{ *unit }

var _ outbound.UsageBudgets = usageBudgets{}

// Standings reads what is used, and only what there is a budget for.
func (s usageBudgets) Standings(ctx context.Context, month usage.Day, of ...tenant.ID) ([]usage.Standing, error) {
	keys := make([]core.KeyRow, len(of))
	for i, id := range of {
		keys[i] = core.KeyRow{Tenant: string(id)}
	}
	table, parameter, err := s.store.dialect.Keys(keys)
	if err != nil {
		return nil, err
	}
	const started = `SELECT CAST(coalesce(sum(u.runs_started - u.runs_children), 0) AS bigint) FROM `
	const ofMonth = ` u WHERE u.tenant_id = b.id AND u.day >= $2 AND NOT u.removed`
	all := make([]usage.Standing, 0, len(of))
	err = s.EachRow(ctx, "read what is used of budgets", func(rows *sql.Rows) error {
		var budgets, used budgetsRow
		one := usage.Standing{Month: month}
		if err := rows.Scan(append(append([]any{&one.Tenant}, budgets.targets()...), used.targets()...)...); err != nil {
			return err
		}
		one.Budgets, one.Used = budgets.budgets().Or(s.store.BytesKept), used.budgets()
		all = append(all, one)
		return nil
	}, `SELECT b.id, `+budgetColumns+`,
		CASE WHEN b.budget_runs > 0 THEN (`+started+`usage_days`+ofMonth+`) + (`+started+`usage_deltas`+ofMonth+`) ELSE 0 END,
		CASE WHEN b.budget_live > 0 THEN (SELECT count(*) FROM live_runs l WHERE l.tenant_id = b.id) ELSE 0 END,
		CASE WHEN b.budget_bytes > 0 OR CAST($3 AS bigint) > 0 THEN (SELECT CAST(coalesce(sum(k.bytes), 0) AS bigint) FROM tenant_storage k WHERE k.tenant_id = b.id) ELSE 0 END
		FROM `+table+` JOIN tenants b ON b.id = r.tenant_id ORDER BY b.id`, parameter, string(month), s.store.BytesKept)
	return all, err
}

// Announce adds rows, each once.
func (s usageBudgets) Announce(ctx context.Context, all ...usage.Threshold) (first []usage.Threshold, err error) {
	if len(all) == 0 {
		return nil, nil
	}
	rows := make([]map[string]any, len(all))
	for i, t := range all {
		rows[i] = map[string]any{"tenant_id": string(t.Tenant), "month": string(t.Month), "budget": string(t.Budget), "amount": t.Limit, "percent": t.Percent}
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return nil, s.Fail(fmt.Errorf("encode thresholds: %w", err))
	}
	type key struct {
		tenant  tenant.ID
		month   usage.Day
		budget  tenant.BudgetName
		limit   int64
		percent int
	}
	added := make(map[key]bool)
	table := s.store.dialect.Rows(1, core.Column{Name: "tenant_id"}, core.Column{Name: "month"}, core.Column{Name: "budget"}, core.Column{Name: "amount"}, core.Column{Name: "percent"})
	err = s.EachRow(ctx, "note thresholds", func(rows *sql.Rows) error {
		var k key
		if err := rows.Scan(&k.tenant, &k.month, &k.budget, &k.limit, &k.percent); err != nil {
			return err
		}
		added[k] = true
		return nil
	}, `INSERT INTO usage_thresholds (tenant_id, month, budget, amount, percent)
		SELECT r.tenant_id, r.month, r.budget, CAST(r.amount AS bigint), CAST(r.percent AS integer) FROM `+table+` JOIN tenants t ON t.id = r.tenant_id
		WHERE true`+s.store.dialect.KeepRows+` ON CONFLICT DO NOTHING RETURNING tenant_id, month, budget, amount, percent`, string(text))
	if err != nil {
		return nil, s.Fail(err)
	}
	for _, t := range all {
		if added[key{t.Tenant, t.Month, t.Budget, t.Limit, t.Percent}] {
			first = append(first, t)
		}
	}
	return first, nil
}
