package tenant

import (
	"cmp"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/domain"
)

// Budgets are how much of the gateway a tenant may use, as the operator sets it; 0 is no budget. What is beyond one is
// refused, and runs that were started go on. The same type says how much is used.
type Budgets struct {
	RunsPerMonth int64 // that no other run started, in a month of UTC
	LiveRuns     int64 // that have not ended, those that others started among them
	BytesKept    int64 // of runs: their payloads, results and histories
}

// BudgetName is what the API calls a budget.
type BudgetName string

// The budgets.
const (
	RunsPerMonth BudgetName = "runsPerMonth"
	LiveRuns     BudgetName = "liveRuns"
	BytesKept    BudgetName = "bytesKept"
)

// BudgetNames lists every budget.
func BudgetNames() []BudgetName { return []BudgetName{RunsPerMonth, LiveRuns, BytesKept} }

// Field is where a budget stands.
func (b *Budgets) Field(name BudgetName) *int64 {
	switch name {
	case RunsPerMonth:
		return &b.RunsPerMonth
	case LiveRuns:
		return &b.LiveRuns
	case BytesKept:
	}
	return &b.BytesKept
}

// BudgetPatch changes a budget; the zero value leaves it as it is.
type BudgetPatch struct {
	Limit  *int64
	Remove bool
}

// maxBudget is what every reader of JSON can count to.
const maxBudget = 1 << 53

// revised changes budgets and reports each that is out of bounds.
func (b Budgets) revised(changes map[BudgetName]BudgetPatch, r *domain.Rules) Budgets {
	for _, name := range BudgetNames() {
		p, to, field := changes[name], b.Field(name), domain.Member("budgets", string(name))
		switch {
		case p.Remove:
			*to = 0
		case p.Limit != nil:
			r.Check(*p.Limit >= 1, field, domain.TooSmall, "must be at least 1, not %d", *p.Limit)
			r.Check(*p.Limit <= maxBudget, field, domain.TooLarge, "must be at most %d, not %d", int64(maxBudget), *p.Limit)
			*to = *p.Limit
		}
	}
	return b
}

// Or is b with the gateway's bytes for a tenant that has no budget of its own.
func (b Budgets) Or(bytesKept int64) Budgets {
	b.BytesKept = cmp.Or(b.BytesKept, bytesKept)
	return b
}

// LimitRuns says whether what may be started depends on what runs there were.
func (b Budgets) LimitRuns() bool { return b.RunsPerMonth > 0 || b.LiveRuns > 0 }

// CheckBytes returns why no more bytes are kept: a Conflict with the code storage_exceeded.
func (b Budgets) CheckBytes(kept, more int64) error {
	if b.BytesKept <= 0 || kept <= b.BytesKept-more {
		return nil
	}
	return domain.Fail(domain.Conflict, "storage_exceeded",
		"The runs of this tenant take %s, and at most %s are kept. Runs are removed some days after they have ended. "+
			"Ask the operator for more storage, or to keep runs for fewer days.", bytesText(kept), bytesText(b.BytesKept))
}

// liveRetry is after how long to try again when too many runs are live: some will have ended.
const liveRetry = 10 * time.Second

// RunsBeyond says beyond which budget more runs would be; empty for none.
func (b Budgets) RunsBeyond(used Budgets, more int64) BudgetName {
	switch {
	case b.RunsPerMonth > 0 && used.RunsPerMonth > b.RunsPerMonth-more:
		return RunsPerMonth
	case b.LiveRuns > 0 && used.LiveRuns > b.LiveRuns-more:
		return LiveRuns
	}
	return ""
}

// CheckRuns returns why no more runs are started next to those of this month and those that are live: RateLimited with the
// code budget_exceeded.
func (b Budgets) CheckRuns(used Budgets, more int64, untilNextMonth time.Duration) error {
	var e *domain.Error
	switch b.RunsBeyond(used, more) {
	case RunsPerMonth:
		e = domain.Fail(domain.RateLimited, CodeBudgetExceeded,
			"The tenant has started %d of the %d runs that it may start this month. Ask the operator for more, or try again next month.", used.RunsPerMonth, b.RunsPerMonth)
		e.RetryAfter = untilNextMonth
	case LiveRuns:
		e = domain.Fail(domain.RateLimited, CodeBudgetExceeded,
			"%d runs of the tenant have not ended, and at most %d may be live. Try again when some have ended, or ask the operator for more.", used.LiveRuns, b.LiveRuns)
		e.RetryAfter = liveRetry
	default:
		return nil
	}
	return e
}

// CodeBudgetExceeded is the code of what [Budgets.CheckRuns] refuses.
const CodeBudgetExceeded = "budget_exceeded"

// Thresholds are at how much of a budget, in percent, a tenant is told.
func Thresholds() []int { return []int{80, 100} }

// Reached says which of the thresholds what is used has reached; none where there is no budget. Where something was refused nothing more
// fits, which is 100 percent.
func (b Budgets) Reached(name BudgetName, used Budgets, refused bool) (reached []int) {
	limit := *b.Field(name)
	for _, percent := range Thresholds() {
		if limit > 0 && (float64(*used.Field(name))*100 >= float64(limit)*float64(percent) || refused && percent == 100) {
			reached = append(reached, percent)
		}
	}
	return reached
}

// bytesText writes a size for people, rounded down.
func bytesText(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d bytes", n)
	}
	value, suffix := n, 0
	for value >= unit*unit {
		value, suffix = value/unit, suffix+1
	}
	return fmt.Sprintf("%d.%d %ciB", value/unit, value%unit*10/unit, "KMGTPE"[suffix])
}
