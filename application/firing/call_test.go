package firing_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

func TestACallStartsARunAndTellsOfIt(t *testing.T) {
	onEachStore(t, func(d *env) {
		trg := d.NewSimpleTrigger(`{"retryPolicy":{"maxRetries":1,"backoffMs":100,"maxBackoffMs":1000},"timeoutMs":5000}`)
		fired := d.Call(trg, run.Call{EventData: fixture.Body(`{"n": 1.50}`), Entity: fixture.Text("customer 7"), DedupeKey: fixture.Text("k")})
		d.Same(run.Fired{Trigger: trg.ID(), DedupeKey: "k", Run: fired.Run}, fired)
		d.Same([]run.ID{fired.Run}, d.RecordedSignals.Since())
		var ver *workflow.Version
		d.Do(func(ctx context.Context, st outbound.Stores) (err error) {
			ver, err = st.Versions.Get(ctx, tenant.All(d.Owner), trg.Version())
			return err
		})
		want := run.New(fired.Run, run.Start{
			Tenant: d.Owner, Workflow: ver.Workflow(), Version: ver.ID(), Trigger: trg, Entity: "customer 7", DedupeKey: "k",
			Cause: run.CauseWebhook, Payload: fixture.Body(`{"n": 1.50}`),
		}, d.Clock.Now())
		want.BeginOn(d.Raw.Runs.Begins)
		d.Same(want.State(), d.Get(fired.Run).State())
		if done := d.Begin(fired.Run); done.Status() != run.StatusCompleted {
			t.Errorf("it is %s", done.Status())
		}
	})
}

func TestWhatACallDoesNotNameIsFound(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	trg := d.NewSimpleTrigger(`{}`)
	for claim, c := range map[string]struct {
		call        run.Call
		idempotency domain.IdempotencyKey
		entity      string
		key         string
		payload     string
	}{
		"nothing is named":                    {run.Call{}, domain.IdempotencyKey{}, "ent_", "ddk_", `{}`},
		"the event data names the entity":     {run.Call{EventData: fixture.Body(`{"entityId":1.0}`)}, domain.IdempotencyKey{}, "1.0", "ddk_", `{"entityId":1.0}`},
		"the call names another entity":       {run.Call{EventData: fixture.Body(`{"entityId":"a"}`), Entity: fixture.Text("b")}, domain.IdempotencyKey{}, "b", "ddk_", `{"entityId":"a"}`},
		"the idempotency key is a dedupe key": {run.Call{EventData: fixture.Body(`null`)}, fixture.Keyed("i1"), "ent_", "i1", `null`},
		"the call names another dedupe key":   {run.Call{DedupeKey: fixture.Text("mine")}, fixture.Keyed("i2"), "ent_", "mine", `{}`},
	} {
		t.Run(claim, func(t *testing.T) {
			fired, err := d.Firing.Call(t.Context(), d.Caller, c.idempotency, trg.ID(), c.call)
			if err != nil {
				t.Fatal(err)
			}
			r := d.Get(fired.Run)
			if !strings.HasPrefix(r.Entity(), c.entity) || !strings.HasPrefix(r.DedupeKey(), c.key) || fired.DedupeKey != r.DedupeKey() || string(r.Payload()) != c.payload {
				t.Errorf("%s, %s, %s: %+v", r.Entity(), r.DedupeKey(), r.Payload(), fired)
			}
		})
	}
}

func TestATriggerThatCannotFireSaysWhy(t *testing.T) {
	onEachStore(t, func(d *env) {
		inactive := func(st *trigger.State) { st.Active = false }
		scheduled := func(st *trigger.State) { st.Type = trigger.Scheduled }
		ver, off, draft := d.NewVersion(nil, nil), d.NewVersion(nil, nil), d.NewVersion(nil, nil)
		d.Do(func(ctx context.Context, st outbound.Stores) error {
			wf, err := st.Workflows.Get(ctx, tenant.All(d.Owner), off.Workflow())
			if err != nil {
				return err
			}
			wf.Toggle(d.Clock.Now())
			return errors.Join(st.Workflows.Update(ctx, wf), st.Versions.Update(ctx, inactiveVersion(draft)))
		})
		for want, trg := range map[string]*trigger.Trigger{
			"trigger_not_webhook": d.NewTrigger(ver, `{}`, scheduled, inactive),
			"trigger_inactive":    d.NewTrigger(off, `{}`, inactive),
			"workflow_inactive":   d.NewTrigger(off, `{}`),
			"version_not_active":  d.NewTrigger(draft, `{"rateLimit":{"maxRequests":1,"windowMs":1000}}`),
		} {
			for range 2 { // which are more than the rate limit
				_, err := d.Firing.Call(d.Context(), d.Caller, fixture.Keyed("k"), trg.ID(), run.Call{})
				d.WantCode(err, domain.Conflict, want)
			}
		}
		if started := d.RunsOf(d.Owner); len(started) > 0 || len(d.RecordedSignals.Since()) > 0 {
			t.Errorf("%v were started", started)
		}
	})
}

