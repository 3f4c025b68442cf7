package portstest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// inLane puts a run into a lane.
func inLane(name string, limit int) func(*run.State) {
	return func(st *run.State) { st.Lane = run.Lane{Name: name, Limit: limit} }
}

func ends(st *run.State) { st.Status, st.FinishedAt = run.StatusCompleted, &noon }

// enter looks into a lane in a unit of its own.
func (f fixture) enter(owner tenant.ID, lane string) (in outbound.LaneState) {
	f.Helper()
	f.write(func(ctx context.Context, st outbound.Stores) error {
		found, err := st.Runs.Lanes.Enter(ctx, owner, lane)
		if err == nil {
			in = found[0]
		}
		return err
	})
	return in
}

// free lists those of the runs that are lent when everything that is free is.
func (f fixture) free() (ids []run.ID) {
	f.Helper()
	for _, lent := range f.claimFor(0, 100, 100) {
		ids = append(ids, lent.Lease.Run)
	}
	return ids
}

// inOrder starts runs one after another.
func (f fixture) inOrder(owner tenant.ID, n int, change func(*run.State)) (runs []*run.Run) {
	f.Helper()
	for range n {
		runs = append(runs, f.started(owner, change))
	}
	return runs
}

// overlap carries out two units, the second one while the first is where it says so. Neither
// is carried out again, as one of two that wait for each other would be.
func (f fixture) overlap(first func(ctx context.Context, st outbound.Stores, other func()) error, second func(context.Context, outbound.Stores) error) {
	f.Helper()
	var both sync.WaitGroup
	firsts, seconds := 0, 0
	var once sync.Once
	other := func() {
		once.Do(func() {
			both.Go(func() {
				if err := f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error { seconds++; return second(ctx, st) }); err != nil {
					f.Error(err)
				}
			})
			time.Sleep(50 * time.Millisecond) // as long as it takes until it has to wait
		})
	}
	f.write(func(ctx context.Context, st outbound.Stores) error { firsts++; return first(ctx, st, other) })
	both.Wait()
	if firsts != 1 || seconds != 1 {
		f.Errorf("the units were carried out %d and %d times", firsts, seconds)
	}
}

func idsInOrder(runs ...*run.Run) (ids []run.ID) {
	for _, r := range runs {
		ids = append(ids, r.ID())
	}
	return ids
}

