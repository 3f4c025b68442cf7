// Package workflows implements inbound.Workflows and inbound.Versions.
package workflows

import (
	"cmp"
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Service implements inbound.Workflows.
type Service struct {
	work    outbound.UnitOfWork
	signals outbound.RunSignals
	clock   outbound.Clock
	random  outbound.Random
}

var _ inbound.Workflows = (*Service)(nil)

// New returns the service.
func New(work outbound.UnitOfWork, signals outbound.RunSignals, clock outbound.Clock, random outbound.Random) *Service {
	return &Service{work: work, signals: signals, clock: clock, random: random}
}

// Create makes a workflow.
func (s *Service) Create(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, d inbound.WorkflowDraft) (wf *workflow.Workflow, err error) {
	if err = who.May(tenant.CreateWorkflow); err != nil {
		return nil, err
	}
	if err = mayKeep(who, nil, d.RunDays); err != nil {
		return nil, err
	}
	d.SubTenant, d.MaxRunDays = who.Scope.OrOwn(d.SubTenant), who.Settings.KeptRunDays()
	if err = who.Scope.Check(d.SubTenant); err != nil {
		return nil, err
	}
	now := s.clock.Now()
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Idempotency.Claim(ctx, who.Tenant(), idempotency, now); err != nil {
			return err
		}
		wf, err = workflow.New(workflow.ID(s.random.ID(workflow.IDPrefix)), who.Tenant(), d.SubTenant, d.Draft, now)
		if err != nil {
			return err
		}
		if err := st.Workflows.Insert(ctx, wf); err != nil {
			return err
		}
		return st.Idempotency.Record(ctx, who.Tenant(), idempotency, wf, now)
	})
	if err != nil {
		return nil, err
	}
	return wf, nil
}

// Get returns a workflow.
func (s *Service) Get(ctx context.Context, who tenant.Caller, id workflow.ID) (wf *workflow.Workflow, err error) {
	if err = who.May(tenant.ReadWorkflows); err != nil {
		return nil, err
	}
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		wf, err = st.Workflows.Get(ctx, who.Scope, id)
		return err
	})
	return wf, err
}

// List returns a page of workflows.
func (s *Service) List(ctx context.Context, who tenant.Caller, f workflow.Filter, q domain.Query) (found domain.Page[*workflow.Workflow], err error) {
	if err = who.May(tenant.ReadWorkflows); err != nil {
		return found, err
	}
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err = st.Workflows.List(ctx, who.Scope, f, q)
		return err
	})
	return found, err
}

// Update changes what the patch names.
func (s *Service) Update(ctx context.Context, who tenant.Caller, id workflow.ID, at domain.Expected, p workflow.Patch) (*workflow.Workflow, error) {
	p.MaxRunDays = who.Settings.KeptRunDays()
	return s.change(ctx, who, id, at, func(wf *workflow.Workflow) error {
		before := wf.RunDays()
		return cmp.Or(wf.Revise(p, s.clock.Now()), mayKeep(who, before, wf.RunDays()))
	})
}

// mayKeep returns nil where the days for which runs are kept stay, or the caller may delete runs.
func mayKeep(who tenant.Caller, before, after *int) error {
	if before == nil && after == nil || before != nil && after != nil && *before == *after {
		return nil
	}
	return who.May(tenant.DeleteRun)
}

// Toggle makes an active workflow inactive and the reverse.
func (s *Service) Toggle(ctx context.Context, who tenant.Caller, id workflow.ID, at domain.Expected) (*workflow.Workflow, error) {
	return s.change(ctx, who, id, at, func(wf *workflow.Workflow) error {
		wf.Toggle(s.clock.Now())
		return nil
	})
}

func (s *Service) change(ctx context.Context, who tenant.Caller, id workflow.ID, at domain.Expected, verb func(*workflow.Workflow) error) (wf *workflow.Workflow, err error) {
	if err = who.May(tenant.ChangeWorkflow); err != nil {
		return nil, err
	}
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if wf, err = st.Workflows.Get(ctx, who.Scope, id); err != nil {
			return err
		}
		if err := at.Check(wf.Revision()); err != nil {
			return err
		}
		if err := verb(wf); err != nil {
			return err
		}
		return st.Workflows.Update(ctx, wf)
	})
	if err != nil {
		return nil, err
	}
	return wf, nil
}
