package schedules_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/application/schedules"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

func TestADueScheduleStartsARunAndIsWrittenDown(t *testing.T) {
	onEachStore(t, func(w *env) {
		trg := w.schedule(1, `{"cron":"*/10 * * * *"}`)[0]
		w.fire(noon.Add(10*time.Minute + 30*time.Millisecond))
		all := w.fires(trg)
		if len(all) != 1 {
			w.Fatalf("%d fires", len(all))
		}
		want := trigger.FireState{
			Trigger: trg.ID(), Tenant: trg.Tenant(), At: noon.Add(10 * time.Minute), Outcome: trigger.Fired,
			RunID: all[0].RunID(), RecordedAt: noon.Add(10*time.Minute + 30*time.Millisecond),
		}
		if diff := cmp.Diff(want, all[0].State()); diff != "" || !strings.HasPrefix(want.RunID, "run_") {
			w.Error(diff)
		}
		if r, started := w.runs.get(want.RunID); !started || r.Trigger() != trg.ID() || !strings.HasPrefix(r.Entity(), run.EntityPrefix) || string(r.Payload()) != all[0].Payload().String() {
			w.Errorf("the run is %+v", r)
		}
		w.fire(noon.Add(20*time.Minute + 7*time.Second))
		if got := w.ledger(trg); got != "01 12:10:00 fired, 01 12:20:00 late" {
			w.Errorf("the ledger holds %s", got)
		}
	})
}

func TestTheNextLookIsTold(t *testing.T) {
	onEachStore(t, func(w *env) {
		look := func(want time.Time, wantLooked int) {
			w.Helper()
			got, err := w.scheduler.FireDue(w.Context(), 10)
			if diff := cmp.Diff(inbound.ScheduleResult{Schedules: wantLooked, Next: want, Now: w.clock.Now()}, got); err != nil || diff != "" {
				w.Errorf("%v %s", err, diff)
			}
		}
		look(time.Time{}, 0)
		w.schedule(1, `{"cron":"0 * * * *"}`)
		w.schedule(1, `{"intervalMs":1800000}`)
		w.schedule(1, `{}`) // never due
		look(noon.Add(30*time.Minute), 3)
		look(noon.Add(30*time.Minute), 0)
		w.clock.Set(noon.Add(30 * time.Minute))
		look(noon.Add(time.Hour), 1)
		w.clock.Set(noon.Add(time.Hour))
		look(noon.Add(90*time.Minute), 2)
	})
}

func TestAUnitDealsWithNoMoreThanItMay(t *testing.T) {
	onEachStore(t, func(w *env) {
		all := w.schedule(3, `{"cron":"* * * * *","catchUp":"all"}`)
		w.fire(noon)
		w.clock.Set(noon.Add(4 * time.Minute))
		for i, want := range []struct{ looked, started int }{{3, 5}, {2, 10}, {1, 12}, {0, 12}} {
			look, err := w.scheduler.FireDue(w.Context(), 5)
			more := !look.Next.After(look.Now)
			if look.Schedules != want.looked || len(w.runs.started) != want.started || more != (want.started < 12) || err != nil {
				w.Errorf("unit %d started %d in all: %+v, %v", i, len(w.runs.started), look, err)
			}
		}
		for _, trg := range all {
			if got := w.ledger(trg); got != "01 12:01:00 caught_up, 01 12:02:00 caught_up, 01 12:03:00 caught_up, 01 12:04:00 fired" {
				w.Error(got)
			}
		}
	})
}

