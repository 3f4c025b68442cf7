package usage

import (
	"time"

	"github.com/sluicehq/sluice/domain/tenant"
)

// Standing is how much of its budgets a tenant has used.
type Standing struct {
	Tenant  tenant.ID
	Month   Day            // the first of the month that the runs are of
	Budgets tenant.Budgets // with those of the gateway where the tenant has none of its own
	Used    tenant.Budgets // 0 where there is no budget
}

// Threshold is how much of a budget a tenant is told to have used.
type Threshold struct {
	Tenant  tenant.ID
	Month   Day
	Budget  tenant.BudgetName
	Limit   int64
	Used    int64
	Percent int
}

// Thresholds are those that the tenant has reached: the last one, too, where what did not fit was refused. Where that were live runs, some
// may have ended since.
func (s Standing) Thresholds(refused Refusals) (reached []Threshold) {
	if refused[tenant.LiveRuns] {
		s.Used.LiveRuns = max(s.Used.LiveRuns, s.Budgets.LiveRuns)
	}
	for _, name := range tenant.BudgetNames() {
		for _, percent := range s.Budgets.Reached(name, s.Used, refused[name]) {
			reached = append(reached, Threshold{s.Tenant, s.Month, name, *s.Budgets.Field(name), *s.Used.Field(name), percent})
		}
	}
	return reached
}

// MonthOf is the first day of the month of an instant.
func MonthOf(at time.Time) Day { return DayOf(MonthStart(at)) }
