package runs_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

func TestACallStartsARunAndTellsOfIt(t *testing.T) {
	atDesk(t, func(d *desk) {
		trg := d.simple(`{"retryPolicy":{"maxRetries":1,"backoffMs":100,"maxBackoffMs":1000},"timeoutMs":5000}`)
		fired := d.call(trg, run.Call{EventData: body(`{"n": 1.50}`), Entity: text("customer 7"), DedupeKey: text("k")})
		d.same(run.Fired{Trigger: trg.ID(), DedupeKey: "k", Run: fired.Run}, fired)
		d.same([]run.ID{fired.Run}, d.told.since())
		var ver *workflow.Version
		d.do(func(ctx context.Context, st outbound.Stores) (err error) {
			ver, err = st.Versions.Get(ctx, d.owner, trg.Version())
			return err
		})
		d.same(run.New(fired.Run, run.Start{
			Tenant: d.owner, Workflow: ver.Workflow(), Version: ver.ID(), Trigger: trg, Entity: "customer 7", DedupeKey: "k",
			Cause: run.CauseWebhook, Payload: body(`{"n": 1.50}`),
		}, d.clock.Now()).State(), d.get(fired.Run).State())
		if done := d.begin(fired.Run); done.Status() != run.StatusCompleted {
			t.Errorf("it is %s", done.Status())
		}
	})
}

func TestWhatACallDoesNotNameIsFound(t *testing.T) {
	d := newDesk(t, openSQLite(t))
	trg := d.simple(`{}`)
	for claim, c := range map[string]struct {
		call    run.Call
		once    domain.Once
		entity  string
		key     string
		payload string
	}{
		"nothing is named":                    {run.Call{}, domain.Once{}, "ent_", "ddk_", `{}`},
		"the event data names the entity":     {run.Call{EventData: body(`{"entityId":1.0}`)}, domain.Once{}, "1.0", "ddk_", `{"entityId":1.0}`},
		"the call names another entity":       {run.Call{EventData: body(`{"entityId":"a"}`), Entity: text("b")}, domain.Once{}, "b", "ddk_", `{"entityId":"a"}`},
		"the idempotency key is a dedupe key": {run.Call{EventData: body(`null`)}, keyed("i1"), "ent_", "i1", `null`},
		"the call names another dedupe key":   {run.Call{DedupeKey: text("mine")}, keyed("i2"), "ent_", "mine", `{}`},
	} {
		t.Run(claim, func(t *testing.T) {
			fired, err := d.firing.Call(t.Context(), d.who, c.once, trg.ID(), c.call)
			if err != nil {
				t.Fatal(err)
			}
			r := d.get(fired.Run)
			if !strings.HasPrefix(r.Entity(), c.entity) || !strings.HasPrefix(r.DedupeKey(), c.key) || fired.DedupeKey != r.DedupeKey() || string(r.Payload()) != c.payload {
				t.Errorf("%s, %s, %s: %+v", r.Entity(), r.DedupeKey(), r.Payload(), fired)
			}
		})
	}
}

func TestATriggerThatCannotFireSaysWhy(t *testing.T) {
	atDesk(t, func(d *desk) {
		inactive := func(st *trigger.State) { st.Active = false }
		scheduled := func(st *trigger.State) { st.Type = trigger.Scheduled }
		ver, off, draft := d.version(nil, nil), d.version(nil, nil), d.version(nil, nil)
		d.do(func(ctx context.Context, st outbound.Stores) error {
			wf, err := st.Workflows.Get(ctx, d.owner, off.Workflow())
			if err != nil {
				return err
			}
			wf.Toggle(d.clock.Now())
			draft.Deactivate()
			return errors.Join(st.Workflows.Update(ctx, wf), st.Versions.Update(ctx, draft))
		})
		for want, trg := range map[string]*trigger.Trigger{
			"trigger_not_webhook": d.trigger(ver, `{}`, scheduled, inactive),
			"trigger_inactive":    d.trigger(off, `{}`, inactive),
			"workflow_inactive":   d.trigger(off, `{}`),
			"version_not_active":  d.trigger(draft, `{"rateLimit":{"maxRequests":1,"windowMs":1000}}`),
		} {
			for range 2 { // which are more than the rate limit
				_, err := d.firing.Call(d.Context(), d.who, keyed("k"), trg.ID(), run.Call{})
				d.wantCode(err, domain.Conflict, want)
			}
		}
		if started := d.of(d.owner); len(started) > 0 || len(d.told.since()) > 0 {
			t.Errorf("%v were started", started)
		}
	})
}