// The interval counts from the activation; nothing that was switched off fires for the
// time that it was off, whatever its catch-up says.
func TestWhatIsSwitchedOffFiresNeitherThenNorAfterwards(t *testing.T) {
	type switches map[string]func(w *env, on bool, at time.Time)
	for what, turn := range (switches{
		"the trigger": func(w *env, on bool, at time.Time) {
			w.do(func(ctx context.Context, st outbound.Stores) error {
				all, err := st.Triggers.OfVersion(ctx, tenant.All(w.tenant.ID()), w.version.ID())
				for _, trg := range all {
					err = errors.Join(err, trg.Revise(trigger.Patch{Active: &on}, tenant.Settings{}, at), st.Triggers.Update(ctx, trg))
				}
				return err
			})
		},
		"the workflow": func(w *env, _ bool, at time.Time) {
			w.workflow.Toggle(at)
			w.do(func(ctx context.Context, st outbound.Stores) error { return st.Workflows.Update(ctx, w.workflow) })
		},
		"the tenant": func(w *env, on bool, at time.Time) {
			if w.tenant.Resume(at); !on {
				w.tenant.Suspend(at)
			}
			w.do(func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Update(ctx, w.tenant) })
		},
	}) {
		t.Run(what, func(t *testing.T) {
			onEachStore(t, func(w *env) {
				cron := w.schedule(1, `{"cron":"*/10 * * * *","catchUp":"all"}`)[0]
				interval := w.schedule(1, `{"intervalMs":420000,"catchUp":"all"}`)[0]
				w.fire(noon.Add(10 * time.Minute))
				turn(w, false, noon.Add(11*time.Minute))
				w.fire(noon.Add(25 * time.Minute))
				turn(w, true, noon.Add(31*time.Minute))
				w.fire(noon.Add(31 * time.Minute))
				w.fire(noon.Add(42 * time.Minute))
				want := map[trigger.ID]string{
					cron.ID(): "01 12:10:00 fired, 01 12:40:00 caught_up", interval.ID(): "01 12:07:00 caught_up, 01 12:35:00 caught_up, 01 12:42:00 fired",
				}
				if what == "the trigger" { // its activation is what the interval counts from
					want[interval.ID()] = "01 12:07:00 caught_up, 01 12:38:00 caught_up"
				}
				for _, trg := range []*trigger.Trigger{cron, interval} {
					if diff := cmp.Diff(want[trg.ID()], w.ledger(trg)); diff != "" {
						w.Error(diff)
					}
				}
			})
		})
	}
}

func TestRunsOverlapOnlyWhereTheyMay(t *testing.T) {
	onEachStore(t, func(w *env) {
		const often = `"cron":"* * * * *","catchUp":"all"`
		may, mayNot, idle := w.schedule(1, `{`+often+`}`)[0], w.schedule(1, `{`+often+`,"overlap":"skip"}`)[0], w.schedule(1, `{`+often+`,"overlap":"skip"}`)[0]
		w.runs.busy = []trigger.ID{may.ID(), mayNot.ID()}
		w.fire(noon.Add(2 * time.Minute))
		for trg, want := range map[*trigger.Trigger]string{
			may:    "01 12:01:00 caught_up, 01 12:02:00 fired",
			mayNot: "01 12:01:00 suppressed, 01 12:02:00 suppressed",
			idle:   "01 12:01:00 caught_up, 01 12:02:00 suppressed", // next to the one that was just started
		} {
			if got := w.ledger(trg); got != want {
				w.Errorf("%s, not %s", got, want)
			}
		}
	})
}

// Each instant of an outage is told of: that it was missed, and why it was not caught up.
func TestWhatAnOverlapKeepsFromBeingCaughtUpSaysSo(t *testing.T) {
	const stillRunning = "a run of this trigger still goes on, and overlap is set to skip"
	const notCaughtUp, onlyLatest = "missed while nothing could fire, and not caught up: " + stillRunning, "missed while nothing could fire; only the latest one may start a run"
	onEachStore(t, func(w *env) {
		all := w.schedule(1, `{"cron":"* * * * *","catchUp":"all","overlap":"skip"}`)[0]
		last := w.schedule(1, `{"cron":"*/2 * * * *","catchUp":"last","overlap":"skip"}`)[0]
		w.runs.busy = []trigger.ID{last.ID()}
		w.fire(noon.Add(5 * time.Minute))
		for trg, want := range map[*trigger.Trigger]string{
			all: "caught_up: missed while nothing could fire\nsuppressed: " + notCaughtUp + "\nsuppressed: " + notCaughtUp + "\nsuppressed: " + notCaughtUp +
				"\nsuppressed: " + stillRunning,
			last: "skipped: " + onlyLatest + "\nsuppressed: " + notCaughtUp,
		} {
			var got []string
			for _, f := range w.fires(trg) {
				got = append(got, string(f.Outcome())+": "+f.Reason())
			}
			if diff := cmp.Diff(want, strings.Join(got, "\n")); diff != "" {
				w.Error(diff)
			}
		}
	})
}

func TestARunThatCannotBeStartedIsSuppressedWithTheReason(t *testing.T) {
	onEachStore(t, func(w *env) {
		good, bad := w.schedule(1, `{"cron":"* * * * *"}`)[0], w.schedule(1, `{"cron":"* * * * *"}`)[0]
		w.runs.gone = []trigger.ID{bad.ID()}
		w.fire(noon.Add(time.Minute))
		all := w.fires(bad)
		if len(all) != 1 || all[0].Outcome() != trigger.Suppressed || all[0].Reason() != "The trigger is being deleted." || w.ledger(good) != "01 12:01:00 fired" {
			w.Errorf("%s, %s", w.ledger(bad), w.ledger(good))
		}
	})
}

