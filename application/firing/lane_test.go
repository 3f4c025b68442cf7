package firing_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/outbound"
)

// bounded is a configuration that lets so many runs of a customer be live.
func bounded(limit, overflow string) string {
	return `{"webhookConfig":{"event":"paid"},"concurrency":{"key":"payload.customer","limit":` + limit + `,"overflow":"` + overflow + `"}}`
}

// statuses lists those of runs.
func (d *env) statuses(fired ...run.Fired) string {
	d.Helper()
	return fixture.Lines(fired, func(f run.Fired) string { return string(d.Get(f.Run).Status()) })
}

var ofCustomer = run.Call{EventData: fixture.Body(`{"customer":7}`)}

func TestRunsOfOneKeyWaitForEachOther(t *testing.T) {
	onEachStore(t, func(d *env) {
		trg := d.NewTrigger(d.NewVersion([]string{fixture.WaitNode}, nil), bounded("1", "queue"))
		a, b, c := d.Call(trg, ofCustomer), d.Call(trg, ofCustomer), d.Call(trg, ofCustomer)
		other := d.Call(trg, run.Call{EventData: fixture.Body(`{"customer":8}`)})
		d.Same([]run.ID{a.Run, b.Run, c.Run, other.Run}, d.RecordedSignals.Since())
		d.StartWorker()
		d.Until(a.Run, "it waits", fixture.Is(run.StatusPaused))
		d.Until(other.Run, "so does that of another key", fixture.Is(run.StatusPaused))
		d.Same("paused, pending, pending", d.statuses(a, b, c))
		if _, err := d.Runs.Cancel(t.Context(), d.Caller, domain.IdempotencyKey{}, a.Run, ""); err != nil {
			t.Fatal(err)
		}
		d.Until(b.Run, "the next begins", fixture.Is(run.StatusPaused))
		d.Same("cancelled, paused, pending", d.statuses(a, b, c))
	})
}

func TestACallIsSkippedWhileOneOfItsKeyIsLive(t *testing.T) {
	onEachStore(t, func(d *env) {
		trg := d.NewTrigger(d.NewVersion([]string{fixture.WaitNode}, nil), bounded("1", "skip"))
		call := run.Call{EventData: fixture.Body(`{"customer":7}`), DedupeKey: fixture.Text("k")}
		first := d.Call(trg, call)
		d.Same(first, d.Call(trg, call)) // its own key stands for it
		call.DedupeKey = fixture.Text("l")
		d.Same(run.Fired{Trigger: trg.ID(), DedupeKey: "l", Run: first.Run, Skipped: run.SkipConcurrency}, d.Call(trg, call))
		fired, err := d.Firing.ByEvent(t.Context(), d.Caller, domain.IdempotencyKey{}, run.EventCall{Event: "paid", Call: call})
		if err != nil {
			t.Fatal(err)
		}
		d.Same([]run.Fired{{Trigger: trg.ID(), DedupeKey: "l", Run: first.Run, Skipped: run.SkipConcurrency}}, fired)
		if got := d.Selections.Counted(run.SkipConcurrency); got != 2 || len(d.RunsOf(d.Owner)) != 1 {
			t.Errorf("%d are counted", got)
		}
		if _, err := d.Runs.Cancel(t.Context(), d.Caller, domain.IdempotencyKey{}, first.Run, ""); err != nil {
			t.Fatal(err)
		}
		if again := d.Call(trg, call); again.Skipped != "" || again.Run == first.Run {
			t.Errorf("%+v", again)
		}
	})
}

func TestALaterRunHasTheOldestCancelled(t *testing.T) {
	onEachStore(t, func(d *env) {
		trg := d.NewTrigger(d.NewVersion([]string{fixture.WaitNode}, nil), bounded("2", "cancelRunning"))
		a, b := d.Call(trg, ofCustomer), d.Call(trg, ofCustomer)
		d.RecordedSignals.Since()
		c := d.Call(trg, ofCustomer)
		d.Same([]run.ID{a.Run, c.Run}, d.RecordedSignals.Since())
		d.Same("cancelled, pending, pending", d.statuses(a, b, c))
		again := run.Call{EventData: ofCustomer.EventData, DedupeKey: &c.DedupeKey}
		d.Same(c, d.Call(trg, again)) // which cancels none
		d.Same("cancelled, pending, pending", d.statuses(a, b, c))
	})
}

// One unit cancels no more than so many runs and bytes of them, and the next goes on.
func TestManyRunsAreCancelledSomeAtATime(t *testing.T) {
	for claim, c := range map[string]struct {
		text             int // bytes of each payload
		started, atATime int
	}{
		"large ones": {1 << 20, 20, 16},
		"small ones": {1, 60, 50},
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			d := newEnv(t, fixture.OpenSQLite(t))
			trg := d.NewTrigger(d.NewVersion([]string{fixture.WaitNode}, nil), bounded("100", "queue"))
			call := run.Call{EventData: fixture.Body(`{"customer":7,"text":"` + strings.Repeat("x", c.text) + `"}`)}
			var before []run.Fired
			for range c.started {
				before = append(before, d.Call(trg, call))
			}
			d.Do(func(ctx context.Context, st outbound.Stores) error {
				state := trg.State()
				state.Config = trigger.RestoreConfig(bounded("1", "cancelRunning"))
				return st.Triggers.Update(ctx, trigger.Restore(state))
			})
			first := d.Call(trg, ofCustomer)
			d.Same(strings.Repeat("cancelled, ", c.atATime)+strings.Repeat("pending, ", c.started-c.atATime)+"pending", d.statuses(append(before, first)...))
			last := d.Call(trg, ofCustomer)
			d.Same(strings.Repeat("cancelled, ", c.started+1)+"pending", d.statuses(append(before, first, last)...))
		})
	}
}

func TestARunIsNotRetriedWhereThereIsNoRoom(t *testing.T) {
	onEachStore(t, func(d *env) {
		trg := d.NewTrigger(d.NewVersion([]string{`a transform {"expression": "payload.missing.member"}`}, nil), bounded("1", "queue"))
		failed := d.Call(trg, ofCustomer)
		if r := d.Begin(failed.Run); r.Status() != run.StatusFailed {
			t.Fatalf("it is %s", r.Status())
		}
		live := d.Call(trg, ofCustomer)
		retry := func() error {
			_, err := d.Runs.Retry(t.Context(), d.Caller, domain.IdempotencyKey{}, failed.Run)
			return err
		}
		d.WantCode(retry(), domain.Conflict, "concurrency_limit")
		d.Same("failed, pending", d.statuses(failed, live))
		d.Begin(live.Run)
		if err := retry(); err != nil {
			t.Error(err)
		}
	})
}

func TestOfManyCallsAtOnceNoMoreRunsAreLiveThanMayBe(t *testing.T) {
	onEachStore(t, func(d *env) {
		const callers = 24
		trg := d.NewTrigger(d.NewVersion([]string{fixture.WaitNode}, nil), bounded("3", "skip"))
		var done sync.WaitGroup
		var mu sync.Mutex
		started := make(map[run.ID]bool)
		for range callers {
			done.Go(func() {
				fired, err := d.Firing.Call(d.Context(), d.Caller, domain.IdempotencyKey{}, trg.ID(), ofCustomer)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				}
				if fired.Skipped == "" {
					started[fired.Run] = true
				}
			})
		}
		done.Wait()
		if n := len(d.RunsOf(d.Owner)); n != 3 || len(started) != 3 {
			t.Errorf("%d runs are there, %d were answered", n, len(started))
		}
	})
}
