package firing

import (
	"context"

	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Start starts a run by hand.
func (f *Service) Start(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, of workflow.ID, c run.ManualCall) (r *run.Run, err error) {
	if err = who.May(tenant.StartRun); err != nil {
		return nil, err
	}
	if err = c.Check(); err != nil {
		return nil, err
	}
	now, id, entity := f.clock.Now(), run.ID(f.random.ID(run.IDPrefix)), c.EntityOr(f.random.ID)
	key, _ := c.DedupeKeyOr(idempotency, f.random.ID)
	err = f.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Idempotency.Claim(ctx, who.Tenant(), idempotency, now); err != nil {
			return err
		}
		found, err := st.Firing.Version(ctx, who.Scope, of, c.Version)
		if err != nil {
			return err
		}
		if err := execution.Startable(found, c.Version); err != nil {
			return err
		}
		if err := f.storage.Check(found.StoredBytes, int64(len(c.Payload()))); err != nil {
			return err
		}
		r = run.New(id, run.Start{
			Tenant: who.Tenant(), SubTenant: found.SubTenant, Workflow: found.Workflow, Version: found.Version,
			Entity: entity, DedupeKey: key, Cause: run.CauseManual, Payload: c.Payload(),
		}, now)
		if _, err := st.Runs.Runs.Start(ctx, r); err != nil {
			return err
		}
		return st.Idempotency.Record(ctx, who.Tenant(), idempotency, r, now)
	})
	if err != nil {
		return nil, err
	}
	f.signals.Notify(id)
	return r, nil
}