func TestACallThatIsWrongChangesNothing(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	trg := d.NewSimpleTrigger(`{}`)
	_, err := d.Firing.Call(t.Context(), d.Caller, domain.IdempotencyKey{}, trg.ID(), run.Call{Entity: fixture.Text("")})
	d.WantCode(err, domain.Invalid, "call_invalid")
	_, err = d.Firing.Call(t.Context(), tenant.Caller{Scope: tenant.All(d.Owner), KeyType: tenant.Public}, domain.IdempotencyKey{}, trg.ID(), run.Call{})
	d.WantCode(err, domain.Forbidden, "key_type_not_allowed")
	_, err = d.Firing.Call(t.Context(), d.Caller, domain.IdempotencyKey{}, "trg_absent", run.Call{})
	d.WantCode(err, domain.NotFound, "trigger_not_found")
	_, foreign := d.Firing.Call(t.Context(), fixture.SecretCaller(d.NewTenant()), domain.IdempotencyKey{}, trg.ID(), run.Call{})
	if foreign == nil || foreign.Error() != err.Error() {
		t.Errorf("%v differs from %v", foreign, err)
	}
	if len(d.RunsOf(d.Owner)) > 0 {
		t.Error("something was started")
	}
}

func TestADedupeKeyStartsOneRunADay(t *testing.T) {
	onEachStore(t, func(d *env) {
		trg, other := d.NewSimpleTrigger(`{}`), d.NewSimpleTrigger(`{}`)
		first := d.Call(trg, run.Call{DedupeKey: fixture.Text("k"), EventData: fixture.Body(`1`)})
		d.RecordedSignals.Since()
		d.Clock.Set(d.Clock.Now().Add(outbound.DedupeRetention - time.Millisecond))
		d.Same(first, d.Call(trg, run.Call{DedupeKey: fixture.Text("k"), EventData: fixture.Body(`2`)}))
		if told := d.RecordedSignals.Since(); len(told) > 0 {
			t.Errorf("%v are told of", told)
		}
		if got := d.Call(other, run.Call{DedupeKey: fixture.Text("k")}); got.Run == first.Run {
			t.Error("a key counts for one trigger only")
		}
		d.Clock.Set(d.Clock.Now().Add(time.Millisecond))
		if got := d.Call(trg, run.Call{DedupeKey: fixture.Text("k")}); got.Run == first.Run {
			t.Error("a key counts for a day only")
		}
	})
}

func TestFiftyCallsWithOneDedupeKeyStartOneRun(t *testing.T) {
	onEachStore(t, func(d *env) {
		trg := d.NewSimpleTrigger(`{}`)
		var mu sync.Mutex
		runs := make(map[run.ID]int)
		var done sync.WaitGroup
		for range 50 {
			done.Go(func() {
				fired, err := d.Firing.Call(d.Context(), d.Caller, domain.IdempotencyKey{}, trg.ID(), run.Call{DedupeKey: fixture.Text("k")})
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				}
				runs[fired.Run]++
			})
		}
		done.Wait()
		if len(runs) != 1 || len(d.RunsOf(d.Owner)) != 1 || len(d.RecordedSignals.Since()) != 1 {
			t.Errorf("%v were answered, %d are there", runs, len(d.RunsOf(d.Owner)))
		}
	})
}