func TestACallThatIsWrongChangesNothing(t *testing.T) {
	d := newDesk(t, openSQLite(t))
	trg := d.simple(`{}`)
	_, err := d.firing.Call(t.Context(), d.who, domain.Once{}, trg.ID(), run.Call{Entity: text("")})
	d.wantCode(err, domain.Invalid, "call_invalid")
	_, err = d.firing.Call(t.Context(), tenant.Caller{Tenant: d.owner, KeyType: tenant.Public}, domain.Once{}, trg.ID(), run.Call{})
	d.wantCode(err, domain.Forbidden, "key_type_not_allowed")
	_, err = d.firing.Call(t.Context(), d.who, domain.Once{}, "trg_absent", run.Call{})
	d.wantCode(err, domain.NotFound, "trigger_not_found")
	_, foreign := d.firing.Call(t.Context(), secret(d.tenant()), domain.Once{}, trg.ID(), run.Call{})
	if foreign == nil || foreign.Error() != err.Error() {
		t.Errorf("%v differs from %v", foreign, err)
	}
	if len(d.of(d.owner)) > 0 {
		t.Error("something was started")
	}
}

func TestADedupeKeyStartsOneRunADay(t *testing.T) {
	atDesk(t, func(d *desk) {
		trg, other := d.simple(`{}`), d.simple(`{}`)
		first := d.call(trg, run.Call{DedupeKey: text("k"), EventData: body(`1`)})
		d.told.since()
		d.clock.Set(d.clock.Now().Add(outbound.DedupeRetention - time.Millisecond))
		d.same(first, d.call(trg, run.Call{DedupeKey: text("k"), EventData: body(`2`)}))
		if told := d.told.since(); len(told) > 0 {
			t.Errorf("%v are told of", told)
		}
		if got := d.call(other, run.Call{DedupeKey: text("k")}); got.Run == first.Run {
			t.Error("a key counts for one trigger only")
		}
		d.clock.Set(d.clock.Now().Add(time.Millisecond))
		if got := d.call(trg, run.Call{DedupeKey: text("k")}); got.Run == first.Run {
			t.Error("a key counts for a day only")
		}
	})
}

func TestFiftyCallsWithOneDedupeKeyStartOneRun(t *testing.T) {
	atDesk(t, func(d *desk) {
		trg := d.simple(`{}`)
		var mu sync.Mutex
		runs := make(map[run.ID]int)
		var done sync.WaitGroup
		for range 50 {
			done.Go(func() {
				fired, err := d.firing.Call(d.Context(), d.who, domain.Once{}, trg.ID(), run.Call{DedupeKey: text("k")})
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				}
				runs[fired.Run]++
			})
		}
		done.Wait()
		if len(runs) != 1 || len(d.of(d.owner)) != 1 || len(d.told.since()) != 1 {
			t.Errorf("%v were answered, %d are there", runs, len(d.of(d.owner)))
		}
	})
}

