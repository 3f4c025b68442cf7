package exchange

import (
	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// Budgets are how much a tenant may use, or how much of that it uses, as both APIs show it.
type Budgets map[tenant.BudgetName]int64

// BudgetsOf shows budgets. What there is none for is left out.
func BudgetsOf(b tenant.Budgets) Budgets { return amountsOf(b, b) }

// amountsOf shows those of all amounts for which there is a budget.
func amountsOf(budgets, amounts tenant.Budgets) Budgets {
	body := make(Budgets)
	for _, name := range tenant.BudgetNames() {
		if *budgets.Field(name) > 0 {
			body[name] = *amounts.Field(name)
		}
	}
	return body
}

// ReadBudgets reads the member budgets. Null takes a budget away.
func ReadBudgets(body jsonread.Object, r *domain.Rules) map[tenant.BudgetName]tenant.BudgetPatch {
	budgets, present := body.OptionalObject("budgets", r)
	if !present {
		return nil
	}
	changes := make(map[tenant.BudgetName]tenant.BudgetPatch)
	for _, name := range tenant.BudgetNames() {
		if budgets.IsNull(string(name)) {
			changes[name] = tenant.BudgetPatch{Remove: true}
		} else if n := budgets.OptionalInt(string(name), r); n != nil {
			changes[name] = tenant.BudgetPatch{Limit: new(int64(*n))}
		}
	}
	return changes
}
