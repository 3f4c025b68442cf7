package schedules_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// budgets has the operator set those of the tenant.
func (w *env) budgets(b tenant.Budgets) {
	w.Helper()
	w.do(func(ctx context.Context, st outbound.Stores) error {
		return fixture.SetBudgets(ctx, st, w.tenant.ID(), b)
	})
}

// A schedule of a tenant that has no storage left goes on: each instant is in the ledger,
// with the reason, and once there is room again it starts runs.
func TestAnInstantWithoutStorageIsInTheLedgerWithTheReason(t *testing.T) {
	onEachStore(t, func(w *env) {
		trg := w.schedule(1, `{"intervalMs":60000}`)[0]
		w.budgets(tenant.Budgets{BytesKept: 1})
		w.fire(noon.Add(time.Minute))
		w.budgets(tenant.Budgets{})
		w.fire(noon.Add(2 * time.Minute))
		if got := w.ledger(trg); got != "01 12:01:00 suppressed, 01 12:02:00 fired" || len(w.stored(trg)) != 1 {
			w.Errorf("%s, %d runs", got, len(w.stored(trg)))
		}
		if reason := w.fires(trg)[0].Reason(); !strings.Contains(reason, "at most 1 bytes are kept") {
			w.Error(reason)
		}
	})
}

// What the filter leaves out starts no run, so that no budget is asked.
func TestAnInstantThatIsFilteredIsSoBeyondABudget(t *testing.T) {
	onEachStore(t, func(w *env) {
		filtered, plain := w.filtered(`false`), w.schedule(1, `{"cron":"* * * * *"}`)[0]
		for _, b := range []tenant.Budgets{{BytesKept: 1}, {LiveRuns: 1}, {RunsPerMonth: 1}} {
			w.budgets(b)
			w.fire(w.clock.Now().Add(time.Minute))
			fires := w.fires(filtered)
			if reason := fires[len(fires)-1].Reason(); reason != "filtered" {
				w.Errorf("beyond %+v: %s", b, reason)
			}
		}
		if n := len(w.stored(plain)); n != 1 { // else nothing is beyond a budget
			w.Errorf("%d runs were started", n)
		}
	})
}

// So it is beyond the runs of a month, and beyond those that may be live.
func TestAnInstantBeyondABudgetOfRunsIsInTheLedgerWithTheReason(t *testing.T) {
	onEachStore(t, func(w *env) {
		trg := w.schedule(1, `{"intervalMs":60000}`)[0]
		w.budgets(tenant.Budgets{RunsPerMonth: 1})
		for n := 1; n <= 3; n++ {
			w.fire(noon.Add(time.Duration(n) * time.Minute))
		}
		if got := w.ledger(trg); got != "01 12:01:00 fired, 01 12:02:00 suppressed, 01 12:03:00 suppressed" || len(w.stored(trg)) != 1 {
			w.Errorf("%s, %d runs", got, len(w.stored(trg)))
		}
		if reason := w.fires(trg)[1].Reason(); !strings.Contains(reason, "started 1 of the 1 runs that it may start this month") {
			w.Error(reason)
		}
		w.budgets(tenant.Budgets{LiveRuns: 1})
		w.fire(noon.Add(4 * time.Minute))
		if reason := w.fires(trg)[3].Reason(); !strings.Contains(reason, "at most 1 may be live") || len(w.stored(trg)) != 1 {
			w.Error(reason)
		}
	})
}
