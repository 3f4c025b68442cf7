package portstest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// claimRuns leases runs for an hour.
func (f fixture) claimRuns(limit, perTenant int) []outbound.LeasedRun {
	f.Helper()
	return f.claimFor(time.Hour, limit, perTenant)
}

func (f fixture) claimFor(period time.Duration, limit, perTenant int) (leased []outbound.LeasedRun) {
	f.Helper()
	f.write(func(ctx context.Context, st outbound.Stores) (err error) {
		leased, err = st.Runs.Queue.Claim(ctx, outbound.RunClaim{Worker: "worker-1", Period: period, Limit: limit, PerTenant: perTenant})
		return err
	})
	return leased
}

// leases checks which runs are leased, and in which order.
func (f fixture) leases(step string, limit, perTenant int, want ...*run.Run) (leased []outbound.LeasedRun) {
	f.Helper()
	var wanted, got []run.ID
	for _, r := range want {
		wanted = append(wanted, r.ID())
	}
	leased = f.claimRuns(limit, perTenant)
	for _, l := range leased {
		got = append(got, l.Run.ID())
	}
	f.same(wanted, got)
	if f.Failed() {
		f.Fatal(step)
	}
	return leased
}

// leasesTogether checks which runs are leased that became free together, in any order.
func (f fixture) leasesTogether(step string, want ...*run.Run) (leased []outbound.LeasedRun) {
	f.Helper()
	var wanted, got []run.ID
	for _, r := range want {
		wanted = append(wanted, r.ID())
	}
	leased = f.claimRuns(9, 9)
	for _, l := range leased {
		got = append(got, l.Run.ID())
	}
	slices.Sort(wanted)
	slices.Sort(got)
	if f.same(wanted, got); f.Failed() {
		f.Fatal(step)
	}
	return leased
}

// dbNow reads the database's clock.
func (f fixture) dbNow() (now time.Time) {
	f.Helper()
	f.read(func(ctx context.Context, st outbound.Stores) (err error) {
		now, err = st.Runs.Queue.Now(ctx)
		return err
	})
	return now
}

func (f fixture) renew(period time.Duration, leases ...outbound.RunLease) (good []outbound.RenewedLease) {
	f.Helper()
	f.write(func(ctx context.Context, st outbound.Stores) (err error) {
		good, err = st.Runs.Queue.Renew(ctx, leases, period)
		return err
	})
	return good
}

// freeAt checks when a run is free next; the zero time is never.
func (f fixture) freeAt(step string, want time.Time) {
	f.Helper()
	f.freeAfter(step, time.Time{}, want)
}

// freeAfter checks when a run is free next after a time, or at all after the zero time.
func (f fixture) freeAfter(step string, after, want time.Time) {
	f.Helper()
	f.read(func(ctx context.Context, st outbound.Stores) error {
		at, ok, err := st.Runs.Queue.Next(ctx, after)
		if ok == want.IsZero() || !at.Equal(want) {
			f.Errorf("%s: the next is free at %s (%v), not at %s", step, at, ok, want)
		}
		return err
	})
}

// busy makes a run one whose attempt was begun and has no result.
func busy(st *run.State) {
	st.Status, st.Nodes = run.StatusRunning, []run.NodeState{{ID: "a", Status: run.NodeRunning, Attempts: 1}}
}

// waits makes a run one that a worker has to look at some time from now.
func waits(at *time.Time) func(*run.State) {
	return func(st *run.State) {
		st.Status, st.WakeAt, st.Nodes = run.StatusPaused, at, []run.NodeState{{ID: "a", Status: run.NodeWaiting, Pause: &run.Pause{Kind: run.PauseWait, Since: noon, Until: at}}}
	}
}

func over(st *run.State) {
	st.Status, st.FinishedAt, st.WakeAt = run.StatusCompleted, &st.UpdatedAt, nil
}

// RunQueue is the contract of outbound.RunQueue for one run at a time.
func RunQueue(t *testing.T, open OpenStore) {
	cases(t, open, singleLeases())
	cases(t, open, manyLeases())
}

