package firing_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/outbound"
)

const large = `{"webhookConfig":{"event":"paid"},"filter":"payload.amount >= 1000"}`

func TestAFilteredCallStartsNoRun(t *testing.T) {
	onEachStore(t, func(d *env) {
		trg := d.NewSimpleTrigger(large)
		for _, once := range []domain.IdempotencyKey{{}, fixture.Keyed("i")} { // together with others, and alone
			fired, err := d.Firing.Call(t.Context(), d.Caller, once, trg.ID(), run.Call{EventData: fixture.Body(`{"amount":999}`), DedupeKey: fixture.Text("k")})
			if err != nil {
				t.Fatal(err)
			}
			d.Same(run.Fired{Trigger: trg.ID(), DedupeKey: "k", Skipped: run.SkipFiltered}, fired)
		}
		_, err := d.Firing.Call(t.Context(), d.Caller, fixture.Keyed("i"), trg.ID(), run.Call{EventData: fixture.Body(`{"amount":999}`), DedupeKey: fixture.Text("k")})
		d.Same(fmt.Sprint(run.Fired{Trigger: trg.ID(), DedupeKey: "k", Skipped: run.SkipFiltered}), fixture.Replayed(err))
		if got := d.Selections.Counted(run.SkipFiltered); got != 2 || len(d.RunsOf(d.Owner)) != 0 {
			t.Errorf("%d are counted", got)
		}
		first := d.Call(trg, run.Call{EventData: fixture.Body(`{"amount":1000}`), DedupeKey: fixture.Text("k")})
		again := d.Call(trg, run.Call{EventData: fixture.Body(`{"amount":1}`), DedupeKey: fixture.Text("k")})
		d.Same(first, again) // the key stands for the run
	})
}

func TestAPayloadThatDoesNotFitIsRefused(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	trg := d.NewSimpleTrigger(`{"payloadSchema":{"amount":{"type":"number","required":true}},"filter":"payload.order.id > 5","rateLimit":{"maxRequests":1,"windowMs":60000}}`)
	for payload, code := range map[string]string{`{}`: run.CodePayloadInvalid, `{"amount":1}`: run.CodeFilterFailed} {
		_, err := d.Firing.Call(t.Context(), d.Caller, domain.IdempotencyKey{}, trg.ID(), run.Call{EventData: fixture.Body(payload)})
		d.WantCode(err, domain.Invalid, code)
	}
	d.Call(trg, run.Call{EventData: fixture.Body(`{"amount":1,"order":{"id":5}}`)})
	d.Call(trg, run.Call{EventData: fixture.Body(`{"amount":1,"order":{"id":6}}`)}) // what started no run does not count
	_, err := d.Firing.Call(t.Context(), d.Caller, domain.IdempotencyKey{}, trg.ID(), run.Call{EventData: fixture.Body(`{"amount":1,"order":{"id":6}}`)})
	d.WantCode(err, domain.RateLimited, "trigger_rate_limit_exceeded")
}

func TestAnEventTellsWhichTriggersItSkipped(t *testing.T) {
	onEachStore(t, func(d *env) {
		ver := d.NewVersion([]string{`a transform {"expression": "1"}`}, nil)
		all, filtered := d.NewTrigger(ver, paid), d.NewTrigger(ver, large)
		strict := d.NewTrigger(ver, `{"webhookConfig":{"event":"paid"},"payloadSchema":{"id":{"type":"string","required":true}}}`)
		broken := d.NewTrigger(ver, `{"webhookConfig":{"event":"paid"},"filter":"payload.order.id > 5"}`)
		want := func(fired []run.Fired) {
			d.Same([]run.Fired{
				{Trigger: all.ID(), DedupeKey: "k", Run: fired[0].Run},
				{Trigger: filtered.ID(), DedupeKey: "k", Skipped: run.SkipFiltered},
				{
					Trigger: strict.ID(), DedupeKey: "k", Skipped: run.CodePayloadInvalid,
					Problems: []domain.Violation{{Field: "eventData.id", Code: domain.Required, Message: "must be given: a string"}},
				},
				{Trigger: broken.ID(), DedupeKey: "k", Skipped: run.CodeFilterFailed},
			}, fired)
		}
		call := run.EventCall{Event: "paid", Call: run.Call{EventData: fixture.Body(`{"amount":5}`), DedupeKey: fixture.Text("k")}}
		fired, err := d.Firing.ByEvent(t.Context(), d.Caller, domain.IdempotencyKey{}, call)
		if err != nil {
			t.Fatal(err)
		}
		want(fired)
		in, err := d.Firing.Ingest(t.Context(), d.Caller, domain.IdempotencyKey{}, run.IngestCall{EventCall: call})
		if err != nil {
			t.Fatal(err)
		}
		want(in.Triggered)
		d.Same(fired, in.Triggered)
		for _, reason := range []string{run.SkipFiltered, run.CodePayloadInvalid, run.CodeFilterFailed} {
			if got := d.Selections.Counted(reason); got != 2 {
				t.Errorf("%s is counted %d times", reason, got)
			}
		}
	})
}

