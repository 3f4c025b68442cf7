package portstest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// childOf makes a run one that another one started.
func childOf(parent *run.Run) func(*run.State) {
	return func(st *run.State) {
		st.Parent, st.ParentNode, st.ParentWaits, st.Depth, st.Cause = parent.ID(), "call", true, 3, run.CauseCall
	}
}

// turned is a step with which a run has ended, is paused or goes on.
func turned(s outbound.RunStep) outbound.RunStep {
	s.Turned = true
	return s
}

// mustStep records steps in one unit.
func (f fixture) mustStep(steps ...outbound.RunStep) {
	f.Helper()
	f.write(func(ctx context.Context, st outbound.Stores) error { return st.Runs.Runs.Record(ctx, steps...) })
}

// idle stores a run that is not due by itself.
func (f fixture) idle(owner tenant.ID, change ...func(*run.State)) *run.Run {
	f.Helper()
	return f.step(f.started(owner, change...), outbound.RunLease{}, waits(nil))
}

// RunFamilies is the contract of what runs have to do with those that they started.
func RunFamilies(t *testing.T, open OpenStore) {
	runsWithParents(t, open)
	wokenFamilies(t, open)
	concurrentFamilies(t, open)
}

func runsWithParents(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"a run keeps what started it": func(f fixture) {
			parent := f.started(f.tenant().ID())
			child := f.started(parent.Tenant(), childOf(parent))
			f.holds(child.State())
			found := f.runs(parent.Tenant(), run.Filter{Parent: parent.ID()}, "", 9, 0).Items
			if len(found) != 1 || found[0].Parent != parent.ID() || found[0].ParentNode != "call" {
				f.Errorf("it is listed as %+v", found)
			}
			leased := f.leases("both", 9, 9, parent, child)
			f.same(child.State(), leased[1].Run.State())
		},
		"lists have runs that others started only where they are asked for": func(f fixture) {
			owner := f.tenant().ID()
			named := func(name string) func(*run.State) { return func(st *run.State) { st.Entity = name } }
			at := func(seconds int) func(*run.State) {
				return func(st *run.State) { st.CreatedAt = noon.Add(time.Duration(seconds) * time.Second) }
			}
			a := f.started(owner, named("a"), at(0))
			b := f.started(owner, named("b"), at(1))
			f.started(owner, named("c"), at(2), childOf(a))
			f.started(owner, named("d"), at(3), childOf(b), over)
			f.started(owner, named("e"), at(4), childOf(a), over)
			f.started(f.tenant().ID(), named("f"), childOf(a))
			for _, c := range []struct {
				filter run.Filter
				want   string
			}{
				{run.Filter{}, "a b of 2"}, {run.Filter{Children: true}, "a b c d e of 5"}, {run.Filter{Parent: a.ID()}, "c e of 2"},
				{run.Filter{Parent: b.ID(), Children: true}, "d of 1"}, {run.Filter{Workflow: "wf_1"}, "a b of 2"},
				{run.Filter{Status: run.StatusPending}, "a b of 2"}, {run.Filter{Status: run.StatusCompleted}, "of 0"},
				{run.Filter{Status: run.StatusCompleted, Children: true}, "d e of 2"}, {run.Filter{Status: run.StatusCompleted, Parent: a.ID()}, "e of 1"},
				{run.Filter{Parent: "run_none"}, "of 0"},
			} {
				if got := f.named(owner, c.filter, "createdAt", 9, 0); got != c.want {
					f.Errorf("%+v: %s, not %s", c.filter, got, c.want)
				}
			}
		},
		"the dedupe key of a run that another one called stands for it": func(f fixture) {
			parent := f.started(f.tenant().ID())
			key := func(st *run.State) { st.DedupeKey = "wf_1:k" }
			child := f.started(parent.Tenant(), childOf(parent), key)
			f.same([]outbound.StartedRun{{ID: child.ID()}}, f.starts(pending(parent.Tenant(), childOf(parent), key)))
			f.started(parent.Tenant(), key) // started by hand: its key stands for nothing
			f.started(f.tenant().ID(), childOf(parent), key)
		},
		"statuses come in the order of the runs, none for one that is not there": func(f fixture) {
			a, b := f.idle(f.tenant().ID()), f.started(f.tenant().ID())
			f.read(func(ctx context.Context, st outbound.Stores) error {
				got, err := st.Runs.Families.Statuses(ctx, tenant.All(a.Tenant()), []run.ID{"run_none", a.ID(), b.ID(), a.ID()})
				f.same([]run.Status{"", run.StatusPaused, "", run.StatusPaused}, got)
				return err
			})
		},
	})
}