// singleLeases are claims about the lease of one run.
func singleLeases() map[string]func(f fixture) {
	nobody := outbound.RunLease{}
	return map[string]func(f fixture){
		"a run that was started is leased at once, with all there is of it": func(f fixture) {
			full := runState(f.tenant().ID())
			full.Status, full.FinishedAt, full.Engine = run.StatusPending, nil, run.EngineTable
			f.start(run.Restore(full))
			before := f.dbNow()
			leased := f.claimFor(time.Minute, 9, 9)
			if len(leased) != 1 || leased[0].Lease.Number <= 0 || leased[0].At.Before(before) || leased[0].Until.Sub(leased[0].At) != time.Minute {
				f.Fatalf("leased are %+v", leased)
			}
			f.same(full, leased[0].Run.State())
			f.same(outbound.RunLease{Tenant: full.Tenant, Run: full.ID, Number: leased[0].Lease.Number}, leased[0].Lease)
			f.holds(full)
			f.freeAt("leased", leased[0].Until)
		},
		"a run is due at once although the clock of who started it is ahead": func(f fixture) {
			r := f.started(f.tenant().ID(), func(st *run.State) { st.CreatedAt = f.dbNow().Add(time.Hour) })
			leased := f.leases("started", 9, 9, r)
			if kept := leased[0].Run.State(); kept.CreatedAt.After(f.dbNow()) || kept.UpdatedAt.After(f.dbNow()) {
				f.Errorf("it was created at %s and changed at %s, after now", kept.CreatedAt, kept.UpdatedAt)
			}
			next := stepped(r, leased[0].Lease, busy, func(st *run.State) { st.UpdatedAt = r.CreatedAt() })
			if err := f.tryStep(next); err != nil {
				f.Fatal(err)
			}
			f.leases("recorded", 9, 9, next.Run)
		},
		"a run is leased when it is due": func(f fixture) {
			owner := f.tenant().ID()
			past, soon, later := f.dbNow().Add(-time.Second), f.dbNow().Add(time.Hour), f.dbNow().Add(2*time.Hour)
			finished := f.started(owner, over)
			forever, future := f.started(owner, waits(nil)), f.started(owner, waits(&later))
			f.freeAt("nothing is due now", later)
			retried := f.started(owner, busy, func(st *run.State) { st.Nodes[0].RetryAt, st.WakeAt = &soon, &soon })
			f.freeAt("the first of two", soon)
			elapsed, lost := f.started(owner, waits(&past)), f.started(owner, busy, func(st *run.State) { st.UpdatedAt, st.WakeAt = past.Add(time.Millisecond), &later })
			f.freeAfter("besides what is due", f.dbNow(), soon)
			f.freeAfter("after the first", soon, later)
			f.freeAfter("after all", later, time.Time{})
			f.leases("what is due", 9, 9, elapsed, lost)
			f.leases("nothing more", 9, 9)
			f.step(future, nobody, waits(&past))
			f.step(retried, nobody, over)
			f.leases("one that a step made due", 9, 9, future)
			f.step(finished, nobody, busy, func(st *run.State) { st.FinishedAt, st.UpdatedAt = nil, past })
			f.leases("one that was retried", 9, 9, finished)
			f.step(forever, nobody, busy, func(st *run.State) { st.UpdatedAt = past })
			f.leases("one that was resumed", 9, 9, forever)
		},
		"a lease ends with its time, and what was done under it cannot be recorded when another has the run": func(f fixture) {
			r := f.started(f.tenant().ID())
			frozen := f.claimFor(0, 9, 9)[0] // its time is over at once
			next := f.leases("after that", 9, 9, r)[0]
			if next.Lease.Number <= frozen.Lease.Number {
				f.Errorf("lease %d after %d", next.Lease.Number, frozen.Lease.Number)
			}
			f.wantError(f.tryStep(stepped(r, frozen.Lease)), domain.Conflict, "stale_run")
			if good := f.renew(time.Hour, frozen.Lease); len(good) != 0 {
				f.Errorf("renewed is %v", good)
			}
			f.holds(r.State())
			f.step(r, next.Lease)
		},
		"a lease whose time has passed is good while nobody else has the run": func(f fixture) {
			r := f.started(f.tenant().ID())
			late := f.claimFor(0, 9, 9)[0]
			s := stepped(r, late.Lease, busy)
			s.Keep = true
			if err := f.tryStep(s); err != nil {
				f.Fatal(err)
			}
			f.same([]outbound.RenewedLease{{RunLease: late.Lease, Seq: 1}}, f.renew(time.Hour, late.Lease))
			f.leases("renewed", 9, 9)
		},
		"a worker keeps its lease or gives it up with a step": func(f fixture) {
			r := f.started(f.tenant().ID())
			lease := f.leases("started", 9, 9, r)[0].Lease
			s := stepped(r, lease, busy)
			s.Keep = true
			if err := f.tryStep(s); err != nil {
				f.Fatal(err)
			}
			f.leases("kept", 9, 9)
			r = f.step(s.Run, lease, busy, func(st *run.State) { st.UpdatedAt = noon })
			again := f.leases("given up", 9, 9, r)[0].Lease
			f.wantError(f.tryStep(stepped(r, lease)), domain.Conflict, "stale_run")
			s = stepped(r, again, over)
			s.Keep = true
			if err := f.tryStep(s); err != nil {
				f.Fatal(err)
			}
			if good := f.renew(time.Hour, again); len(good) != 0 {
				f.Errorf("the lease of a finished run was renewed: %v", good)
			}
			f.freeAt("finished", time.Time{})
		},
		"a lease is taken over once, and whoever had it before can neither record nor renew": isTakenOverOnce,
		"a step of nobody's leaves the lease, and the worker learns of it": func(f fixture) {
			r, other := f.started(f.tenant().ID()), f.started(f.tenant().ID())
			leased := f.claimRuns(9, 9)
			lease := leased[0].Lease
			if leased[0].Run.ID() != r.ID() {
				lease = leased[1].Lease
			}
			after := f.step(r, nobody, busy)
			f.leases("still leased", 9, 9)
			f.wantError(f.tryStep(stepped(r, lease)), domain.Conflict, "stale_run")
			f.same([]outbound.RenewedLease{{RunLease: lease, Seq: 1}}, f.renew(time.Hour, lease))
			after = f.step(after, nobody, over)
			if good := f.renew(time.Hour, lease); len(good) != 0 {
				f.Errorf("the lease of a run that somebody ended was renewed: %v", good)
			}
			f.wantError(f.tryStep(stepped(after, lease)), domain.Conflict, "stale_run")
			f.step(other, nobody)
		},
	}
}

