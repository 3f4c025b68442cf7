package firing_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// What a dedupe key stands for depends on nothing but the trigger and the key: not on what
// has become of the trigger since.
func TestADedupeKeyAnswersWithTheFirstRunWhateverBecameOfItsTrigger(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(d *env) {
		const limit = `{"webhookConfig":{"event":"%s"},"rateLimit":{"maxRequests":1,"windowMs":86400000}}`
		for refusal, change := range map[string]func(trg *trigger.Trigger) error{
			"trigger_inactive":            d.switchOff,
			"workflow_inactive":           d.deactivateWorkflow,
			"version_not_active":          d.retire,
			"trigger_rate_limit_exceeded": func(*trigger.Trigger) error { return nil },
		} {
			t.Run(refusal, func(t *testing.T) {
				trg, event := d.NewSimpleTrigger(fmt.Sprintf(limit, refusal)), run.EventCall{Event: refusal, Call: run.Call{DedupeKey: fixture.Text("k")}}
				first := d.Call(trg, run.Call{DedupeKey: fixture.Text("k")})
				if err := change(trg); err != nil {
					t.Fatal(err)
				}
				before := len(d.RunsOf(d.Owner))
				d.RecordedSignals.Since()
				for range 2 {
					d.Same(first, d.Call(trg, run.Call{DedupeKey: fixture.Text("k"), EventData: fixture.Body(`2`)}))
					fired, err := d.Firing.ByEvent(d.Context(), d.Caller, domain.IdempotencyKey{}, event)
					d.Same([]run.Fired{first}, fired)
					in, ingestErr := d.Firing.Ingest(d.Context(), d.Caller, domain.IdempotencyKey{}, run.IngestCall{EventCall: event})
					d.Same([]run.Fired{first}, in.Triggered)
					if err = errors.Join(err, ingestErr); err != nil {
						t.Error(err)
					}
				}
				_, err := d.Firing.Call(d.Context(), d.Caller, domain.IdempotencyKey{}, trg.ID(), run.Call{DedupeKey: fixture.Text("another")})
				if fixture.Code(err) != refusal {
					t.Errorf("another key is answered with %v", err)
				}
				event.DedupeKey = fixture.Text("another")
				if fired, err := d.Firing.ByEvent(d.Context(), d.Caller, domain.IdempotencyKey{}, event); len(fired) > 0 || err != nil {
					t.Errorf("another key fires %v, %v", fired, err)
				}
				now := d.Clock.Now()
				d.Clock.Set(now.Add(outbound.DedupeRetention))
				event.DedupeKey = fixture.Text("k")
				fired, err := d.Firing.ByEvent(d.Context(), d.Caller, domain.IdempotencyKey{}, event)
				if err != nil || len(fired) > 0 != (refusal == "trigger_rate_limit_exceeded") {
					t.Errorf("a day later it fires %v, %v", fired, err)
				}
				if started := len(d.RunsOf(d.Owner)) - before; started != len(fired) || len(d.RecordedSignals.Since()) != len(fired) {
					t.Errorf("%d were started", started)
				}
				d.Clock.Set(now) // no run is kept as one that was created later than now
			})
		}
	})
}

// The keys of schedules are their instants, which nobody has fired by a call.
func TestACallDoesNotGetTheRunOfASchedule(t *testing.T) {
	t.Parallel()
	d := newEnv(t, fixture.OpenSQLite(t))
	trg := d.NewTrigger(d.NewVersion(nil, nil), `{}`, func(st *trigger.State) { st.Type = trigger.Scheduled })
	at := d.Clock.Now()
	d.Do(func(ctx context.Context, st outbound.Stores) error {
		_, err := st.Runs.Runs.Start(ctx, run.New("run_1", run.Start{
			Tenant: d.Owner, Version: trg.Version(), Trigger: trg, DedupeKey: run.InstantKey(at), Cause: run.CauseSchedule,
		}, at))
		return err
	})
	_, err := d.Firing.Call(t.Context(), d.Caller, domain.IdempotencyKey{}, trg.ID(), run.Call{DedupeKey: fixture.Text(run.InstantKey(at))})
	d.WantCode(err, domain.Conflict, "trigger_not_webhook")
}

// A fresh key costs no statement next to those of a call: what it stands for is looked up
// only where the trigger cannot fire.
func TestAFreshDedupeKeyIsNotLookedUp(t *testing.T) {
	t.Parallel()
	d := newEnv(t, fixture.OpenSQLite(t))
	trg := d.NewSimpleTrigger(paid)
	asked := 0
	counted := func(st outbound.Stores) outbound.Stores {
		st.Runs.Overview = asking{st.Runs.Overview, &asked}
		return st
	}
	d.Store.WrapWrite, d.Store.WrapRead = counted, counted
	d.Call(trg, run.Call{DedupeKey: fixture.Text("k")})
	if _, err := d.Firing.ByEvent(t.Context(), d.Caller, domain.IdempotencyKey{}, run.EventCall{Event: "paid", Call: run.Call{DedupeKey: fixture.Text("l")}}); err != nil {
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

func (a asking) StartedWith(ctx context.Context, scope tenant.Scope, of []trigger.ID, key string, after time.Time) ([]run.ID, error) {
	*a.asked++
	return a.RunOverview.StartedWith(ctx, scope, of, key, after)
}

func (d *env) switchOff(trg *trigger.Trigger) error {
	return d.Raw.Do(d.Context(), func(ctx context.Context, st outbound.Stores) error {
		found, err := st.Triggers.Get(ctx, tenant.All(trg.Tenant()), trg.ID())
		if err != nil || !found.Active() {
			return err
		}
		state := found.State()
		state.Active = false
		return st.Triggers.Update(ctx, trigger.Restore(state))
	})
}

func (d *env) deactivateWorkflow(trg *trigger.Trigger) error {
	return d.Raw.Do(d.Context(), func(ctx context.Context, st outbound.Stores) error {
		ver, err := st.Versions.Get(ctx, tenant.All(trg.Tenant()), trg.Version())
		if err != nil {
			return err
		}
		wf, err := st.Workflows.Get(ctx, tenant.All(trg.Tenant()), ver.Workflow())
		if err != nil {
			return err
		}
		wf.Toggle(d.Clock.Now())
		return st.Workflows.Update(ctx, wf)
	})
}

// inactiveVersion is a version that another one has taken the place of.
func inactiveVersion(ver *workflow.Version) *workflow.Version {
	st := ver.State()
	st.Active = false
	return workflow.RestoreVersion(st)
}

func (d *env) retire(trg *trigger.Trigger) error {
	return d.Raw.Do(d.Context(), func(ctx context.Context, st outbound.Stores) error {
		ver, err := st.Versions.Get(ctx, tenant.All(trg.Tenant()), trg.Version())
		if err != nil {
			return err
		}
		return st.Versions.Update(ctx, inactiveVersion(ver))
	})
}
