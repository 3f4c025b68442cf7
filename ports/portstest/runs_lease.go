package portstest

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// claimBy leases the only run that is free.
func (f fixture) claimBy(worker string, period time.Duration) (leased outbound.LeasedRun) {
	f.Helper()
	f.write(func(ctx context.Context, st outbound.Stores) error {
		all, err := st.Runs.Queue.Claim(ctx, outbound.RunClaim{Worker: worker, Period: period, Limit: 9, PerTenant: 9})
		if err == nil && len(all) != 1 {
			f.Fatalf("%d runs were leased", len(all))
		}
		leased = all[0]
		return err
	})
	return leased
}

func (f fixture) markIsolated(lease outbound.RunLease) error {
	f.Helper()
	return f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error { return st.Runs.Queue.MarkIsolated(ctx, lease) })
}

func leaseEnds(f fixture) {
	r := f.started(f.tenant().ID())
	var leased outbound.LeasedRun
	const over = 0 // the time of the lease has passed at once
	claim := func(step, worker string, period time.Duration, want outbound.LeaseEnd) {
		f.Helper()
		if leased = f.claimBy(worker, period); leased.LastLeaseEnd != want {
			f.Errorf("%s: the lease before is said to have ended as %d, not %d", step, leased.LastLeaseEnd, want)
		}
	}
	claim("nobody had it", "a", over, outbound.LeaseReturned)
	claim("the same worker, which was late", "a", over, outbound.LeaseReturned)
	claim("another worker", "b", over, outbound.LeaseExpired)
	claim("once more", "c", over, outbound.LeaseExpired)
	f.renew(0, leased.Lease)
	claim("it was given back", "d", time.Hour, outbound.LeaseReturned)
	f.step(r, leased.Lease, busy)
	after := stepped(r, leased.Lease, busy).Run
	claim("a step gave it back", "e", over, outbound.LeaseReturned)
	stale := leased.Lease
	claim("before it is tried alone", "f", over, outbound.LeaseExpired)
	f.wantError(f.markIsolated(stale), domain.Conflict, "stale_run")
	if err := f.markIsolated(leased.Lease); err != nil {
		f.Fatal(err)
	}
	claim("it was tried alone", "g", over, outbound.LeaseExpiredIsolated)
	claim("and again, but not alone", "h", over, outbound.LeaseExpired)
	if err := f.markIsolated(leased.Lease); err != nil {
		f.Fatal(err)
	}
	kept := stepped(after, leased.Lease, busy)
	kept.Keep = true
	if err := f.tryStep(kept); err != nil {
		f.Fatal(err)
	}
	claim("a step was recorded since", "i", over, outbound.LeaseExpired)
	f.wantError(f.markIsolated(outbound.RunLease{Tenant: r.Tenant(), Run: run.ID("run_absent"), Number: 1}), domain.NotFound, "run_not_found")
}

// originOf is where a run came from, and how large it is.
func originOf(f fixture) {
	r := f.started(f.tenant().ID())
	f.read(func(ctx context.Context, st outbound.Stores) error {
		outline, err := st.Runs.Origins.Of(ctx, tenant.All(r.Tenant()), r.ID())
		if outline.Source != r.Source() || outline.Engine != r.Engine() || outline.Size < int64(len(r.Payload())) || outline.Size > int64(len(r.Payload()))+1000 {
			f.Errorf("it comes from %v", outline)
		}
		_, absent := st.Runs.Origins.Of(ctx, tenant.All(f.tenant().ID()), r.ID())
		f.wantError(absent, domain.NotFound, "run_not_found")
		return err
	})
}

// latestRun is the run of a version that says most of what flows through it.
func latestRun(f fixture) {
	owner := f.tenant().ID()
	const wf, first, second = workflow.ID("wf_latest"), workflow.VersionID("wfv_latest1"), workflow.VersionID("wfv_latest2")
	at := func(minutes int, version workflow.VersionID) *run.Run {
		return f.started(owner, func(s *run.State) {
			s.Workflow, s.Version, s.CreatedAt = wf, version, s.CreatedAt.Add(time.Duration(minutes)*time.Minute)
		})
	}
	latest := func(what string, of workflow.ID, version workflow.VersionID, want run.ID) {
		f.Helper()
		f.read(func(ctx context.Context, st outbound.Stores) error {
			id, size, err := st.Runs.Origins.Latest(ctx, tenant.All(owner), of, version)
			if want == "" {
				f.wantError(err, domain.NotFound, "run_not_found")
				return nil
			}
			if id != want || size == 0 {
				f.Errorf("%s: it is %s of %d bytes, not %s", what, id, size, want)
			}
			return err
		})
	}
	latest("without runs", wf, first, "")
	older, old, other := at(1, first), at(2, first), at(3, second)
	latest("none has finished", wf, first, old.ID())
	f.step(older, outbound.RunLease{}, ends)
	latest("one has finished", wf, first, older.ID())
	latest("of another version", wf, second, other.ID())
	latest("of the workflow", wf, "", older.ID())
	latest("of another workflow", "wf_other", "", "")
	f.step(old, outbound.RunLease{}, ends)
	latest("two have finished", wf, "", old.ID())
	for i := range outbound.LatestRuns {
		f.started(owner, func(s *run.State) {
			s.Workflow, s.Version, s.CreatedAt = wf, first, s.CreatedAt.Add(time.Hour+time.Duration(i)*time.Second)
			s.Parent, s.ParentNode, s.Cause, s.Index = old.ID(), "each", run.CauseItem, i
		})
	}
	latest("it has many items", wf, first, old.ID())
	latest("of the workflow, too", wf, "", old.ID())
	called := f.started(owner, childOf(old), func(s *run.State) { s.Workflow, s.Version, s.CreatedAt = wf, second, s.CreatedAt.Add(2*time.Hour) })
	f.step(called, outbound.RunLease{}, ends)
	latest("another one called it", wf, second, called.ID())
	for i := range outbound.LatestRuns {
		at(3*60+i, first)
	}
	latest("all that have finished are too old", wf, first, at(5*60, first).ID())
}
