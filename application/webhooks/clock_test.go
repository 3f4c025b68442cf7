package webhooks_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/postgres"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
	"github.com/sluicehq/sluice/application/webhooks"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/ports/outbound"
)

func openPostgres(t *testing.T) outbound.UnitOfWork {
	t.Helper()
	store, err := postgres.Open(t.Context(), pgtest.Start(t).Migrated(t, migrate), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() }) // nothing is pending
	return store
}

// Whatever the clock of a process says, it sends at once what is due, keeps its lease from
// every other process for as long as any, and repeats a failed attempt by the schedule.
func TestAProcessWhoseClockIsWrongDeliversAsAllOthers(t *testing.T) {
	t.Parallel()
	for database, open := range map[string]func(*testing.T) outbound.UnitOfWork{"SQLite": open, "PostgreSQL": openPostgres} {
		for what, wrong := range map[string]clock{"an hour behind": {-time.Hour}, "an hour ahead": {time.Hour}} {
			t.Run(database+" "+what, func(t *testing.T) {
				t.Parallel()
				deliversByWrongClock(t, newHarness(t, open(t)), wrong)
			})
		}
	}
}

func deliversByWrongClock(t *testing.T, h *harness, clock clock) {
	t.Helper()
	wrong, right := webhooks.NewDispatcher(h.store, h.receivers, clock, counted), h.dispatcher
	fansOut := func(d *webhooks.Dispatcher, e event.Type) {
		t.Helper()
		h.happen(e)
		if n, err := d.FanOut(t.Context(), 9); n != 1 || err != nil {
			t.Fatalf("%d events: %v", n, err)
		}
	}
	lost := errors.New("the process stops")
	delivers := func(step string, d *webhooks.Dispatcher, want int) {
		t.Helper()
		if n, err := d.Deliver(t.Context()); n != want || err != nil && !errors.Is(err, lost) {
			t.Fatalf("%s: %d were sent, not %d: %v", step, n, want, err)
		}
	}
	nextWithin := func(step string, least, most time.Duration) {
		t.Helper()
		if wait := time.Until(h.next()); wait < least || wait > most {
			t.Errorf("%s: the next is due in %s", step, wait)
		}
	}
	h.endpoint("lost", event.RunFailed)
	down := h.endpoint("down", event.RunPaused)

	h.receivers.answer = func(context.Context, outbound.SignedMessage) (event.AttemptResult, error) {
		return event.AttemptResult{}, lost
	}
	fansOut(right, event.RunFailed)
	delivers("by the wrong clock", wrong, 1)
	delivers("while the other one has it", right, 0)
	nextWithin("the lease of the wrong clock", 20*time.Second, 30*time.Second)
	fansOut(wrong, event.RunFailed)
	delivers("what the wrong clock fanned out", right, 1)
	delivers("while the right one has it", wrong, 0)

	h.receivers.status(503)
	fansOut(right, event.RunPaused)
	delivers("what fails", wrong, 1)
	nextWithin("after the failure", 2*time.Second, 6*time.Second)
	failed := h.all(down)[0]
	if at := failed.Attempts()[0].At; time.Since(at).Abs() > time.Minute {
		t.Errorf("the attempt is said to have begun at %s", at)
	}
	h.receivers.status(200)
	asking := webhooks.NewDeliveries(h.store, clock)
	redeliver(t, h, asking, failed)
	delivers("what the wrong clock asked for", right, 1)
	if d := h.all(down)[0]; d.Status() != event.Delivered {
		t.Errorf("%+v", d.State())
	}
}
