package hooks_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluicehq/sluice/application/fixture"
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

// refuse repeats a delivery that is beyond a budget.
func (e *env) refuse(body string, times int) {
	e.Helper()
	for range times {
		_, err := e.deliver(e.hooks, body)
		e.WantCode(err, domain.RateLimited, tenant.CodeBudgetExceeded)
		e.Clock.Set(e.Clock.Now().Add(2 * time.Second))
	}
}

// verdicts counts what became of the deliveries.
func (e *env) verdicts() map[hook.Verdict]int {
	e.Helper()
	n := make(map[hook.Verdict]int)
	for _, d := range e.received() {
		n[d.Verdict]++
	}
	return n
}

func TestADeliveryThatWasAcceptedIsADuplicateBeyondABudget(t *testing.T) {
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
				e.SetBudgets(tenant.Budgets{RunsPerMonth: 1})
				for range 2 {
					if _, err := e.deliver(e.hooks, d.body); err != nil {
						e.Error(err)
					}
				}
				e.Same("map[accepted:1 duplicate:1]", fmt.Sprint(e.verdicts()))
			})
		})
	}
}

// Its sender repeats what is refused, and each repeat is kept.
func TestWhatWasRejectedAgainAndAgainStartsOnce(t *testing.T) {
	for name, d := range map[string]struct {
		draft hook.Draft
		body  string
		late  bool // a last attempt is accepted before the others are replayed
	}{
		"one":            {hook.Draft{Config: hook.Config{Dedupe: text("payload.body.id")}}, `{"id":"a"}`, false},
		"one, late":      {hook.Draft{Config: hook.Config{Dedupe: text("payload.body.id")}}, `{"id":"a"}`, true},
		"items":          {hook.Draft{Config: hook.Config{Split: text("payload.body"), Dedupe: text("payload.body.id")}}, `[{"id":"a"}]`, false},
		"items, late":    {hook.Draft{Config: hook.Config{Split: text("payload.body"), Dedupe: text("payload.body.id")}}, `[{"id":"a"}]`, true},
		"an event":       {hook.Draft{Config: hook.Config{Ingest: true, Event: text("'paid'"), Dedupe: text("payload.body.id")}}, `{"id":"a"}`, false},
		"an event, late": {hook.Draft{Config: hook.Config{Ingest: true, Event: text("'paid'"), Dedupe: text("payload.body.id")}}, `{"id":"a"}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			onEachStore(t, `{"webhookConfig":{"event":"paid"}}`, d.draft, func(e *env) {
				e.Call(e.trigger, run.Call{})
				e.SetBudgets(tenant.Budgets{RunsPerMonth: 1})
				begin := e.Clock.Now()
				e.refuse(d.body, 3)
				refused := e.received()
				_, err := e.hooks.Replay(e.Context(), e.Caller, domain.IdempotencyKey{}, e.trigger.ID(), refused[0].ID) // too early
				e.WantCode(err, domain.RateLimited, tenant.CodeBudgetExceeded)
				e.Clock.Set(e.Clock.Now().Add(2 * time.Second))
				e.SetBudgets(tenant.Budgets{})
				if d.late {
					if _, err := e.deliver(e.hooks, d.body); err != nil {
						e.Error(err)
					}
				}
				end := e.Clock.Now()
				j, err := e.hooks.ReplayAll(e.Context(), e.Caller, domain.IdempotencyKey{}, e.trigger.ID(), hook.ReceivedFilter{From: &begin, To: &end, Verdict: hook.Rejected}, nil)
				if err != nil || j.Matched() != 3 {
					e.Errorf("%d of 3 are replayed: %v", j.Matched(), err)
				}
				for _, r := range refused {
					if _, err := e.hooks.Replay(e.Context(), e.Caller, fixture.Keyed("replay "+string(r.ID)), e.trigger.ID(), r.ID); err != nil {
						e.Error(err)
					}
				}
				if n := len(e.RunsOf(e.Owner)); n != 2 {
					e.Errorf("%d runs were started of one delivery", n-1)
				}
			})
		})
	}
}

func TestItemsThatWereStartedBeforeABudgetWasSpentStartOnce(t *testing.T) {
	onEachStore(t, `{}`, hook.Draft{Config: hook.Config{Split: text("payload.body"), Entity: text("payload.body.id")}}, func(e *env) {
		const n = 40
		e.SetBudgets(tenant.Budgets{RunsPerMonth: 5})
		e.refuse(numbered(n), 3)
		e.Same("map[accepted:3]", fmt.Sprint(e.verdicts()))
		e.SetBudgets(tenant.Budgets{})
		if _, err := e.deliver(e.hooks, numbered(n)); err != nil {
			e.Error(err)
		}
		e.hasRuns(n, 1)
	})
}

// As with calls: a delivery that a budget refuses was one.
func TestADeliveryBeyondABudgetCountsAgainstTheRateLimit(t *testing.T) {
	for name, draft := range map[string]hook.Draft{
		"with a key": {Config: hook.Config{Dedupe: text("payload.body.id")}}, "without one": {},
	} {
		t.Run(name, func(t *testing.T) {
			onEachStore(t, `{"rateLimit":{"maxRequests":2,"windowMs":600000}}`, draft, func(e *env) {
				e.Call(e.trigger, run.Call{})
				e.SetBudgets(tenant.Budgets{RunsPerMonth: 1})
				e.refuse(`{"id":"a"}`, 2)
				e.SetBudgets(tenant.Budgets{})
				e.Clock.Set(e.Clock.Now().Add(2 * time.Second)) // what was read before is old
				_, err := e.deliver(e.hooks, `{"id":"b"}`)
				e.WantCode(err, domain.RateLimited, "trigger_rate_limit_exceeded")
			})
		})
	}
}
