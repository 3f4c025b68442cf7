package hooks_test

import (
	"testing"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/hook"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
)

// What comes beyond a budget is refused so that its sender repeats it, and kept, so that it can be replayed where that does not.
func TestADeliveryBeyondABudgetIsRefusedAndCanBeReplayed(t *testing.T) {
	for name, d := range map[string]struct {
		draft hook.Draft
		body  string
	}{
		"one":   {hook.Draft{Config: hook.Config{Dedupe: text("payload.body.id")}}, `{"id":"a"}`},
		"items": {hook.Draft{Config: hook.Config{Split: text("payload.body"), Dedupe: text("payload.body.id")}}, `[{"id":"a"}]`},
		"event": {hook.Draft{Config: hook.Config{Ingest: true, Event: text("'paid'"), Dedupe: text("payload.body.id")}}, `{"id":"a"}`},
	} {
		t.Run(name, func(t *testing.T) {
			onEachStore(t, `{"webhookConfig":{"event":"paid"}}`, d.draft, func(e *env) {
				e.Call(e.trigger, run.Call{})
				e.SetBudgets(tenant.Budgets{RunsPerMonth: 1})
				_, err := e.deliver(e.hooks, d.body)
				e.WantCode(err, domain.RateLimited, tenant.CodeBudgetExceeded)
				all := e.received()
				last := all[len(all)-1]
				if last.Verdict != hook.Rejected || last.Code != tenant.CodeBudgetExceeded || len(last.Runs) != 0 || len(e.RunsOf(e.Owner)) != 1 {
					e.Errorf("it is %+v", last)
				}
				e.SetBudgets(tenant.Budgets{})
				made, err := e.hooks.Replay(e.Context(), e.Caller, domain.IdempotencyKey{}, e.trigger.ID(), last.ID)
				if err != nil || made.Verdict != hook.Accepted || len(e.RunsOf(e.Owner)) != 2 {
					e.Errorf("the replay is %+v, %v", made, err)
				}
			})
		})
	}
}
