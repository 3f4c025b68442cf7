package firing_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/usage"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// ways are those in which somebody starts a run of a trigger that listens for an event, or of its version.
func (d *env) ways(trg *trigger.Trigger, ver *workflow.Version) map[string]func(c run.Call) error {
	return map[string]func(c run.Call) error{
		"call": func(c run.Call) error {
			_, err := d.Firing.Call(d.Context(), d.Caller, domain.IdempotencyKey{}, trg.ID(), c)
			return err
		},
		"call with a key": func(c run.Call) error {
			_, err := d.Firing.Call(d.Context(), d.Caller, fixture.Keyed(fmt.Sprint(rand.Int())), trg.ID(), c) //nolint:gosec // only different
			return err
		},
		"event": func(c run.Call) error {
			_, err := d.Firing.ByEvent(d.Context(), d.Caller, domain.IdempotencyKey{}, run.EventCall{Event: "paid", Call: c})
			return err
		},
		"ingest": func(c run.Call) error {
			_, err := d.Firing.Ingest(d.Context(), d.Caller, domain.IdempotencyKey{}, run.IngestCall{EventCall: run.EventCall{Event: "paid", Call: c}})
			return err
		},
		"by hand": func(c run.Call) error {
			_, err := d.Firing.Start(d.Context(), d.Caller, domain.IdempotencyKey{}, ver.Workflow(), run.ManualCall{Call: c, Version: ver.ID()})
			return err
		},
	}
}

// endOfYear is when the test of months begins, by the clock of the gateway. Runs begin by that of the database.
var endOfYear = time.Date(2031, 12, 31, 23, 0, 0, 0, time.UTC)

func TestBeyondABudgetOfRunsATenantStartsNoneInAnyWay(t *testing.T) {
	onEachStore(t, func(d *env) {
		trg := d.NewSimpleTrigger(paid)
		ver := d.VersionOf(trg)
		first := d.Call(trg, run.Call{DedupeKey: fixture.Text("first")})
		ways := d.ways(trg, ver)
		ways["version"] = func(c run.Call) error {
			_, err := d.Firing.StartVersion(d.Context(), d.Caller, domain.IdempotencyKey{}, ver.ID(), c)
			return err
		}
		ways["rerun"] = func(run.Call) error {
			_, err := d.Firing.Rerun(d.Context(), d.Caller, domain.IdempotencyKey{}, first.Run, run.RerunCall{})
			return err
		}
		refused := func(why string, after time.Duration) {
			t.Helper()
			before := d.total()
			for way, start := range ways {
				err := start(run.Call{})
				d.WantCode(err, domain.RateLimited, tenant.CodeBudgetExceeded)
				if e := new(domain.Error); errors.As(err, &e) && e.RetryAfter != after {
					d.Errorf("%s %s: try again after %v", way, why, e.RetryAfter)
				}
			}
			if n := d.total() - before; n != 0 {
				d.Errorf("%s %d runs were started", why, n)
			}
		}
		d.SetBudgets(tenant.Budgets{LiveRuns: 1})
		refused("with a live run", 10*time.Second)
		again, err := d.Firing.Call(d.Context(), d.Caller, domain.IdempotencyKey{}, trg.ID(), run.Call{DedupeKey: fixture.Text("first")})
		if d.Same(first, again); err != nil {
			d.Errorf("a repeat is refused: %v", err)
		}
		if r := d.Begin(first.Run); r.Status() != run.StatusCompleted {
			d.Errorf("a run that is under way is %s", r.Status())
		}
		d.Clock.Set(endOfYear)
		d.SetBudgets(tenant.Budgets{RunsPerMonth: 9})
		d.used("2031-12-01", 9)
		refused("in this month", time.Hour)
		d.Clock.Set(endOfYear.Add(time.Hour))
		for way, start := range ways {
			if err := start(run.Call{}); err != nil {
				d.Errorf("%s in the next month: %v", way, err)
			}
		}
		d.used("2032-01-01", 9)
		d.Clock.Set(endOfYear.Add(time.Hour + time.Minute)) // what was read before is old
		refused("in the next month", 31*24*time.Hour-time.Minute)
	})
}

// used has the tenant have started so many runs on a day.
func (d *env) used(day usage.Day, n int64) {
	d.Helper()
	d.Do(func(ctx context.Context, st outbound.Stores) error {
		return st.Usage.Log.Add(ctx, d.Owner, day, usage.Counts{Started: n})
	})
}

// startedIn is how many runs the tenant has started from a day on.
func (d *env) startedIn(month usage.Day) (n int64) {
	d.Helper()
	d.Do(func(ctx context.Context, st outbound.Stores) error {
		days, err := st.Usage.Log.Days(ctx, d.Owner, month, "9999-01-01")
		for _, day := range days {
			n += day.Counts.Started - day.Counts.Children
		}
		return err
	})
	return n
}

func TestAnEventStartsAllItsRunsOrNoneOfThem(t *testing.T) {
	onEachStore(t, func(d *env) {
		d.listeners(d.NewVersion(nil, nil), 3)
		d.SetBudgets(tenant.Budgets{RunsPerMonth: 5})
		for n, want := range []int{3, 3} {
			_, err := d.byEvent(domain.IdempotencyKey{}, `"x"`, nil)
			if n == 1 {
				d.WantCode(err, domain.RateLimited, tenant.CodeBudgetExceeded)
			}
			if got := d.total(); got != want {
				d.Errorf("there are %d runs", got)
			}
		}
	})
}