func TestAScheduleThatFailsDoesNotStopTheOthers(t *testing.T) {
	onEachStore(t, func(w *env) {
		all := w.schedule(5, `{"cron":"* * * * *"}`)
		broken := true
		w.runs.fail = func(r *run.Run) error {
			if broken && r.Trigger() == all[2].ID() {
				return errors.New("on purpose")
			}
			return nil
		}
		w.fire(noon)
		w.clock.Set(noon.Add(time.Minute))
		look, err := w.scheduler.FireDue(w.Context(), 100)
		if look.Schedules != 4 || !look.Next.Equal(noon.Add(2*time.Minute)) || err == nil || !strings.Contains(err.Error(), string(all[2].ID())) || !strings.Contains(err.Error(), "on purpose") {
			w.Errorf("%+v, %v", look, err)
		}
		broken = false
		w.fire(noon.Add(2 * time.Minute))
		for i, trg := range all {
			want := "01 12:01:00 fired, 01 12:02:00 fired"
			if i == 2 {
				want = "01 12:01:00 skipped, 01 12:02:00 fired"
			}
			if got := w.ledger(trg); got != want {
				w.Errorf("trigger %d: %s, not %s", i, got, want)
			}
		}
	})
}

// The ledger decides: even where a schedule is held as not dealt with, an instant that
// is written down starts nothing.
func TestAnInstantThatIsWrittenDownStartsNothing(t *testing.T) {
	onEachStore(t, func(w *env) {
		trg := w.schedule(1, `{"cron":"* * * * *","catchUp":"all"}`)[0]
		w.fire(noon.Add(2 * time.Minute))
		w.do(func(ctx context.Context, st outbound.Stores) error {
			return st.Schedules.Advance(ctx, []outbound.ScheduleProgress{{Tenant: trg.Tenant(), Trigger: trg.ID(), ProcessedUntil: noon, Next: noon}})
		})
		w.fire(noon.Add(3 * time.Minute))
		if got := w.ledger(trg); got != "01 12:01:00 caught_up, 01 12:02:00 fired, 01 12:03:00 fired" || len(w.runs.started) != 3 {
			w.Errorf("%s; %d runs were started", got, len(w.runs.started))
		}
	})
}

// A store that is out of reach is not the schedules' fault: none is put off.
func TestAStoreOutOfReachPutsNothingOff(t *testing.T) {
	w := newEnv(t, openSQLite(t))
	trg := w.schedule(1, `{"cron":"* * * * *"}`)[0]
	w.fire(noon)
	w.runs.fail = func(*run.Run) error { return domain.Fail(domain.Unavailable, "gone", "gone") }
	w.clock.Set(noon.Add(time.Minute))
	if look, err := w.scheduler.FireDue(t.Context(), 10); look.Schedules != 0 || !look.Next.Equal(noon.Add(time.Minute)) || !errors.Is(err, domain.Unavailable) {
		t.Errorf("%+v, %v", look, err)
	}
	w.runs.fail = nil
	w.fire(noon.Add(time.Minute))
	if got := w.ledger(trg); got != "01 12:01:00 fired" {
		t.Error(got)
	}
}

func TestThreeProcessesFireEachInstantOnce(t *testing.T) {
	w := onPostgres(t)
	const triggers, minutes = 300, 4
	all := w.schedule(triggers, `{"cron":"* * * * *","catchUp":"all"}`)
	processes := []*schedules.Scheduler{w.scheduler}
	for range 2 {
		processes = append(processes, w.process(openPostgres(t, w.address)))
	}
	for minute := range minutes {
		w.clock.Set(noon.Add(time.Duration(minute+1) * time.Minute))
		shares := make([]int, len(processes))
		var done sync.WaitGroup
		for i, p := range processes {
			done.Go(func() {
				for {
					look, err := p.FireDue(t.Context(), 20)
					if err != nil {
						t.Error(err)
						return
					}
					if shares[i] += look.Schedules; look.Next.After(look.Now) {
						return
					}
				}
			})
		}
		done.Wait()
		t.Logf("minute %d: the processes looked at %v", minute+1, shares)
	}
	for _, trg := range all {
		if got := w.ledger(trg); got != "01 12:01:00 fired, 01 12:02:00 fired, 01 12:03:00 fired, 01 12:04:00 fired" {
			t.Fatalf("%s: %s", trg.ID(), got)
		}
	}
	if len(w.runs.started) != triggers*minutes {
		t.Errorf("%d runs were started", len(w.runs.started))
	}
}