func TestACallWithAnIdempotencyKeyHasItsEffectOnce(t *testing.T) {
	atDesk(t, func(d *desk) {
		trg := d.simple(`{}`)
		fired, err := d.firing.Call(d.Context(), d.who, keyed("k"), trg.ID(), run.Call{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = d.firing.Call(d.Context(), d.who, keyed("k"), trg.ID(), run.Call{})
		if got, want := replayed(err), "{"+string(trg.ID())+" k "+string(fired.Run)+"}"; got != want {
			t.Errorf("the repeat gets %s, not %s", got, want)
		}
		other := keyed("k")
		other.Fingerprint = "another body"
		_, err = d.firing.Call(d.Context(), d.who, other, trg.ID(), run.Call{})
		d.wantCode(err, domain.Invalid, "idempotency_key_reused")
		if n := len(d.of(d.owner)); n != 1 {
			t.Errorf("%d runs were started", n)
		}
	})
}

// crashing is a repository of outcomes that fails when it is to keep one, as the process
// that dies there would.
type crashing struct{ outbound.OutcomeRepository }

var errCrash = errors.New("the process dies here")

func (crashing) Keep(context.Context, tenant.ID, domain.Once, any, time.Time) error { return errCrash }

func TestRunAndIdempotencyKeyAreThereTogetherOrNotAtAll(t *testing.T) {
	atDesk(t, func(d *desk) {
		trg := d.simple(`{}`)
		d.store.wrap = func(st outbound.Stores) outbound.Stores {
			st.Outcomes = crashing{st.Outcomes}
			return st
		}
		if _, err := d.firing.Call(d.Context(), d.who, keyed("k"), trg.ID(), run.Call{}); !errors.Is(err, errCrash) {
			t.Fatal(err)
		}
		if n := len(d.of(d.owner)); n != 0 || len(d.told.since()) > 0 {
			t.Errorf("%d runs are there, without their key", n)
		}
		d.store.wrap = nil
		if _, err := d.firing.Call(d.Context(), d.who, keyed("k"), trg.ID(), run.Call{}); err != nil {
			t.Error(err)
		}
		if n := len(d.of(d.owner)); n != 1 {
			t.Errorf("%d runs are there", n)
		}
	})
}

func TestATriggerStartsNoMoreRunsThanItsRateLimit(t *testing.T) {
	atDesk(t, func(d *desk) {
		trg, free := d.simple(`{"rateLimit":{"maxRequests":2,"windowMs":60000}}`), d.simple(`{"rateLimit":{"maxRequests":2,"windowMs":60000}}`)
		first := d.call(trg, run.Call{DedupeKey: text("a")})
		for range 3 { // repeats do not count
			d.same(first, d.call(trg, run.Call{DedupeKey: text("a")}))
		}
		if _, err := d.firing.Call(d.Context(), d.who, keyed("i"), trg.ID(), run.Call{}); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			_, err := d.firing.Call(d.Context(), d.who, keyed("i"), trg.ID(), run.Call{})
			if !strings.HasPrefix(replayed(err), "{trg_") {
				t.Error(err)
			}
		}
		d.clock.Set(d.clock.Now().Add(10 * time.Second))
		for _, c := range []run.Call{{}, {DedupeKey: text("b")}} {
			_, err := d.firing.Call(d.Context(), d.who, keyed("refused"), trg.ID(), c)
			d.wantCode(err, domain.RateLimited, "trigger_rate_limit_exceeded")
			var e *domain.Error
			if errors.As(err, &e) && (e.RetryAfter != 50*time.Second || !strings.Contains(e.Message, "2 in 1m0s. Try again in 50 seconds")) {
				t.Errorf("%s, %s", e.RetryAfter, e.Message)
			}
		}
		d.same(first, d.call(trg, run.Call{DedupeKey: text("a")}))
		d.call(free, run.Call{})
		d.clock.Set(d.clock.Now().Add(50 * time.Second))
		if _, err := d.firing.Call(d.Context(), d.who, keyed("refused"), trg.ID(), run.Call{}); err != nil {
			t.Errorf("nothing is kept of a refusal: %v", err)
		}
		if n := len(d.of(d.owner)); n != 4 {
			t.Errorf("%d runs were started", n)
		}
	})
}

func TestARateLimitHoldsAgainstManyCallsAtOnce(t *testing.T) {
	atDesk(t, func(d *desk) {
		trg := d.simple(`{"rateLimit":{"maxRequests":5,"windowMs":60000}}`)
		var done sync.WaitGroup
		for range 20 {
			done.Go(func() {
				if _, err := d.firing.Call(d.Context(), d.who, domain.Once{}, trg.ID(), run.Call{}); err != nil && code(err) != "trigger_rate_limit_exceeded" {
					t.Error(err)
				}
			})
		}
		done.Wait()
		if n := len(d.of(d.owner)); n != 5 {
			t.Errorf("%d runs were started", n)
		}
	})
}

// colliding is a repository of outcomes in which units that write collide with another
// one, a few times.
type colliding struct {
	outbound.OutcomeRepository
	left *int
}

func (c colliding) Keep(ctx context.Context, owner tenant.ID, once domain.Once, outcome any, now time.Time) error {
	if *c.left--; *c.left >= 0 {
		return &sqlstore.Collision{Cause: errCrash}
	}
	return c.OutcomeRepository.Keep(ctx, owner, once, outcome, now)
}

func TestAUnitThatRunsAgainStartsAndTellsOfOneRun(t *testing.T) {
	d := newDesk(t, openSQLite(t))
	trg := d.trigger(d.version(nil, nil), `{"rateLimit":{"maxRequests":1,"windowMs":60000}}`)
	left := 3
	d.store.wrap = func(st outbound.Stores) outbound.Stores {
		st.Outcomes = colliding{st.Outcomes, &left}
		return st
	}
	fired, err := d.firing.Call(t.Context(), d.who, keyed("k"), trg.ID(), run.Call{})
	if err != nil || left >= 0 {
		t.Fatal(err, left)
	}
	d.same([]run.ID{fired.Run}, d.told.since())
	if all := d.of(d.owner); len(all) != 1 || all[0].ID != fired.Run {
		t.Errorf("%v are there", all)
	}
}
