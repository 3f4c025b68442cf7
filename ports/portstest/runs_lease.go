package portstest

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// claimBy lends the only run that is free.
func (f fixture) claimBy(worker string, period time.Duration) (lent outbound.LeasedRun) {
	f.Helper()
	f.write(func(ctx context.Context, st outbound.Stores) error {
		all, err := st.Runs.Queue.Claim(ctx, outbound.RunClaim{Worker: worker, Period: period, Limit: 9, PerTenant: 9})
		if err == nil && len(all) != 1 {
			f.Fatalf("%d runs were lent", len(all))
		}
		lent = all[0]
		return err
	})
	return lent
}

func (f fixture) tryAlone(lease outbound.RunLease) error {
	f.Helper()
	return f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error { return st.Runs.Queue.MarkIsolated(ctx, lease) })
}

func leaseEnds(f fixture) {
	r := f.started(f.tenant().ID())
	var lent outbound.LeasedRun
	const over = 0 // the time of the lease has passed at once
	claim := func(step, worker string, period time.Duration, want outbound.LeaseEnd) {
		f.Helper()
		if lent = f.claimBy(worker, period); lent.LastLeaseEnd != want {
			f.Errorf("%s: the lease before is said to have ended as %d, not %d", step, lent.LastLeaseEnd, want)
		}
	}
	claim("nobody had it", "a", over, outbound.LeaseReturned)
	claim("the same worker, which was late", "a", over, outbound.LeaseReturned)
	claim("another worker", "b", over, outbound.LeaseExpired)
	claim("once more", "c", over, outbound.LeaseExpired)
	f.renew(0, lent.Lease)
	claim("it was given back", "d", time.Hour, outbound.LeaseReturned)
	f.step(r, lent.Lease, busy)
	after := stepped(r, lent.Lease, busy).Run
	claim("a step gave it back", "e", over, outbound.LeaseReturned)
	stale := lent.Lease
	claim("before it is tried alone", "f", over, outbound.LeaseExpired)
	f.wantError(f.tryAlone(stale), domain.Conflict, "stale_run")
	if err := f.tryAlone(lent.Lease); err != nil {
		f.Fatal(err)
	}
	claim("it was tried alone", "g", over, outbound.LeaseExpiredIsolated)
	claim("and again, but not alone", "h", over, outbound.LeaseExpired)
	if err := f.tryAlone(lent.Lease); err != nil {
		f.Fatal(err)
	}
	kept := stepped(after, lent.Lease, busy)
	kept.Keep = true
	if err := f.tryStep(kept); err != nil {
		f.Fatal(err)
	}
	claim("a step was recorded since", "i", over, outbound.LeaseExpired)
	f.wantError(f.tryAlone(outbound.RunLease{Tenant: r.Tenant(), Run: run.ID("run_absent"), Number: 1}), domain.NotFound, "run_not_found")
}

// originOf is where a run came from, and how large it is.
func originOf(f fixture) {
	r := f.started(f.tenant().ID())
	f.read(func(ctx context.Context, st outbound.Stores) error {
		version, size, err := st.Runs.Origins.Of(ctx, tenant.All(r.Tenant()), r.ID())
		if version != r.Version() || size < int64(len(r.Payload())) || size > int64(len(r.Payload()))+1000 {
			f.Errorf("it is of version %s and %d bytes large", version, size)
		}
		_, _, absent := st.Runs.Origins.Of(ctx, tenant.All(f.tenant().ID()), r.ID())
		f.wantError(absent, domain.NotFound, "run_not_found")
		return err
	})
}
