package schedules_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/outbound"
)

// stored lists the runs of a trigger, the oldest first.
func (w *env) stored(trg *trigger.Trigger) (found []run.Summary) {
	w.Helper()
	err := w.store.Read(w.Context(), func(ctx context.Context, st outbound.Stores) error {
		page, err := st.Runs.Runs.List(ctx, tenant.All(w.tenant.ID()), run.Filter{Trigger: trg.ID()}, domain.Query{Sorting: domain.Sorting{Ascending: true}})
		found = page.Items
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	return found
}

// finish ends a run.
func (w *env) finish(id run.ID) {
	w.Helper()
	w.do(func(ctx context.Context, st outbound.Stores) error {
		r, err := st.Runs.Runs.Get(ctx, tenant.All(w.tenant.ID()), id)
		if err != nil {
			return err
		}
		from := r.Seq()
		step := r.Abandon(w.clock.Now(), "")
		return st.Runs.Runs.Record(ctx, outbound.RunStep{Run: r, From: from, History: step.History})
	})
}

func TestAnInstantBecomesARunThatIsToldOf(t *testing.T) {
	onEachStore(t, func(w *env) {
		trg := w.schedule(1, `{"intervalMs":60000}`)[0]
		w.fire(noon.Add(time.Minute))
		w.fire(noon.Add(2*time.Minute + time.Second))
		runs, fires := w.stored(trg), w.fires(trg)
		if len(runs) != 2 || len(fires) != 2 {
			w.Fatalf("%d runs, %d fires", len(runs), len(fires))
		}
		for i, r := range runs {
			if string(r.ID) != fires[i].RunID() || w.runs.All()[i] != r.ID {
				w.Errorf("run %s is not that of the ledger or not reported: %s, %v", r.ID, fires[i].RunID(), w.runs.All())
			}
			if r.Cause != run.CauseSchedule || r.Workflow != w.workflow.ID() || r.Version != w.version.ID() || r.DedupeKey != run.InstantKey(fires[i].At()) || r.Status != run.StatusPending {
				w.Errorf("%+v", r)
			}
		}
		if runs[0].Entity == runs[1].Entity {
			w.Error("each is about an entity of its own")
		}
	})
}

func TestARunThatGoesOnKeepsTheNextOneFromStarting(t *testing.T) {
	onEachStore(t, func(w *env) {
		trg := w.schedule(1, `{"intervalMs":60000,"overlap":"skip"}`)[0]
		for minute := range 3 {
			w.fire(noon.Add(time.Duration(minute+1) * time.Minute))
			if minute == 1 {
				w.finish(w.stored(trg)[0].ID)
			}
		}
		if got := w.ledger(trg); got != "01 12:01:00 fired, 01 12:02:00 suppressed, 01 12:03:00 fired" {
			w.Error(got)
		}
	})
}

// unlucky is a unit of work in which schedules cannot be moved on.
type unlucky struct{ outbound.UnitOfWork }

func (u unlucky) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	return u.UnitOfWork.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		st.Schedules = stuck{st.Schedules}
		return fn(ctx, st)
	})
}

type stuck struct{ outbound.ScheduleRepository }

var errStuck = domain.Fail(domain.Unavailable, "stuck", "The database is gone.")

func (stuck) Advance(context.Context, []outbound.ScheduleProgress) error { return errStuck }

func TestRunAndLedgerAreThereTogetherOrNotAtAll(t *testing.T) {
	onEachStore(t, func(w *env) {
		trg := w.schedule(1, `{"intervalMs":60000}`)[0]
		w.fire(noon)
		w.clock.Set(noon.Add(time.Minute))
		dying := w.process(unlucky{w.store})
		if _, err := dying.FireDue(w.Context(), 100); !errors.Is(err, errStuck) {
			w.Fatal(err)
		}
		var fires int
		err := w.store.Read(w.Context(), func(ctx context.Context, st outbound.Stores) error {
			found, err := st.Fires.List(ctx, tenant.All(w.tenant.ID()), trg.ID(), trigger.FireFilter{}, domain.Query{})
			fires = found.Total
			return err
		})
		if runs := w.stored(trg); err != nil || len(runs) != 0 || fires != 0 || len(w.runs.All()) != 0 {
			w.Errorf("%d runs, %d fires, %d told of, %v", len(runs), fires, len(w.runs.All()), err)
		}
		clear(w.runs.started)
		w.fire(noon.Add(time.Minute))
		if runs := w.stored(trg); len(runs) != 1 || w.ledger(trg) != "01 12:01:00 fired" {
			w.Errorf("%d runs, %s", len(runs), w.ledger(trg))
		}
	})
}
