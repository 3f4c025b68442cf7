package firing

import (
	"cmp"
	"context"

	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Rerun starts a run that repeats another one, which is read once there is memory for it and
// for what is taken over.
func (f *Service) Rerun(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id run.ID, c run.RerunCall) (made run.Summary, err error) {
	if err = who.May(tenant.RerunRun); err != nil {
		return made, err
	}
	if c.Payload != nil { // which is no repetition
		if err = who.May(tenant.StartRun); err != nil {
			return made, err
		}
	}
	if err = c.Check(); err != nil {
		return made, err
	}
	var outline outbound.RunOutline
	err = f.work.View(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
		if err = st.Idempotency.Claim(ctx, who.Tenant(), idempotency, f.clock.Now()); err == nil {
			outline, err = st.Runs.Origins.Of(ctx, who.Scope, id)
		}
		return err
	})
	if err != nil {
		return made, err
	}
	size := outline.Size + int64(len(c.Payload))
	ctx = outbound.WithLargeWrite(ctx, int(size))
	waited := f.computing.Do(ctx, who.Tenant(), f.computing.Demand(size), func() {
		var next *run.Run
		if next, err = f.repeated(ctx, who.Scope, id, c); err == nil {
			made, err = f.startRerun(ctx, who, idempotency, next, c)
		}
	})
	return made, cmp.Or(waited, err)
}

// repeated makes the run that repeats another one.
func (f *Service) repeated(ctx context.Context, scope tenant.Scope, id run.ID, c run.RerunCall) (*run.Run, error) {
	var of *run.Run
	again := run.Again{DedupeKey: f.random.ID(run.DedupeKeyPrefix), Payload: c.Payload, From: c.From}
	err := f.work.View(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
		if of, err = st.Runs.Runs.Get(ctx, scope, id); err != nil {
			return err
		}
		if again.Source = of.Source(); c.Active() {
			var found outbound.FiringVersion
			found, err = st.Firing.Version(ctx, scope, of.Workflow(), "")
			again.Source, err = run.Source{Version: found.Version}, execution.WorkflowGone(err)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if again.Version == "" {
		return nil, execution.Startable(outbound.FiringVersion{WorkflowActive: true}, "")
	}
	var plan *run.Plan
	if c.From != nil {
		if plan, err = f.plans.Of(ctx, scope.Tenant(), again.Source); err != nil {
			return nil, execution.VersionGone(err)
		}
	}
	return of.Rerun(plan, run.ID(f.random.ID(run.IDPrefix)), again, f.clock.Now())
}

func (f *Service) startRerun(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, next *run.Run, c run.RerunCall) (run.Summary, error) {
	made, now := next.Summary(), next.CreatedAt()
	err := f.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Idempotency.Claim(ctx, who.Tenant(), idempotency, now); err != nil {
			return err
		}
		found, err := execution.CheckRepeat(ctx, st, who.Scope, next)
		if err != nil {
			return err
		}
		if err := f.allowance.In(st).Admit(ctx, who.Tenant(), found.Budgets, 1, found.StoredBytes, next.Size()); err != nil {
			return err
		}
		if _, err := st.Runs.Runs.Start(ctx, next); err != nil {
			return err
		}
		return st.Idempotency.Record(ctx, who.Tenant(), idempotency, made, now)
	})
	if err != nil {
		return run.Summary{}, err
	}
	f.signals.Notify(next.ID())
	return made, nil
}