// countingStandings counts how often what is used is read.
type countingStandings struct {
	outbound.UnitOfWork
	reads *atomic.Int64
}

func (s countingStandings) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	return s.UnitOfWork.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		st.Usage.Budgets = countedBudgets{st.Usage.Budgets, s.reads}
		return fn(ctx, st)
	})
}

type countedBudgets struct {
	outbound.UsageBudgets
	reads *atomic.Int64
}

func (b countedBudgets) Standings(ctx context.Context, month usage.Day, of ...tenant.ID) ([]usage.Standing, error) {
	b.reads.Add(1)
	return b.UsageBudgets.Standings(ctx, month, of...)
}

func TestTwoGatewaysShareABudgetWithoutAskingForEachRun(t *testing.T) {
	onEachStore(t, func(d *env) {
		const budget, callers = 1000, 4 // of each gateway
		trg := d.NewSimpleTrigger("{}")
		d.SetBudgets(tenant.Budgets{RunsPerMonth: budget})
		var reads atomic.Int64
		var working sync.WaitGroup
		for range 2 {
			gateway := d.NewFiring(countingStandings{d.Raw, &reads})
			for range callers {
				working.Go(func() {
					for {
						_, err := gateway.Call(d.Context(), d.Caller, domain.IdempotencyKey{}, trg.ID(), run.Call{})
						if err != nil {
							d.WantCode(err, domain.RateLimited, tenant.CodeBudgetExceeded)
							return
						}
					}
				})
			}
		}
		working.Wait()
		const part = budget / 8 // of a gateway that stands still while the other one uses the rest
		if n := d.startedIn("1970-01-01"); n < budget || n >= budget+part+2*callers {
			d.Errorf("%d runs were started", n)
		}
		if n := reads.Load(); n > budget/4 {
			d.Errorf("what is used was read %d times", n)
		}
	})
}

func TestARefusalForLiveRunsIsRememberedForAWhile(t *testing.T) {
	onEachStore(t, func(d *env) {
		trg := d.NewSimpleTrigger("{}")
		d.SetBudgets(tenant.Budgets{LiveRuns: 1})
		var reads atomic.Int64
		gateway := d.NewFiring(countingStandings{d.Raw, &reads})
		call := func() (run.Fired, error) {
			return gateway.Call(d.Context(), d.Caller, domain.IdempotencyKey{}, trg.ID(), run.Call{})
		}
		first, err := call()
		if err != nil {
			d.Fatal(err)
		}
		before := reads.Load()
		for range 5 {
			_, err := call()
			d.WantCode(err, domain.RateLimited, tenant.CodeBudgetExceeded)
		}
		if n := reads.Load() - before; n != 1 {
			d.Errorf("what is used was read %d times", n)
		}
		d.Begin(first.Run)
		d.Clock.Set(d.Clock.Now().Add(time.Second))
		if _, err := call(); err != nil {
			d.Errorf("the next second: %v", err)
		}
	})
}

func TestWhatStartsNothingIsNotBeyondABudget(t *testing.T) {
	onEachStore(t, func(d *env) {
		trg := d.NewSimpleTrigger(`{"filter":"payload.fits"}`)
		d.SetBudgets(tenant.Budgets{RunsPerMonth: 1})
		d.used(usage.DayOf(d.Clock.Now()), 1)
		for _, key := range []domain.IdempotencyKey{{}, fixture.Keyed("k")} {
			fired, err := d.Firing.Call(d.Context(), d.Caller, key, trg.ID(), run.Call{EventData: []byte(`{"fits":false}`)})
			if err != nil || fired.Skipped != run.SkipFiltered {
				d.Errorf("what is filtered: %+v, %v", fired, err)
			}
			_, err = d.Firing.Call(d.Context(), d.Caller, domain.IdempotencyKey{}, trg.ID(), run.Call{EventData: []byte(`{"fits":true}`)})
			d.WantCode(err, domain.RateLimited, tenant.CodeBudgetExceeded)
		}
	})
}

// As where services count requests: what is refused, for whatever a client cannot see beforehand, was one.
func TestWhatABudgetRefusesCountsAgainstTheRateLimit(t *testing.T) {
	onEachStore(t, func(d *env) {
		trg := d.NewSimpleTrigger(`{"webhookConfig":{"event":"paid"},"rateLimit":{"maxRequests":3,"windowMs":60000}}`)
		d.Call(trg, run.Call{})
		d.SetBudgets(tenant.Budgets{LiveRuns: 1})
		ways := d.ways(trg, d.VersionOf(trg))
		for _, way := range []string{"call", "call with a key"} {
			d.WantCode(ways[way](run.Call{}), domain.RateLimited, tenant.CodeBudgetExceeded)
		}
		d.SetBudgets(tenant.Budgets{})
		d.Clock.Set(d.Clock.Now().Add(2 * time.Second)) // what was read before is old
		d.WantCode(ways["call"](run.Call{}), domain.RateLimited, "trigger_rate_limit_exceeded")
	})
}
