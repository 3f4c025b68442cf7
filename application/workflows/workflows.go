// Package workflows implements inbound.Workflows and inbound.Versions.
package workflows

import (
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Service implements inbound.Workflows.
type Service struct {
	work   outbound.UnitOfWork
	clock  outbound.Clock
	random outbound.Random
}

var _ inbound.Workflows = (*Service)(nil)

// New returns the service.
func New(work outbound.UnitOfWork, clock outbound.Clock, random outbound.Random) *Service {
	return &Service{work: work, clock: clock, random: random}
}

// Create makes a workflow.
func (s *Service) Create(ctx context.Context, who tenant.Caller, once domain.Once, d inbound.WorkflowDraft) (wf *workflow.Workflow, err error) {
	if err = who.May(tenant.CreateWorkflow); err != nil {
		return nil, err
	}
	now := s.clock.Now()
	wf, err = workflow.New(workflow.ID(s.random.ID(workflow.IDPrefix)), who.Tenant, d.SubTenant, d.Draft, now)
	if err != nil {
		return nil, err
	}
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Outcomes.Claim(ctx, who.Tenant, once, now); err != nil {
			return err
		}
		if err := st.Workflows.Insert(ctx, wf); err != nil {
			return err
		}
		return st.Outcomes.Keep(ctx, who.Tenant, once, wf, now)
	})
	if err != nil {
		return nil, err
	}
	return wf, nil
}
