// Package schedules implements inbound.Schedules and inbound.Scheduler: what is known
// about when triggers fire, and firing them.
package schedules

import (
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Service implements inbound.Schedules.
type Service struct {
	work  outbound.UnitOfWork
	clock outbound.Clock
}

var _ inbound.Schedules = (*Service)(nil)

// New returns the service.
func New(work outbound.UnitOfWork, clock outbound.Clock) *Service {
	return &Service{work: work, clock: clock}
}

// Preview lists the next fire times of a trigger.
func (s *Service) Preview(ctx context.Context, who tenant.Caller, id trigger.ID, count *int) (p trigger.Preview, err error) {
	if err = who.May(tenant.ReadTriggers); err != nil {
		return p, err
	}
	err = s.work.View(ctx, func(ctx context.Context, st outbound.Stores) error {
		trg, err := st.Triggers.Get(ctx, who.Scope, id)
		if err != nil {
			return err
		}
		around, err := standing(ctx, st, trg)
		if err != nil {
			return err
		}
		p, err = trg.Preview(around, count, s.clock.Now())
		return err
	})
	return p, err
}

// standing looks up what has to hold besides for the trigger to fire.
func standing(ctx context.Context, st outbound.Stores, trg *trigger.Trigger) (trigger.ParentState, error) {
	ver, err := st.Versions.Get(ctx, tenant.All(trg.Tenant()), trg.Version())
	if err != nil {
		return trigger.ParentState{}, err
	}
	wf, err := st.Workflows.Get(ctx, tenant.All(trg.Tenant()), ver.Workflow())
	if err != nil {
		return trigger.ParentState{}, err
	}
	return trigger.ParentState{WorkflowActive: wf.Active(), VersionActive: ver.Active()}, nil
}

// PreviewDraft lists the next fire times of a configuration. It writes nothing but the
// outcome that an idempotency key asks for.
func (s *Service) PreviewDraft(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, d trigger.PreviewDraft) (p trigger.Preview, err error) {
	if err = who.May(tenant.PreviewSchedule); err != nil {
		return p, err
	}
	now := s.clock.Now()
	if !idempotency.Wanted() {
		return trigger.NewPreview(d, now)
	}
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Idempotency.Claim(ctx, who.Tenant(), idempotency, now); err != nil {
			return err
		}
		if p, err = trigger.NewPreview(d, now); err != nil {
			return err
		}
		return st.Idempotency.Record(ctx, who.Tenant(), idempotency, p, now)
	})
	return p, err
}

// Fires lists the ledger of a trigger.
func (s *Service) Fires(ctx context.Context, who tenant.Caller, id trigger.ID, f trigger.FireFilter, q domain.Query) (found domain.Page[*trigger.Fire], err error) {
	if err = who.May(tenant.ReadTriggers); err != nil {
		return found, err
	}
	err = s.work.View(ctx, func(ctx context.Context, st outbound.Stores) error {
		if _, err := st.Triggers.Get(ctx, who.Scope, id); err != nil {
			return err
		}
		found, err = st.Fires.List(ctx, who.Scope, id, f, q)
		return err
	})
	return found, err
}