// manyLeases are claims about several leases, and about who may have any.
func manyLeases() map[string]func(f fixture) {
	return map[string]func(f fixture){
		"many leases are renewed together, those that are good": func(f fixture) {
			owner := f.tenant().ID()
			for range 3 {
				f.started(owner)
			}
			var leases []outbound.RunLease
			for _, l := range f.claimFor(time.Minute, 9, 9) {
				leases = append(leases, l.Lease)
			}
			wrong, absent, foreign := leases[1], leases[1], leases[1]
			wrong.Number++
			absent.Run, foreign.Tenant = "run_absent", f.tenant().ID()
			good := make(map[run.ID]bool)
			for _, l := range f.renew(time.Hour, leases[0], wrong, absent, foreign, leases[2]) {
				good[l.Run] = true
			}
			f.same(map[run.ID]bool{leases[0].Run: true, leases[2].Run: true}, good)
			if good := f.renew(time.Hour); len(good) != 0 {
				f.Errorf("renewed are %v", good)
			}
		},
		"a worker gives runs back": func(f fixture) {
			r := f.started(f.tenant().ID())
			lease := f.leases("started", 9, 9, r)[0].Lease
			f.renew(0, lease)
			f.leases("given back", 9, 1, r)
		},
		"a step that changed nothing gives the run back and appends nothing": func(f fixture) {
			r := f.started(f.tenant().ID())
			lease := f.leases("started", 9, 9, r)[0].Lease
			if err := f.tryStep(outbound.RunStep{Run: r, From: 0, Lease: lease}); err != nil {
				f.Fatal(err)
			}
			f.leases("given back", 9, 9, r)
		},
		"a worker is told how the lease before has ended": leaseEnds,
		"a run's version and size are known without it":   originOf,
		"the run is found that says most of a version":    latestRun,
		"a unit that fails leases nothing": func(f fixture) {
			r := f.started(f.tenant().ID())
			err := f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
				leased, err := st.Runs.Queue.Claim(ctx, outbound.RunClaim{Period: time.Hour, Limit: 9, PerTenant: 9})
				if len(leased) != 1 {
					f.Errorf("%d were leased", len(leased))
				}
				return errors.Join(err, errOnPurpose)
			})
			if !errors.Is(err, errOnPurpose) {
				f.Fatal(err)
			}
			f.leases("after the failure", 9, 9, r)
		},
		"nothing is leased where nothing may be written": func(f fixture) {
			r := f.started(f.tenant().ID())
			for _, unit := range []func(context.Context, func(context.Context, outbound.Stores) error) error{f.work.View, f.work.Read} {
				err := unit(f.Context(), func(ctx context.Context, st outbound.Stores) error {
					_, errClaim := st.Runs.Queue.Claim(ctx, outbound.RunClaim{Period: time.Hour, Limit: 9, PerTenant: 9})
					_, errRenew := st.Runs.Queue.Renew(ctx, []outbound.RunLease{{Tenant: r.Tenant(), Run: r.ID()}}, time.Hour)
					if errClaim == nil || errRenew == nil {
						f.Errorf("claim: %v, renewal: %v", errClaim, errRenew)
					}
					return errOnPurpose
				})
				if !errors.Is(err, errOnPurpose) {
					f.Error(err)
				}
			}
			f.leases("still free", 9, 9, r)
		},
		"runs of a tenant that is not active wait": func(f fixture) {
			ten := f.tenant()
			r := f.started(ten.ID())
			change := func(active bool) {
				f.write(func(ctx context.Context, st outbound.Stores) error {
					got, err := st.Tenants.Get(ctx, ten.ID())
					if err != nil {
						return err
					}
					if active {
						got.Resume(noon)
					} else {
						got.Suspend(noon)
					}
					return st.Tenants.Update(ctx, got)
				})
			}
			change(false)
			f.leases("suspended", 9, 9)
			f.freeAt("suspended", time.Time{})
			change(true)
			f.leases("resumed", 9, 9, r)
		},
	}
}

