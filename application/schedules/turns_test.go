package schedules_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// look looks once, at most at so many instants.
func (w *env) look(at time.Time, limit int) (inbound.ScheduleResult, error) {
	w.Helper()
	w.clock.Set(at)
	return w.scheduler.FireDue(w.Context(), limit)
}

func TestATenantWithMuchToCatchUpDoesNotDelayAnother(t *testing.T) {
	onEachStore(t, func(w *env) {
		flood := w.schedule(8, `{"intervalMs":60000,"catchUp":"all"}`)
		w.fire(noon)
		other := w.withTenant()
		w.clock.Set(noon.Add(time.Minute))
		one := other.schedule(1, `{"cron":"4 * * * *"}`)[0]
		other.fire(noon.Add(time.Minute)) // deals with what is due of the flood as well
		before := len(w.runs.started)

		const limit = 6
		if _, err := w.look(noon.Add(8*time.Minute), limit); err != nil {
			w.Fatal(err)
		}
		if got := other.ledger(one); got != "01 12:04:00 caught_up" {
			w.Errorf("after one unit the ledger of the other tenant holds %q", got)
		}
		if n := len(w.runs.started) - before; n < limit || n > limit+1 {
			w.Errorf("%d runs were started in one unit", n)
		}
		w.fire(noon.Add(8 * time.Minute))
		for _, trg := range flood {
			if n := len(w.fires(trg)); n != 8 {
				w.Errorf("%s has %d fires", trg.ID(), n)
			}
		}
	})
}

// What one unit writes does not depend on how long nobody looked.
func TestWhatOneUnitWritesIsBounded(t *testing.T) {
	w := newEnv(t, openSQLite(t))
	for _, catchUp := range []trigger.CatchUp{trigger.CatchUpNone, trigger.CatchUpLast} {
		w.schedule(2, fmt.Sprintf(`{"cron":"* * * * *","catchUp":%q}`, catchUp))
	}
	w.fire(noon)
	recording := &counter{UnitOfWork: w.store}
	w.scheduler = w.process(recording)
	w.fire(noon.Add(3*time.Hour + 30*time.Second))
	total := 0
	for _, n := range recording.recorded {
		if total += n; n > 100+1 { // which is what fire asks for
			t.Errorf("%d entries were written in one unit", n)
		}
	}
	if want := 4 * 3 * 60; total != want {
		t.Errorf("%d entries were written, not %d", total, want)
	}
	if n := len(w.runs.started); n != 2 {
		t.Errorf("%d runs were started, not one for each schedule that catches up the last one", n)
	}
}

// counter is a unit of work that counts how many entries of the ledger units write.
type counter struct {
	outbound.UnitOfWork
	recorded []int
}

func (c *counter) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	return c.UnitOfWork.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		c.recorded = append(c.recorded, 0)
		st.Fires = counting{st.Fires, &c.recorded[len(c.recorded)-1]}
		return fn(ctx, st)
	})
}

type counting struct {
	outbound.FireRepository
	recorded *int
}

func (c counting) Record(ctx context.Context, fires []*trigger.Fire) ([]*trigger.Fire, error) {
	*c.recorded += len(fires)
	return c.FireRepository.Record(ctx, fires)
}

// failing makes the runs of a tenant fail in some way.
func (w *env) failing(how func() error) {
	w.runs.fail = func(one *run.Run) error {
		if one.Tenant() == w.tenant.ID() {
			return how()
		}
		return nil
	}
}

func TestATenantThatTakesTooLongIsPutOff(t *testing.T) {
	onEachStore(t, func(w *env) {
		slow, other := w.withTenant(), w.withTenant()
		stuck := slow.schedule(3, `{"cron":"* * * * *"}`)
		fine := other.schedule(3, `{"cron":"* * * * *"}`)
		w.fire(noon)
		slow.failing(func() error { return fmt.Errorf("wait for a lock: %w", context.DeadlineExceeded) })

		look, err := w.look(noon.Add(time.Minute), 100)
		if look.Schedules != 3 || !look.Next.Equal(noon.Add(90*time.Second)) || err == nil || !strings.Contains(err.Error(), string(slow.tenant.ID())) {
			w.Errorf("%+v, %v", look, err)
		}
		for _, trg := range fine {
			if got := other.ledger(trg); got != "01 12:01:00 fired" {
				w.Errorf("the other tenant's ledger holds %q", got)
			}
		}
		w.runs.fail = nil
		w.fire(noon.Add(90 * time.Second))
		for _, trg := range stuck {
			if got := slow.ledger(trg); got != "01 12:01:00 late" {
				w.Errorf("the ledger of the one that was slow holds %q", got)
			}
		}
	})
}