func TestACallWithAnIdempotencyKeyHasItsEffectOnce(t *testing.T) {
	onEachStore(t, func(d *env) {
		trg := d.NewSimpleTrigger(`{}`)
		fired, err := d.Firing.Call(d.Context(), d.Caller, fixture.Keyed("k"), trg.ID(), run.Call{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = d.Firing.Call(d.Context(), d.Caller, fixture.Keyed("k"), trg.ID(), run.Call{})
		if got, want := fixture.Replayed(err), fmt.Sprint(fired); got != want {
			t.Errorf("the repeat gets %s, not %s", got, want)
		}
		other := fixture.Keyed("k")
		other.Fingerprint = "another body"
		_, err = d.Firing.Call(d.Context(), d.Caller, other, trg.ID(), run.Call{})
		d.WantCode(err, domain.Invalid, "idempotency_key_reused")
		if n := len(d.RunsOf(d.Owner)); n != 1 {
			t.Errorf("%d runs were started", n)
		}
	})
}

// crashing is a repository of outcomes that fails when it is to keep one, as the process
// that dies there would.
type crashing struct{ outbound.IdempotencyRepository }

var errCrash = errors.New("the process dies here")

func (crashing) Record(context.Context, tenant.ID, domain.IdempotencyKey, any, time.Time) error {
	return errCrash
}

func TestRunAndIdempotencyKeyAreThereTogetherOrNotAtAll(t *testing.T) {
	onEachStore(t, func(d *env) {
		trg := d.NewSimpleTrigger(`{}`)
		d.Store.WrapWrite = func(st outbound.Stores) outbound.Stores {
			st.Idempotency = crashing{st.Idempotency}
			return st
		}
		if _, err := d.Firing.Call(d.Context(), d.Caller, fixture.Keyed("k"), trg.ID(), run.Call{}); !errors.Is(err, errCrash) {
			t.Fatal(err)
		}
		if n := len(d.RunsOf(d.Owner)); n != 0 || len(d.RecordedSignals.Since()) > 0 {
			t.Errorf("%d runs are there, without their key", n)
		}
		d.Store.WrapWrite = nil
		if _, err := d.Firing.Call(d.Context(), d.Caller, fixture.Keyed("k"), trg.ID(), run.Call{}); err != nil {
			t.Error(err)
		}
		if n := len(d.RunsOf(d.Owner)); n != 1 {
			t.Errorf("%d runs are there", n)
		}
	})
}

func TestATriggerStartsNoMoreRunsThanItsRateLimit(t *testing.T) {
	onEachStore(t, func(d *env) {
		trg, free := d.NewSimpleTrigger(`{"rateLimit":{"maxRequests":2,"windowMs":60000}}`), d.NewSimpleTrigger(`{"rateLimit":{"maxRequests":2,"windowMs":60000}}`)
		first := d.Call(trg, run.Call{DedupeKey: fixture.Text("a")})
		for range 3 { // repeats do not count
			d.Same(first, d.Call(trg, run.Call{DedupeKey: fixture.Text("a")}))
		}
		if _, err := d.Firing.Call(d.Context(), d.Caller, fixture.Keyed("i"), trg.ID(), run.Call{}); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			_, err := d.Firing.Call(d.Context(), d.Caller, fixture.Keyed("i"), trg.ID(), run.Call{})
			if !strings.HasPrefix(fixture.Replayed(err), "{trg_") {
				t.Error(err)
			}
		}
		d.Clock.Set(d.Clock.Now().Add(10 * time.Second))
		for _, c := range []run.Call{{}, {DedupeKey: fixture.Text("b")}} {
			_, err := d.Firing.Call(d.Context(), d.Caller, fixture.Keyed("refused"), trg.ID(), c)
			d.WantCode(err, domain.RateLimited, "trigger_rate_limit_exceeded")
			var e *domain.Error
			if errors.As(err, &e) && (e.RetryAfter != 50*time.Second || !strings.Contains(e.Message, "2 in 1m0s. Try again in 50 seconds")) {
				t.Errorf("%s, %s", e.RetryAfter, e.Message)
			}
		}
		d.Same(first, d.Call(trg, run.Call{DedupeKey: fixture.Text("a")}))
		d.Call(free, run.Call{})
		d.Clock.Set(d.Clock.Now().Add(50 * time.Second))
		if _, err := d.Firing.Call(d.Context(), d.Caller, fixture.Keyed("refused"), trg.ID(), run.Call{}); err != nil {
			t.Errorf("nothing is kept of a refusal: %v", err)
		}
		if n := len(d.RunsOf(d.Owner)); n != 4 {
			t.Errorf("%d runs were started", n)
		}
	})
}

func TestARateLimitHoldsAgainstManyCallsAtOnce(t *testing.T) {
	onEachStore(t, func(d *env) {
		trg := d.NewSimpleTrigger(`{"rateLimit":{"maxRequests":5,"windowMs":60000}}`)
		var done sync.WaitGroup
		for range 20 {
			done.Go(func() {
				if _, err := d.Firing.Call(d.Context(), d.Caller, domain.IdempotencyKey{}, trg.ID(), run.Call{}); err != nil && fixture.Code(err) != "trigger_rate_limit_exceeded" {
					t.Error(err)
				}
			})
		}
		done.Wait()
		if n := len(d.RunsOf(d.Owner)); n != 5 {
			t.Errorf("%d runs were started", n)
		}
	})
}

// colliding is a repository of outcomes in which units that write collide with another
// one, a few times.
type colliding struct {
	outbound.IdempotencyRepository
	left *int
}

func (c colliding) Record(ctx context.Context, owner tenant.ID, idempotency domain.IdempotencyKey, outcome any, now time.Time) error {
	if *c.left--; *c.left >= 0 {
		return &core.Collision{Cause: errCrash}
	}
	return c.IdempotencyRepository.Record(ctx, owner, idempotency, outcome, now)
}

func TestAUnitThatRunsAgainStartsAndTellsOfOneRun(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	trg := d.NewTrigger(d.NewVersion(nil, nil), `{"rateLimit":{"maxRequests":1,"windowMs":60000}}`)
	left := 3
	d.Store.WrapWrite = func(st outbound.Stores) outbound.Stores {
		st.Idempotency = colliding{st.Idempotency, &left}
		return st
	}
	fired, err := d.Firing.Call(t.Context(), d.Caller, fixture.Keyed("k"), trg.ID(), run.Call{})
	if err != nil || left >= 0 {
		t.Fatal(err, left)
	}
	d.Same([]run.ID{fired.Run}, d.RecordedSignals.Since())
	if all := d.RunsOf(d.Owner); len(all) != 1 || all[0].ID != fired.Run {
		t.Errorf("%v are there", all)
	}
}