// RunTurns is the contract of outbound.RunQueue for the order of many runs.
func RunTurns(t *testing.T, open OpenStore) {
	cases(t, open, tenantTurns())
	cases(t, open, timedTurns())
}

// tenantTurns are claims about which tenant comes next.
func tenantTurns() map[string]func(f fixture) {
	return map[string]func(f fixture){
		"ten runs of one tenant come with the first of thousands of another": func(f fixture) {
			flood, modest := f.tenant().ID(), f.tenant().ID()
			f.burst(flood, thousands())
			f.burst(modest, 10)
			n := make(map[tenant.ID]int)
			for _, l := range f.claimRuns(20, 1000) {
				n[l.Run.Tenant()]++
			}
			f.same(map[tenant.ID]int{flood: 10, modest: 10}, n)
		},
		"the tenants take turns, and the oldest run of each comes first": func(f fixture) {
			a, b := f.tenant().ID(), f.tenant().ID()
			past := f.dbNow().Add(-time.Hour)
			at := func(seconds int) func(*run.State) {
				return func(st *run.State) { st.CreatedAt = past.Add(time.Duration(seconds) * time.Second) }
			}
			a2, a1, a3 := f.started(a, at(2)), f.started(a, at(1)), f.started(a, at(2))
			b1, b2 := f.started(b, at(8)), f.started(b, at(9))
			f.leases("all", 9, 9, a1, b1, a2, b2, a3)
		},
		"a run that is not due takes nobody's place": func(f fixture) {
			later := f.dbNow().Add(time.Hour)
			f.started(f.tenant().ID(), waits(&later))
			f.leases("one", 1, 9, f.started(f.tenant().ID()))
		},
		"what is leased counts, so that who has little comes first": func(f fixture) {
			a, b := f.tenant().ID(), f.tenant().ID()
			a1, a2, a3, a4 := f.started(a), f.started(a), f.started(a), f.started(a)
			f.leases("alone", 2, 9, a1, a2)
			b1, b2, b3 := f.started(b), f.started(b), f.started(b)
			f.leases("the other", 2, 9, b1, b2)
			f.leases("even again", 9, 9, a3, b3, a4)
		},
		"turns go on from one claim to the next": func(f fixture) {
			var want []*run.Run
			owners := []tenant.ID{f.tenant().ID(), f.tenant().ID(), f.tenant().ID()}
			for range 2 {
				for _, owner := range owners {
					want = append(want, f.started(owner))
				}
			}
			for i, r := range want {
				leased := f.leases(fmt.Sprint("claim ", i), 1, 9, r)
				f.step(r, leased[0].Lease, over)
			}
		},
		"a tenant has no more runs leased than its bound": func(f fixture) {
			a, b := f.tenant().ID(), f.tenant().ID()
			a1, a2, a3, b1 := f.started(a), f.started(a), f.started(a), f.started(b)
			leased := f.leases("two each", 9, 2, a1, b1, a2)
			f.leases("no more", 9, 2)
			f.step(a1, leased[0].Lease, over)
			f.leases("one has finished", 9, 2, a3)
			f.renew(0, leased[2].Lease)
			f.leases("one is given back", 9, 2, a2)
		},
		"a tenant with many runs fills the places that the others leave": func(f fixture) {
			for range 8 {
				f.burst(f.tenant().ID(), 1)
			}
			flood := f.tenant().ID()
			f.burst(flood, 60)
			n := 0
			leased := f.claimRuns(40, 30)
			for _, l := range leased {
				if l.Run.Tenant() == flood {
					n++
				}
			}
			if n != 30 || len(leased) != 38 {
				f.Errorf("%d of %d are its, not 30 of 38", n, len(leased))
			}
		},
		"each of many tenants gets its turn within as many claims as there are tenants for each run": func(f fixture) {
			const tenants, each = 60, 4
			flood := f.tenant().ID()
			f.burst(flood, 300)
			for range tenants - 1 {
				f.burst(f.tenant().ID(), 2)
			}
			for lap := range 2 {
				got := make(map[tenant.ID]int)
				for range tenants / each {
					leased := f.claimRuns(each, 9)
					for _, l := range leased {
						got[l.Run.Tenant()]++
					}
					for _, l := range leased {
						f.step(l.Run, l.Lease, over)
					}
				}
				if len(got) != tenants || got[flood] != 1 {
					f.Errorf("in lap %d %d tenants had their turn; the flood had %d", lap, len(got), got[flood])
				}
			}
		},
	}
}