// RunLanes is the contract of outbound.RunLanes, and of what starting and recording runs does in
// lanes.
func RunLanes(t *testing.T, open OpenStore) {
	concurrentLanes(t, open)
	nobody := outbound.RunLease{}
	cases(t, open, map[string]func(f fixture){
		"as many runs as may be are free, and one that ends lets the next go": func(f fixture) {
			owner := f.tenant().ID()
			all := f.inOrder(owner, 5, inLane("l", 2))
			f.same(idsInOrder(all[:2]...), f.free())
			f.same(outbound.LaneState{Live: 2, Runs: idsInOrder(all...)}, f.enter(owner, "l"))
			f.step(all[1], nobody, ends)
			f.same(idsInOrder(all[0], all[2]), f.free())
			f.step(all[0], nobody, ends)
			f.step(all[2], nobody, ends)
			f.same(idsInOrder(all[3:]...), f.free())
			f.same(outbound.LaneState{Live: 2, Runs: idsInOrder(all[3:]...)}, f.enter(owner, "l"))
		},
		"runs that are started together come in their order": func(f fixture) {
			owner := f.tenant().ID()
			all := []*run.Run{pending(owner, inLane("l", 1)), pending(owner, inLane("m", 1)), pending(owner), pending(owner, inLane("l", 1)), pending(owner, inLane("l", 1))}
			slices.Reverse(all) // not in that of their identifiers
			f.start(all...)
			f.same(outbound.LaneState{Live: 1, Runs: idsInOrder(all[0], all[1], all[4])}, f.enter(owner, "l"))
			f.same(outbound.LaneState{Live: 1, Runs: idsInOrder(all[3])}, f.enter(owner, "m"))
		},
		"a lane is that of one tenant": func(f fixture) {
			a, b := f.tenant().ID(), f.tenant().ID()
			first, other := f.started(a, inLane("l", 1)), f.started(b, inLane("l", 1))
			f.same(outbound.LaneState{Live: 1, Runs: idsInOrder(first)}, f.enter(a, "l"))
			f.same(outbound.LaneState{Live: 1, Runs: idsInOrder(other)}, f.enter(b, "l"))
			f.same(outbound.LaneState{}, f.enter(a, "m"))
			if got := f.free(); len(got) != 2 {
				f.Errorf("%v are free", got)
			}
		},
		"a run that waits may end": func(f fixture) {
			owner := f.tenant().ID()
			all := f.inOrder(owner, 3, inLane("l", 1))
			f.step(all[1], nobody, ends)
			f.same(idsInOrder(all[0]), f.free())
			f.step(all[0], nobody, ends)
			f.same(idsInOrder(all[2]), f.free())
		},
		"runs that end together let as many go": func(f fixture) {
			owner := f.tenant().ID()
			all, others := f.inOrder(owner, 4, inLane("l", 2)), f.inOrder(owner, 2, inLane("m", 1))
			f.write(func(ctx context.Context, st outbound.Stores) error {
				return st.Runs.Runs.Record(ctx, stepped(all[0], nobody, ends), stepped(others[0], nobody, ends), stepped(all[1], nobody, ends))
			})
			f.same(outbound.LaneState{Live: 2, Runs: idsInOrder(all[2:]...)}, f.enter(owner, "l"))
			f.same(outbound.LaneState{Live: 1, Runs: idsInOrder(others[1])}, f.enter(owner, "m"))
		},
		"a run that pauses keeps its place": func(f fixture) {
			owner := f.tenant().ID()
			all := f.inOrder(owner, 2, inLane("l", 1))
			f.step(all[0], nobody, func(st *run.State) { st.Status = run.StatusPaused })
			if got := f.free(); len(got) != 0 {
				f.Errorf("%v are free", got)
			}
			f.same(outbound.LaneState{Live: 1, Runs: idsInOrder(all...)}, f.enter(owner, "l"))
		},
		"the limit is that of the run that was started last": func(f fixture) {
			owner := f.tenant().ID()
			all := f.inOrder(owner, 3, inLane("l", 1))
			all = append(all, f.started(owner, inLane("l", 3)))
			f.same(idsInOrder(all[:3]...), f.free())
			all = append(all, f.started(owner, inLane("l", 1)))
			f.step(all[0], nobody, ends)
			f.same(idsInOrder(all[1:3]...), f.free())
			f.step(all[1], nobody, ends)
			f.step(all[2], nobody, ends)
			f.same(idsInOrder(all[3]), f.free())
		},
		"a dedupe key stands for a run that waits": func(f fixture) {
			owner := f.tenant().ID()
			f.started(owner, inLane("l", 1))
			waits := f.started(owner, inLane("l", 1), keyed("trg_1", "k", noon))
			f.same([]outbound.StartedRun{{ID: waits.ID()}}, f.starts(pending(owner, inLane("l", 1), keyed("trg_1", "k", noon))))
			if in := f.enter(owner, "l"); len(in.Runs) != 2 {
				f.Errorf("%+v", in)
			}
		},
		"a run that begins anew is in its lane again": func(f fixture) {
			owner := f.tenant().ID()
			all := f.inOrder(owner, 2, inLane("l", 1))
			ended := f.step(all[0], nobody, func(st *run.State) { st.Status, st.FinishedAt = run.StatusFailed, &noon })
			f.step(ended, nobody, func(st *run.State) { st.Status, st.FinishedAt = run.StatusRunning, nil; busy(st) })
			f.same(outbound.LaneState{Live: 2, Runs: idsInOrder(all...)}, f.enter(owner, "l"))
		},
		"what is undone lets nothing go": func(f fixture) {
			owner, undone := f.tenant().ID(), errors.New("undone")
			all := f.inOrder(owner, 2, inLane("l", 1))
			err := f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
				return errors.Join(st.Runs.Runs.Record(ctx, stepped(all[0], nobody, ends)), undone)
			})
			if !errors.Is(err, undone) {
				f.Error(err)
			}
			f.same(idsInOrder(all[0]), f.free())
		},
		"whatever happens, the first ones are free and no more than may be": anyLane,
	})
}