// A lock on the record of a tenant keeps its runs from being started. Nobody else waits
// for that longer than for the unit that finds out.
func TestWhatWaitsForOneTenantIsLetGo(t *testing.T) {
	t.Parallel()
	w := onPostgres(t)
	slow, other := w.withTenant(), w.withTenant()
	stuck := slow.schedule(1, `{"cron":"* * * * *"}`)[0]
	fine := other.schedule(1, `{"cron":"* * * * *"}`)[0]
	w.fire(noon)
	db := w.connect()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }() // it has changed nothing
	if _, err := tx.ExecContext(t.Context(), `SELECT FROM tenants WHERE id = $1 FOR UPDATE`, string(slow.tenant.ID())); err != nil {
		t.Fatal(err)
	}
	w.scheduler.SetTimeout(time.Second) // a fifth of it for each of the two alone
	at := noon.Add(time.Minute)
	for ; other.ledger(fine) == "" && at.Before(noon.Add(3*time.Minute)); at = at.Add(31 * time.Second) { // more than once where the test is slow itself
		if _, err := w.look(at, 100); err == nil || !strings.Contains(err.Error(), string(slow.tenant.ID())) {
			t.Error(err)
		}
	}
	if got, not := other.ledger(fine), slow.ledger(stuck); !strings.HasPrefix(got, "01 12:01:00 ") || not != "" {
		t.Errorf("the ledgers hold %q and %q", got, not)
	}
}

func TestAPanicIsContained(t *testing.T) {
	onEachStore(t, func(w *env) {
		other := w.withTenant()
		all := w.schedule(5, `{"cron":"* * * * *"}`)
		fine := other.schedule(1, `{"cron":"* * * * *"}`)[0]
		w.fire(noon)
		w.runs.fail = func(one *run.Run) error {
			if one.Trigger() == all[3].ID() {
				panic("on purpose")
			}
			return nil
		}
		look, err := w.look(noon.Add(time.Minute), 100)
		var thrown *inbound.Panic
		if look.Schedules != 5 || !errors.As(err, &thrown) || thrown.Value != "on purpose" || !strings.Contains(string(thrown.Stack), "turns_test.go") || !strings.Contains(err.Error(), string(all[3].ID())) {
			w.Errorf("%+v, %v", look, err)
		}
		if w.scheduler.Panics() == 0 {
			w.Error("it was not counted")
		}
		w.runs.fail = nil
		w.fire(noon.Add(2 * time.Minute))
		got := []string{w.ledger(all[0]), w.ledger(all[3]), other.ledger(fine)}
		both := "01 12:01:00 fired, 01 12:02:00 fired"
		if diff := cmp.Diff([]string{both, "01 12:01:00 skipped, 01 12:02:00 fired", both}, got); diff != "" {
			w.Error(diff)
		}
	})
}

// Three processes come back from an outage at the same time.
func TestThreeProcessesShareWhatAnOutageLeft(t *testing.T) {
	t.Parallel()
	w := onPostgres(t)
	want := map[trigger.CatchUp]string{
		trigger.CatchUpNone: "01 12:01:00 skipped, 01 12:02:00 skipped, 01 12:03:00 skipped, 01 12:04:00 skipped",
		trigger.CatchUpLast: "01 12:01:00 skipped, 01 12:02:00 skipped, 01 12:03:00 skipped, 01 12:04:00 caught_up",
		trigger.CatchUpAll:  "01 12:01:00 caught_up, 01 12:02:00 caught_up, 01 12:03:00 caught_up, 01 12:04:00 caught_up",
	}
	made := make(map[trigger.CatchUp][]*trigger.Trigger)
	worlds := []*env{w, w.withTenant()}
	for catchUp := range want {
		for _, one := range worlds {
			made[catchUp] = append(made[catchUp], one.schedule(20, fmt.Sprintf(`{"cron":"* * * * *","catchUp":%q}`, catchUp))...)
		}
	}
	w.fire(noon)
	w.clock.Set(noon.Add(4*time.Minute + 20*time.Second))
	var done sync.WaitGroup
	for range 3 {
		p := w.process(openPostgres(t, w.address))
		done.Go(func() {
			for {
				look, err := p.FireDue(t.Context(), 25)
				if err != nil || look.Next.After(look.Now) {
					if err != nil {
						t.Error(err)
					}
					return
				}
			}
		})
	}
	done.Wait()
	for catchUp, all := range made {
		for _, trg := range all {
			if diff := cmp.Diff(want[catchUp], w.ledger(trg)); diff != "" {
				t.Fatalf("%s: %s", catchUp, diff)
			}
		}
	}
	if n := len(w.runs.started); n != 2*20*(1+4) {
		t.Errorf("%d runs were started", n)
	}
}