// timedTurns are claims about runs whose time has come, and about bounds.
func timedTurns() map[string]func(f fixture) {
	return map[string]func(f fixture){
		"a tenant that has nothing gets its turn although all before it have something": func(f fixture) {
			const tenants, each = 40, 2
			for range tenants {
				f.burst(f.tenant().ID(), 2)
			}
			got := make(map[tenant.ID]int)
			for range tenants / each {
				for _, l := range f.claimRuns(each, 9) {
					got[l.Run.Tenant()]++
				}
			}
			if len(got) != tenants {
				f.Errorf("%d of %d tenants had their turn", len(got), tenants)
			}
		},
		"a run whose time has come waits little for hundreds of another tenant whose time came before": func(f fixture) {
			before, past := f.dbNow().Add(-time.Hour), f.dbNow().Add(-time.Minute)
			flood, modest := f.tenant().ID(), f.tenant().ID()
			var some []*run.Run
			for range 700 {
				some = append(some, pending(flood, waits(&before)))
			}
			f.start(some...)
			want := f.started(modest, waits(&past))
			got := make(map[tenant.ID]run.ID)
			for range 3 { // which let in 500 each
				for _, l := range f.claimRuns(2, 9) {
					got[l.Run.Tenant()] = l.Run.ID()
				}
			}
			if got[modest] != want.ID() {
				f.Error("it was not leased")
			}
		},
		"what a tenant that is not active has waiting is out of the way soon": func(f fixture) {
			past, later := f.dbNow().Add(-time.Hour), f.dbNow().Add(time.Hour)
			idle := f.tenant()
			var some []*run.Run
			for i := range 600 {
				change := waits(&past)
				if i%2 == 0 {
					change = func(*run.State) {}
				}
				some = append(some, pending(idle.ID(), change))
			}
			f.start(some...)
			f.write(func(ctx context.Context, st outbound.Stores) error {
				got, err := st.Tenants.Get(ctx, idle.ID())
				if err != nil {
					return err
				}
				got.Suspend(noon)
				return st.Tenants.Update(ctx, got)
			})
			f.started(f.tenant().ID(), waits(&later))
			f.leases("nothing is free", 9, 9)
			f.freeAt("behind them", later)
		},
		"runs are leased until those before are as large as is wanted, and one in any case": func(f fixture) {
			owner := f.tenant().ID()
			past := f.dbNow().Add(-time.Hour)
			sized := func(second, size int) *run.Run {
				return f.started(owner, func(st *run.State) {
					st.CreatedAt = past.Add(time.Duration(second) * time.Second)
					st.Payload = json.RawMessage(`"` + strings.Repeat("x", size-2) + `"`)
				})
			}
			large, small, another, last := sized(1, 50_000), sized(2, 1000), sized(3, 1000), sized(4, 1000)
			claim := func(bytes int64, want ...*run.Run) {
				f.Helper()
				var wanted, got []run.ID
				for _, r := range want {
					wanted = append(wanted, r.ID())
				}
				f.write(func(ctx context.Context, st outbound.Stores) error {
					leased, err := st.Runs.Queue.Claim(ctx, outbound.RunClaim{Worker: "w", Period: time.Hour, Limit: 9, PerTenant: 9, Bytes: bytes})
					for i, l := range leased {
						got = append(got, l.Run.ID())
						if st := want[min(i, len(want)-1)].State(); l.Size < int64(len(st.Payload)) || l.Size > int64(len(st.Payload))+1000 {
							f.Errorf("its size is said to be %d", l.Size)
						}
					}
					return err
				})
				f.same(wanted, got)
			}
			claim(2000, large)
			claim(2000, small, another)
			claim(1, last)
		},
		"of many units that claim at the same time each gets others, and no tenant more than its bound": runRace,
	}
}