func wokenFamilies(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"a run that turns wakes its parent, until that is recorded by who has looked": func(f fixture) {
			parent := f.idle(f.tenant().ID())
			child := f.idle(parent.Tenant(), childOf(parent))
			f.leases("nothing has happened", 9, 9)
			f.mustStep(turned(stepped(child, outbound.RunLease{}, over)))
			leased := f.leases("the child has ended", 9, 9, parent)
			if leased[0].Woken != 1 {
				f.Errorf("it has been woken %d times", leased[0].Woken)
			}
			looked := stepped(parent, leased[0].Lease, waits(nil))
			looked.Woken = 1
			f.mustStep(looked)
			f.leases("it has been looked at", 9, 9)
		},
		"and nothing that is recorded by who has not looked loses that": func(f fixture) {
			parent := f.started(f.tenant().ID())
			child := f.idle(parent.Tenant(), childOf(parent))
			lease := f.leases("it begins", 9, 9, parent)[0].Lease
			f.mustStep(turned(stepped(child, outbound.RunLease{}, over)))
			if good := f.renew(time.Hour, lease); len(good) != 1 || good[0].Woken != 1 {
				f.Errorf("renewed is %+v", good)
			}
			after := f.step(parent, lease, waits(nil))
			again := f.leases("recorded under the lease", 9, 9, after)
			f.renew(0, again[0].Lease)
			f.leases("recorded by somebody else", 9, 9, f.step(after, outbound.RunLease{}, waits(nil)))
		},
		"a step with which a run goes on as before wakes nobody": func(f fixture) {
			parent := f.idle(f.tenant().ID())
			f.step(f.idle(parent.Tenant(), childOf(parent)), outbound.RunLease{}, waits(nil))
			f.leases("nothing has happened", 9, 9)
		},
		"a run that fails or is cancelled wakes all that it started and that have not ended": func(f fixture) {
			for _, status := range []run.Status{run.StatusFailed, run.StatusCancelled} {
				parent := f.idle(f.tenant().ID(), func(st *run.State) { st.Calls = 3 })
				one, two := f.idle(parent.Tenant(), childOf(parent)), f.idle(parent.Tenant(), childOf(parent))
				f.started(parent.Tenant(), childOf(parent), over)
				f.idle(f.tenant().ID(), childOf(parent))
				f.mustStep(turned(stepped(parent, outbound.RunLease{}, over, func(st *run.State) { st.Status = status })))
				f.leasesTogether(string(status), one, two)
			}
		},
		"and one that completes none": func(f fixture) {
			parent := f.idle(f.tenant().ID(), func(st *run.State) { st.Calls = 1 })
			f.idle(parent.Tenant(), childOf(parent))
			f.mustStep(turned(stepped(parent, outbound.RunLease{}, over)))
			f.leases("completed", 9, 9)
		},
		"a parent that has ended, or is not there, is not woken": func(f fixture) {
			parent := f.started(f.tenant().ID(), over)
			for _, of := range []*run.Run{parent, pending(parent.Tenant())} {
				child := f.idle(parent.Tenant(), childOf(of))
				f.mustStep(turned(stepped(child, outbound.RunLease{}, over)))
			}
			f.leases("nobody is left", 9, 9)
		},
		"many ends are recorded together, and each counts once for its parent": func(f fixture) {
			owner := f.tenant().ID()
			a, b := f.idle(owner), f.idle(owner)
			var ends []outbound.RunStep
			for i := range 6 {
				ends = append(ends, turned(stepped(f.idle(owner, childOf([]*run.Run{a, b}[i%2])), outbound.RunLease{}, over)))
			}
			f.mustStep(ends...)
			for _, leased := range f.leasesTogether("both", a, b) {
				if leased.Woken != 1 {
					f.Errorf("%s has been woken %d times", leased.Lease.Run, leased.Woken)
				}
			}
		},
	})
}

func concurrentFamilies(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"who ends a child and who cancels its parent do not wait for each other": func(f fixture) {
			for range 3 {
				parent := f.idle(f.tenant().ID(), func(st *run.State) { st.Calls = 2 })
				one, two := f.idle(parent.Tenant(), childOf(parent)), f.idle(parent.Tenant(), childOf(parent))
				f.overlap(func(ctx context.Context, st outbound.Stores, other func()) error {
					r, err := st.Runs.Runs.Get(ctx, tenant.All(parent.Tenant()), two.ID())
					if err != nil {
						return err
					}
					other()
					return st.Runs.Runs.Record(ctx, turned(stepped(r, outbound.RunLease{}, over)))
				}, func(ctx context.Context, st outbound.Stores) error {
					return st.Runs.Runs.Record(ctx, turned(stepped(parent, outbound.RunLease{}, over, func(st *run.State) { st.Status = run.StatusCancelled })))
				})
				f.leases("the child that is left", 9, 9, one)
			}
		},
		"neither do who is to end many and who ends children of several": func(f fixture) {
			for range 3 {
				owner := f.tenant().ID()
				calls := func(st *run.State) { st.Calls = 1 }
				a, b := f.idle(owner, calls), f.idle(owner, calls)
				ofA, ofB := f.idle(owner, childOf(a)), f.idle(owner, childOf(b))
				f.overlap(func(ctx context.Context, st outbound.Stores, other func()) error {
					if err := st.Runs.Lanes.Hold(ctx, owner, b.ID(), a.ID()); err != nil {
						return err
					}
					for _, one := range []*run.Run{b, a} {
						if err := st.Runs.Runs.Record(ctx, turned(stepped(one, outbound.RunLease{}, over, func(st *run.State) { st.Status = run.StatusFailed }))); err != nil {
							return err
						}
						other()
					}
					return nil
				}, func(ctx context.Context, st outbound.Stores) error {
					return st.Runs.Runs.Record(ctx, turned(stepped(ofA, outbound.RunLease{}, over)), turned(stepped(ofB, outbound.RunLease{}, over)))
				})
			}
		},
		"what a step is about to change is left alone until that is done": func(f fixture) {
			parent := f.idle(f.tenant().ID())
			child := f.idle(parent.Tenant(), childOf(parent))
			step := stepped(parent, outbound.RunLease{}, waits(nil))
			var ended atomic.Bool
			f.overlap(func(ctx context.Context, st outbound.Stores, other func()) error {
				if err := st.Runs.Families.Hold(ctx, step); err != nil {
					return err
				}
				other()
				if ended.Load() {
					f.Error("a child has turned meanwhile")
				}
				if _, err := st.Runs.Runs.Start(ctx, pending(parent.Tenant(), childOf(parent))); err != nil {
					return err
				}
				return st.Runs.Runs.Record(ctx, step)
			}, func(ctx context.Context, st outbound.Stores) error {
				err := st.Runs.Runs.Record(ctx, turned(stepped(child, outbound.RunLease{}, over)))
				ended.Store(true)
				return err
			})
		},
	})
}
