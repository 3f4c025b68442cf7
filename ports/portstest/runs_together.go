package portstest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

// trySteps records steps in one call.
func (f fixture) trySteps(steps ...outbound.RunStep) error {
	return f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error { return st.Runs.Runs.Record(ctx, steps...) })
}

// RunStepsTogether is the contract of outbound.RunRepository.Record for several steps.
func RunStepsTogether(t *testing.T, open OpenStore) {
	cases(t, open, stepsOfMany())
	cases(t, open, stepsAsOne())
}

// stepsOfMany are claims about what each step writes.
func stepsOfMany() map[string]func(f fixture) {
	nobody := outbound.RunLease{}
	return map[string]func(f fixture){
		"each writes everything that can change, back and forth": func(f fixture) {
			var there, back []outbound.RunStep
			for range 3 {
				r := f.started(f.tenant().ID())
				want := runState(r.Tenant())
				want.Origin, want.Seq = r.State().Origin, 3
				s := stepped(r, nobody)
				s.Run, s.History[0].Seq = run.Restore(want), 3
				there = append(there, s)
				before := r.State()
				before.Seq, before.Status = 4, run.StatusRunning
				b := stepped(r, nobody)
				b.Run, b.From, b.History[0].Seq = run.Restore(before), 3, 4
				back = append(back, b)
			}
			for _, steps := range [][]outbound.RunStep{there, back} {
				if err := f.trySteps(steps...); err != nil {
					f.Fatal(err)
				}
				for _, s := range steps {
					f.holds(s.Run.State())
				}
			}
			for i := range there {
				r := there[i].Run
				f.same(append(slices.Clone(there[i].History), back[i].History...), f.history(r.Tenant(), r.ID(), 0))
			}
		},
		"no steps are nothing to do": func(f fixture) {
			if err := f.trySteps(); err != nil {
				f.Error(err)
			}
		},
		"one that is refused refuses all, and says why": func(f fixture) {
			owner := f.tenant().ID()
			a, b, moved := f.started(owner), f.started(owner), f.started(owner)
			f.step(moved, nobody)
			gone := stepped(pending(owner), nobody)
			for code, refused := range map[string]outbound.RunStep{"stale_run": stepped(moved, nobody), "run_not_found": gone} {
				kind := domain.Conflict
				if code == "run_not_found" {
					kind = domain.NotFound
				}
				err := f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
					f.wantError(st.Runs.Runs.Record(ctx, stepped(a, nobody), refused, stepped(b, nobody)), kind, code)
					return nil // the failure is ignored
				})
				f.wantError(err, kind, code)
			}
			f.holds(a.State())
			f.holds(b.State())
			if got := f.history(owner, a.ID(), 0); len(got) != 0 {
				f.Errorf("the history is %v", got)
			}
		},
		"each is made under a lease of its own": func(f fixture) {
			owner := f.tenant().ID()
			var leased []outbound.LeasedRun
			for range 4 {
				f.started(owner)
			}
			leased = f.claimRuns(4, 4)
			keeps, gives, ends := stepped(leased[0].Run, leased[0].Lease, busy), stepped(leased[1].Run, leased[1].Lease, busy), stepped(leased[2].Run, leased[2].Lease, over)
			keeps.Keep, ends.Keep = true, true
			if err := f.trySteps(keeps, gives, ends, stepped(leased[3].Run, nobody, busy)); err != nil {
				f.Fatal(err)
			}
			var good []run.ID
			for _, l := range f.renew(time.Hour, leased[0].Lease, leased[1].Lease, leased[2].Lease, leased[3].Lease) {
				good = append(good, l.Run)
			}
			slices.Sort(good)
			f.same([]run.ID{leased[0].Run.ID(), leased[3].Run.ID()}, good) // kept, and left as it was by somebody else's step
			again := f.leases("given up", 9, 9, gives.Run)
			err := f.trySteps(stepped(gives.Run, leased[1].Lease), stepped(keeps.Run, leased[0].Lease))
			f.wantError(err, domain.Conflict, "stale_run")
			if err := f.trySteps(stepped(gives.Run, again[0].Lease), stepped(keeps.Run, leased[0].Lease)); err != nil {
				f.Error(err)
			}
		},
	}
}

// stepsAsOne are claims about times, failures and sizes.
func stepsAsOne() map[string]func(f fixture) {
	nobody := outbound.RunLease{}
	return map[string]func(f fixture){
		"a run is due when its step says so": func(f fixture) {
			owner := f.tenant().ID()
			a, b := f.started(owner), f.started(owner)
			later, sooner := f.dbNow().Add(2*time.Hour), f.dbNow().Add(time.Hour)
			if err := f.trySteps(stepped(a, nobody, waits(&later)), stepped(b, nobody, waits(&sooner))); err != nil {
				f.Fatal(err)
			}
			f.freeAt("both wait", sooner)
			if err := f.trySteps(stepped(f.current(a), nobody, waits(nil)), stepped(f.current(b), nobody, over)); err != nil {
				f.Fatal(err)
			}
			f.freeAt("nobody waits", time.Time{})
			ahead := f.dbNow().Add(time.Hour) // by the clock of who made the step
			fast := func(st *run.State) { busy(st); st.UpdatedAt = ahead }
			c := f.started(owner)
			if err := f.trySteps(stepped(f.current(a), nobody, fast), stepped(c, nobody, fast)); err != nil {
				f.Fatal(err)
			}
			leased := f.claimRuns(9, 9)
			slices.SortFunc(leased, func(x, y outbound.LeasedRun) int { return strings.Compare(string(x.Run.ID()), string(y.Run.ID())) })
			if len(leased) != 2 || leased[0].Run.ID() != a.ID() || leased[1].Run.ID() != c.ID() {
				f.Errorf("%d are leased at once", len(leased))
			}
		},
		"a unit that fails records nothing, and one that only reads cannot": func(f fixture) {
			owner := f.tenant().ID()
			a, b := f.started(owner), f.started(owner)
			steps := []outbound.RunStep{stepped(a, nobody), stepped(b, nobody)}
			err := f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
				return errors.Join(st.Runs.Runs.Record(ctx, steps...), errOnPurpose)
			})
			if !errors.Is(err, errOnPurpose) {
				f.Fatal(err)
			}
			for _, do := range []func(context.Context, func(context.Context, outbound.Stores) error) error{f.work.View, f.work.Read} {
				if err := do(f.Context(), func(ctx context.Context, st outbound.Stores) error { return st.Runs.Runs.Record(ctx, steps...) }); err == nil {
					f.Error("it was recorded")
				}
			}
			f.holds(a.State())
			f.holds(b.State())
		},
		"many large ones are recorded, too": func(f fixture) {
			owner := f.tenant().ID()
			large := 500_000
			if testing.Short() { // the race detector looks at every byte
				large = 20_000
			}
			var steps []outbound.RunStep
			for range 6 {
				step := stepped(f.started(owner), nobody, func(st *run.State) {
					st.Nodes = []run.NodeState{{ID: "a", Status: run.NodeCompleted, Output: json.RawMessage(`"` + strings.Repeat("é", large) + `"`)}}
				})
				steps = append(steps, step)
			}
			if err := f.trySteps(steps...); err != nil {
				f.Fatal(err)
			}
			for _, s := range steps {
				f.holds(s.Run.State())
			}
		},
	}
}

// current reads a run again.
func (f fixture) current(r *run.Run) *run.Run {
	f.Helper()
	now, err := f.getRun(r.Tenant(), r.ID())
	if err != nil {
		f.Fatal(err)
	}
	return now
}