func TestAFilterThatChangesIsLookedAtAnew(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	trg := d.NewSimpleTrigger(large)
	change := &changing{UnitOfWork: d.Store, then: func() {
		d.Do(func(ctx context.Context, st outbound.Stores) error {
			found, err := st.Triggers.Get(ctx, tenant.All(d.Owner), trg.ID())
			if err != nil {
				return err
			}
			state := found.State()
			state.Config = trigger.RestoreConfig(`{"filter":"payload.amount < 1000"}`)
			return st.Triggers.Update(ctx, trigger.Restore(state))
		})
	}}
	fired, err := d.NewFiring(change).Call(t.Context(), d.Caller, fixture.Keyed("i"), trg.ID(), run.Call{EventData: fixture.Body(`{"amount":1}`)})
	if err != nil || fired.Run == "" || !change.done {
		t.Errorf("%+v, %v", fired, err)
	}
}

// changing has something happen behind the first unit that failed.
type changing struct {
	outbound.UnitOfWork
	then func()
	done bool
}

func (c *changing) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	err := c.UnitOfWork.Do(ctx, fn)
	if err != nil && !c.done {
		c.done = true
		c.then()
	}
	return err
}

func TestFiltersThatTakeLongTogetherFireNothing(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	ver := d.NewVersion([]string{`a transform {"expression": "1"}`}, nil)
	const slow = `{"webhookConfig":{"event":"paid"},"filter":"'x'.repeat(90000).split('').length > 1"}`
	for range run.MaxSelectSteps/90_000 + 2 {
		d.NewTrigger(ver, slow)
	}
	_, err := d.Firing.ByEvent(t.Context(), d.Caller, domain.IdempotencyKey{}, run.EventCall{Event: "paid"})
	d.WantCode(err, domain.Conflict, "too_many_triggers")
	if got := len(d.RunsOf(d.Owner)); got != 0 {
		t.Errorf("%d runs were started", got)
	}
}

func TestAnEventThatFitsNoTriggerTellsFewProblems(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	ver := d.NewVersion([]string{`a transform {"expression": "1"}`}, nil)
	const triggers = 5
	for range triggers {
		d.NewTrigger(ver, `{"webhookConfig":{"event":"paid"},"payloadSchema":{"l":{"type":"array","items":{"type":"number"}}}}`)
	}
	call := run.EventCall{Event: "paid", Call: run.Call{EventData: fixture.Body(`{"l":["a"` + strings.Repeat(`,"a"`, 1000) + `]}`)}}
	fired, err := d.Firing.ByEvent(t.Context(), d.Caller, domain.IdempotencyKey{}, call)
	if err != nil {
		t.Fatal(err)
	}
	problems := 0
	for _, f := range fired {
		problems += len(f.Problems)
		d.Same(run.CodePayloadInvalid, f.Skipped)
	}
	if len(fired) != triggers || problems != run.MaxProblems {
		t.Errorf("%d problems of %d triggers", problems, len(fired))
	}
}

func TestPayloadsThatManySchemasGoThroughFireNothing(t *testing.T) {
	d := newEnv(t, fixture.OpenSQLite(t))
	ver := d.NewVersion([]string{`a transform {"expression": "1"}`}, nil)
	for range 40 {
		d.NewTrigger(ver, `{"webhookConfig":{"event":"paid"},"payloadSchema":{"l":{"type":"array","items":{"type":"array"}}}}`)
	}
	call := run.EventCall{Event: "paid", Call: run.Call{EventData: fixture.Body(`{"l":[[]` + strings.Repeat(`,[]`, 100_000) + `]}`)}}
	_, err := d.Firing.ByEvent(t.Context(), d.Caller, domain.IdempotencyKey{}, call)
	d.WantCode(err, domain.Conflict, "too_many_triggers")
}