func concurrentLanes(t *testing.T, open OpenStore) {
	nobody := outbound.RunLease{}
	cases(t, open, map[string]func(f fixture){
		"who cancels a run that waits and who ends the one before it do not wait for each other": func(f fixture) {
			owner := f.tenant().ID()
			for range 3 {
				all := f.inOrder(owner, 2, inLane("l", 1))
				f.overlap(func(ctx context.Context, st outbound.Stores, other func()) error {
					r, err := st.Runs.Runs.Get(ctx, tenant.All(owner), all[1].ID())
					if err != nil {
						return err
					}
					other()
					return st.Runs.Runs.Record(ctx, stepped(r, nobody, ends))
				}, func(ctx context.Context, st outbound.Stores) error {
					return st.Runs.Runs.Record(ctx, stepped(all[0], nobody, ends))
				})
			}
		},
		"neither do two who end runs of several lanes": func(f fixture) {
			owner := f.tenant().ID()
			for range 3 {
				first, second := f.inOrder(owner, 2, inLane("l", 1)), f.inOrder(owner, 2, inLane("m", 1))
				f.overlap(func(ctx context.Context, st outbound.Stores, other func()) error {
					err := st.Runs.Lanes.Hold(ctx, owner, second[1].ID(), first[1].ID(), "run_unknown")
					var steps []outbound.RunStep
					for _, of := range []*run.Run{second[1], first[1]} { // in another order than that of their lanes
						r, failure := st.Runs.Runs.Get(ctx, tenant.All(owner), of.ID())
						if err = cmp.Or(err, failure); err != nil {
							return err
						}
						if len(steps) == 0 {
							other()
						}
						steps = append(steps, stepped(r, nobody, ends))
					}
					return st.Runs.Runs.Record(ctx, steps...)
				}, func(ctx context.Context, st outbound.Stores) error {
					return st.Runs.Runs.Record(ctx, stepped(first[0], nobody, ends), stepped(second[0], nobody, ends))
				})
			}
		},
		"of many who start and end runs at the same time none finds too few or too many": crowdedLane,
	})
}

// crowdedLane has runs started and ended by many at once.
func crowdedLane(f fixture) {
	const limit, callers, each = 3, 8, 12
	owner := f.tenant().ID()
	var done sync.WaitGroup
	var mu sync.Mutex
	most := 0
	for range callers {
		done.Go(func() {
			for range each {
				f.start(pending(owner, inLane("l", limit)))
			}
		})
		done.Go(func() {
			for n := 0; n < each; {
				var ended bool
				err := f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
					ended = false
					in, err := st.Runs.Lanes.Enter(ctx, owner, "l")
					if err != nil {
						return err
					}
					mu.Lock()
					most = max(most, in[0].Live)
					mu.Unlock()
					if in[0].Live < min(limit, len(in[0].Runs)) {
						return fmt.Errorf("%d of %d are live", in[0].Live, len(in[0].Runs))
					}
					if in[0].Live == 0 {
						return nil
					}
					r, err := st.Runs.Runs.Get(ctx, tenant.All(owner), in[0].Runs[0])
					if err != nil {
						return err
					}
					ended = true
					return st.Runs.Runs.Record(ctx, stepped(r, outbound.RunLease{}, ends))
				})
				if err != nil {
					f.Error(err)
					return
				}
				if ended {
					n++
				}
			}
		})
	}
	done.Wait()
	if in := f.enter(owner, "l"); in.Live != 0 || len(in.Runs) != 0 || most > limit || most == 0 {
		f.Errorf("at most %d were live, and %+v are left", most, in)
	}
}

// anyLane compares what is free with a model, in which a lane is a list.
func anyLane(f fixture) {
	owner := f.tenant().ID()
	lane := 0
	rapid.Check(f.T, func(t *rapid.T) {
		lane++
		name := fmt.Sprint("lane ", lane)
		limit := rapid.IntRange(1, 3).Draw(t, "limit")
		var live, waiting []*run.Run
		fill := func() {
			for len(live) < limit && len(waiting) > 0 {
				live, waiting = append(live, waiting[0]), waiting[1:]
			}
		}
		end := func(list []*run.Run, i int) []*run.Run {
			f.step(list[i], outbound.RunLease{}, ends)
			return slices.Delete(slices.Clone(list), i, i+1)
		}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch kind := rapid.IntRange(0, 4).Draw(t, "kind"); {
			case kind == 0 && len(live) > 0:
				live = end(live, rapid.IntRange(0, len(live)-1).Draw(t, "live"))
			case kind == 1 && len(waiting) > 0:
				waiting = end(waiting, rapid.IntRange(0, len(waiting)-1).Draw(t, "waiting"))
			default:
				started := f.inOrder(owner, rapid.IntRange(1, 3).Draw(t, "n"), inLane(name, limit))
				waiting = append(waiting, started...)
			}
			fill()
			got := f.enter(owner, name)
			if got.Live != len(live) || !slices.Equal(got.Runs[:got.Live], idsInOrder(live...)) || !slices.Equal(got.Runs[got.Live:], idsInOrder(waiting...)) {
				t.Fatalf("%+v, not %v and %v", got, idsInOrder(live...), idsInOrder(waiting...))
			}
		}
	})
}
