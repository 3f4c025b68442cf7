package schedules_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/budget"
	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/application/schedules"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/outbound"
)

// filtered makes a trigger that is due each minute and has a filter.
func (w *env) filtered(filter string) *trigger.Trigger {
	w.Helper()
	return w.eachMinute(`"filter":"` + filter + `"`)
}

// eachMinute makes a trigger that is due each minute, with another member of its configuration.
func (w *env) eachMinute(member string) *trigger.Trigger {
	w.Helper()
	trg := w.schedule(1, `{"cron":"* * * * *"}`)[0]
	state := trg.State()
	state.Config = trigger.RestoreConfig(`{"scheduleConfig":{"cron":"* * * * *","catchUp":"all"},` + member + `}`)
	trg = trigger.Restore(state)
	w.do(func(ctx context.Context, st outbound.Stores) error { return st.Triggers.Update(ctx, trg) })
	return trg
}

func TestAnInstantThatIsFilteredIsSuppressed(t *testing.T) {
	onEachStore(t, func(w *env) {
		even := w.filtered(`payload.scheduledAt.slice(14, 16) % 2 === 0`)
		broken, plain := w.filtered(`payload.order.id`), w.schedule(1, `{"cron":"* * * * *"}`)[0]
		for minute := range 3 {
			w.fire(noon.Add(time.Duration(minute+1) * time.Minute))
		}
		for trg, want := range map[*trigger.Trigger]string{
			even:   "suppressed filtered, fired , suppressed filtered",
			broken: strings.Repeat(`, suppressed The filter of the trigger cannot be computed with this payload: line 1, column 15: payload.order is undefined; cannot read "id"; write ?. before it where it may be missing`, 3)[2:],
			plain:  "fired , fired , fired ",
		} {
			var got []string
			for _, f := range w.fires(trg) {
				got = append(got, string(f.Outcome())+" "+f.Reason())
			}
			if all := strings.Join(got, ", "); all != want {
				t.Errorf("the ledger has\n%s, not\n%s", all, want)
			}
		}
		if runs := w.stored(even); len(runs) != 1 || len(w.stored(broken)) != 0 {
			t.Errorf("%+v", runs)
		}
	})
}

// A tenant that has used up its memory keeps nobody else waiting, and its own schedules wait.
func TestSchedulesWaitForNoMemoryOfOthers(t *testing.T) {
	onEachStore(t, func(w *env) {
		busy, plain := w.filtered(`true`), w.schedule(1, `{"cron":"* * * * *"}`)[0]
		other := w.withTenant()
		free, others := other.filtered(`true`), other.schedule(1, `{"cron":"* * * * *"}`)[0]
		budgets := budget.Divide(4<<30, 4).OfRuns()
		held := budgets.Computing.Max()
		if err := budgets.Computing.Reserve(t.Context(), w.tenant.ID(), held); err != nil {
			t.Fatal(err)
		}
		w.scheduler = schedules.NewScheduler(recorded{timed{w.store, w.clock}, w.runs}, execution.NewSelections(expression.Compiler{}, budgets), w.runs, w.clock, counted, execution.NewAllowance(w.clock, nil))
		w.fire(noon.Add(time.Minute))
		for trg, want := range map[*trigger.Trigger]int{busy: 0, plain: 1, free: 1, others: 1} {
			if got := len(w.fires(trg)); got != want {
				t.Errorf("%d instants of %s are in the ledger, not %d", got, trg.ID(), want)
			}
		}
		budgets.Computing.Release(w.tenant.ID(), held)
		w.fire(noon.Add(time.Minute + 45*time.Second))
		if got := len(w.fires(busy)); got != 1 {
			t.Errorf("%d instants are in the ledger in the end", got)
		}
	})
}

func TestRunsOfAScheduleAreBounded(t *testing.T) {
	onEachStore(t, func(w *env) {
		bound := func(overflow string) *trigger.Trigger {
			return w.eachMinute(`"concurrency":{"limit":1,"overflow":"` + overflow + `"}`)
		}
		queue, skip, last := bound("queue"), bound("skip"), bound("cancelRunning")
		w.fire(noon.Add(time.Minute))
		w.fire(noon.Add(4 * time.Minute)) // three instants at once
		for trg, want := range map[*trigger.Trigger][2]string{
			queue: {"fired, caught_up, caught_up, fired", "pending, pending, pending, pending"},
			skip:  {"fired, suppressed, suppressed, suppressed", "pending"},
			last:  {"fired, caught_up, caught_up, fired", "cancelled, cancelled, cancelled, pending"},
		} {
			var fires, runs []string
			for _, f := range w.fires(trg) {
				fires = append(fires, string(f.Outcome()))
			}
			for _, r := range w.stored(trg) {
				runs = append(runs, string(r.Status))
			}
			if got := [2]string{strings.Join(fires, ", "), strings.Join(runs, ", ")}; got != want {
				t.Errorf("%v, not %v", got, want)
			}
		}
	})
}
