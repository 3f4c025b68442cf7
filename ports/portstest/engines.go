package portstest

import (
	"context"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

// EngineStores are processes that share a database.
type EngineStores struct {
	Table    outbound.UnitOfWork // starts runs of the table, and serves no other engine
	Temporal outbound.UnitOfWork // starts runs of Temporal, and serves both engines
	Older    outbound.UnitOfWork // of the release that knew one engine only
}

// Engines is the contract of outbound.RunQueue for runs of several engines: a run is leased to
// processes that serve the engine with which it began, and keeps the others from nothing.
func Engines(t *testing.T, open func(t *testing.T) EngineStores) {
	t.Helper()
	s := open(t)
	table, temporal, older := fixture{t, s.Table}, fixture{t, s.Temporal}, fixture{t, s.Older}
	owner := table.tenant().ID()
	past := table.dbNow().Add(-time.Second)
	theirs := temporal.started(owner)
	waiting := temporal.started(owner, waits(&past))
	for who, f := range map[string]fixture{"the table": table, "an older process": older} {
		f.leases(who+" has nothing to do", 9, 9)
		f.freeAt(who+" waits for nothing", time.Time{})
	}
	ours := table.started(owner)
	table.leases("its own", 9, 9, ours)
	leased := temporal.leasesTogether("those of Temporal", theirs, waiting)
	for _, one := range leased {
		if one.Engine != run.EngineTemporal {
			t.Errorf("%s is of the engine %q", one.Lease.Run, one.Engine)
		}
	}
	finished := temporal.step(leased[0].Run, leased[0].Lease, over)
	table.step(finished, outbound.RunLease{}, busy, func(st *run.State) { st.FinishedAt = nil })
	table.leases("what is retried finishes where it began", 9, 9)
	older.leases("also for older processes", 9, 9)
	again := temporal.leases("what is retried", 9, 9, finished)
	if again[0].Engine != run.EngineTemporal {
		t.Errorf("after a retry it is of the engine %q", again[0].Engine)
	}
	for _, f := range []fixture{table, temporal} {
		for began, r := range map[run.Engine]*run.Run{run.EngineTable: ours, run.EngineTemporal: finished} {
			if got, err := f.getRun(owner, r.ID()); err != nil || got.Engine() != began || r.Engine() != began {
				t.Errorf("a run that began on the engine %q has %q, and %q where it is read: %v", began, r.Engine(), got.Engine(), err)
			}
		}
	}
	item := temporal.started(owner, childOf(ours), func(st *run.State) { st.Cause = run.CauseItem })
	if leased := table.leases("items are of the table", 9, 9, item); leased[0].Engine != run.EngineTable || item.Engine() != run.EngineTable {
		t.Errorf("an item is of the engines %q and %q", leased[0].Engine, item.Engine())
	}
	other := table.started(owner)
	if both := temporal.leases("Temporal's processes serve the table, too", 9, 9, other); both[0].Engine != run.EngineTable {
		t.Errorf("it is of the engine %q", both[0].Engine)
	}
}

func isTakenOverOnce(f fixture) {
	owner := f.tenant().ID()
	r := f.started(owner)
	before := f.leases("started", 9, 9, r)[0].Lease
	takeOver := func(lease outbound.RunLease) (taken outbound.LeasedRun, err error) {
		err = f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) (err error) {
			taken, err = st.Runs.Queue.TakeOver(ctx, lease, "worker-2", time.Hour)
			return err
		})
		return taken, err
	}
	taken, err := takeOver(before)
	if err != nil || taken.Lease.Number <= before.Number || taken.Until.Sub(taken.At) != time.Hour || taken.Size == 0 || taken.Engine != run.EngineTable || taken.LastLeaseEnd != outbound.LeaseReturned {
		f.Fatalf("taken over is %+v, %v", taken, err)
	}
	f.wantError(f.tryStep(stepped(r, before)), domain.Conflict, "stale_run")
	if good := f.renew(time.Hour, before); len(good) != 0 {
		f.Errorf("renewed is %v", good)
	}
	foreign, absent := taken.Lease, taken.Lease
	foreign.Tenant, absent.Run = f.tenant().ID(), "run_absent"
	for of, lease := range map[string]outbound.RunLease{"stale_run": before, "run_not_found": foreign} {
		_, err := takeOver(lease)
		f.wantError(err, map[string]domain.Kind{"stale_run": domain.Conflict, "run_not_found": domain.NotFound}[of], of)
	}
	_, err = takeOver(absent)
	f.wantError(err, domain.NotFound, "run_not_found")
	f.step(r, taken.Lease, waits(nil))
	_, err = takeOver(taken.Lease)
	f.wantError(err, domain.Conflict, "stale_run")
}
