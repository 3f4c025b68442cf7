package runs_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/outbound"
)

// What a dedupe key stands for depends on nothing but the trigger and the key: not on what
// has become of the trigger since.
func TestADedupeKeyAnswersWithTheFirstRunWhateverBecameOfItsTrigger(t *testing.T) {
	t.Parallel()
	atDesk(t, func(d *desk) {
		const limit = `{"webhookConfig":{"event":"%s"},"rateLimit":{"maxRequests":1,"windowMs":86400000}}`
		for refusal, change := range map[string]func(trg *trigger.Trigger) error{
			"trigger_inactive":            d.switchOff,
			"workflow_inactive":           d.deactivateWorkflow,
			"version_not_active":          d.retire,
			"trigger_rate_limit_exceeded": func(*trigger.Trigger) error { return nil },
		} {
			t.Run(refusal, func(t *testing.T) {
				trg, event := d.simple(fmt.Sprintf(limit, refusal)), run.EventCall{Event: refusal, Call: run.Call{DedupeKey: text("k")}}
				first := d.call(trg, run.Call{DedupeKey: text("k")})
				if err := change(trg); err != nil {
					t.Fatal(err)
				}
				before := len(d.of(d.owner))
				d.told.since()
				for range 2 {
					d.same(first, d.call(trg, run.Call{DedupeKey: text("k"), EventData: body(`2`)}))
					fired, err := d.firing.ByEvent(d.Context(), d.who, domain.Once{}, event)
					d.same([]run.Fired{first}, fired)
					in, ingestErr := d.firing.Ingest(d.Context(), d.who, domain.Once{}, run.IngestCall{EventCall: event})
					d.same([]run.Fired{first}, in.Triggered)
					if err = errors.Join(err, ingestErr); err != nil {
						t.Error(err)
					}
				}
				_, err := d.firing.Call(d.Context(), d.who, domain.Once{}, trg.ID(), run.Call{DedupeKey: text("another")})
				if code(err) != refusal {
					t.Errorf("another key is answered with %v", err)
				}
				event.DedupeKey = text("another")
				if fired, err := d.firing.ByEvent(d.Context(), d.who, domain.Once{}, event); len(fired) > 0 || err != nil {
					t.Errorf("another key fires %v, %v", fired, err)
				}
				now := d.clock.Now()
				d.clock.Set(now.Add(outbound.DedupeRetention))
				event.DedupeKey = text("k")
				fired, err := d.firing.ByEvent(d.Context(), d.who, domain.Once{}, event)
				if err != nil || len(fired) > 0 != (refusal == "trigger_rate_limit_exceeded") {
					t.Errorf("a day later it fires %v, %v", fired, err)
				}
				if started := len(d.of(d.owner)) - before; started != len(fired) || len(d.told.since()) != len(fired) {
					t.Errorf("%d were started", started)
				}
				d.clock.Set(now) // no run is kept as one that was created later than now
			})
		}
	})
}

// The keys of schedules are their instants, which nobody has fired by a call.
func TestACallDoesNotGetTheRunOfASchedule(t *testing.T) {
	t.Parallel()
	d := newDesk(t, openSQLite(t))
	trg := d.trigger(d.version(nil, nil), `{}`, func(st *trigger.State) { st.Type = trigger.Scheduled })
	at := d.clock.Now()
	d.do(func(ctx context.Context, st outbound.Stores) error {
		_, err := st.Runs.Runs.Start(ctx, run.New("run_1", run.Start{
			Tenant: d.owner, Version: trg.Version(), Trigger: trg, DedupeKey: run.InstantKey(at), Cause: run.CauseSchedule,
		}, at))
		return err
	})
	_, err := d.firing.Call(t.Context(), d.who, domain.Once{}, trg.ID(), run.Call{DedupeKey: text(run.InstantKey(at))})
	d.wantCode(err, domain.Conflict, "trigger_not_webhook")
}

// A fresh key costs no statement beside those of a call: what it stands for is looked up
// only where the trigger cannot fire.
func TestAFreshDedupeKeyIsNotLookedUp(t *testing.T) {
	t.Parallel()
	d := newDesk(t, openSQLite(t))
	trg := d.simple(paid)
	asked := 0
	counted := func(st outbound.Stores) outbound.Stores {
		st.Runs.Live = asking{st.Runs.Live, &asked}
		return st
	}
	d.store.wrap, d.store.wrapRead = counted, counted
	d.call(trg, run.Call{DedupeKey: text("k")})
	if _, err := d.firing.ByEvent(t.Context(), d.who, domain.Once{}, run.EventCall{Event: "paid", Call: run.Call{DedupeKey: text("l")}}); err != nil {
		t.Fatal(err)
	}
	if asked > 0 {
		t.Errorf("it was looked up %d times", asked)
	}
}

// asking counts how often dedupe keys are looked up.
type asking struct {
	outbound.RunOverview
	asked *int
}

func (a asking) StartedWith(ctx context.Context, owner tenant.ID, of []trigger.ID, key string, after time.Time) ([]run.ID, error) {
	*a.asked++
	return a.RunOverview.StartedWith(ctx, owner, of, key, after)
}

func (d *desk) switchOff(trg *trigger.Trigger) error {
	return d.raw.Do(d.Context(), func(ctx context.Context, st outbound.Stores) error {
		found, err := st.Triggers.Get(ctx, trg.Tenant(), trg.ID())
		if err != nil || !found.Active() {
			return err
		}
		state := found.State()
		state.Active = false
		return st.Triggers.Update(ctx, trigger.Restore(state))
	})
}

func (d *desk) deactivateWorkflow(trg *trigger.Trigger) error {
	return d.raw.Do(d.Context(), func(ctx context.Context, st outbound.Stores) error {
		ver, err := st.Versions.Get(ctx, trg.Tenant(), trg.Version())
		if err != nil {
			return err
		}
		wf, err := st.Workflows.Get(ctx, trg.Tenant(), ver.Workflow())
		if err != nil {
			return err
		}
		wf.Toggle(d.clock.Now())
		return st.Workflows.Update(ctx, wf)
	})
}

func (d *desk) retire(trg *trigger.Trigger) error {
	return d.raw.Do(d.Context(), func(ctx context.Context, st outbound.Stores) error {
		ver, err := st.Versions.Get(ctx, trg.Tenant(), trg.Version())
		if err != nil {
			return err
		}
		ver.Deactivate()
		return st.Versions.Update(ctx, ver)
	})
}