func runRace(f fixture) {
	const tenants, each, workers, bound = 3, 20, 6, 3
	for range tenants {
		f.burst(f.tenant().ID(), each)
	}
	var mu sync.Mutex
	seen, under := make(map[run.ID]int), make(map[tenant.ID]int)
	var done sync.WaitGroup
	for range workers {
		done.Go(func() {
			for range 40 * tenants * each { // at most: a bound can leave nothing to claim for a moment
				mu.Lock()
				all := len(seen) == tenants*each
				mu.Unlock()
				if all || f.Failed() {
					return
				}
				leased := f.claimRuns(2, bound)
				mu.Lock()
				for _, l := range leased {
					seen[l.Run.ID()]++
					if under[l.Run.Tenant()]++; under[l.Run.Tenant()] > bound {
						f.Errorf("%s has %d at the same time", l.Run.Tenant(), under[l.Run.Tenant()])
					}
				}
				mu.Unlock()
				for _, l := range leased {
					mu.Lock() // before the store knows, since another unit may claim at once when it does
					under[l.Run.Tenant()]--
					mu.Unlock()
					f.step(l.Run, l.Lease, over)
				}
			}
		})
	}
	done.Wait()
	for id, n := range seen {
		if n != 1 {
			f.Errorf("%s was leased %d times", id, n)
		}
	}
	if len(seen) != tenants*each {
		f.Errorf("%d of %d were leased", len(seen), tenants*each)
	}
}
