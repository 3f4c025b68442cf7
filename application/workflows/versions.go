package workflows

import (
	"context"
	"errors"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Versions implements inbound.Versions.
type Versions struct {
	work   outbound.UnitOfWork
	clock  outbound.Clock
	random outbound.Random
}

var _ inbound.Versions = (*Versions)(nil)

// NewVersions returns the service.
func NewVersions(work outbound.UnitOfWork, clock outbound.Clock, random outbound.Random) *Versions {
	return &Versions{work: work, clock: clock, random: random}
}

// Create saves a draft under the workflow's next number.
func (s *Versions) Create(ctx context.Context, who tenant.Caller, once domain.Once, d inbound.VersionDraft) (ver *workflow.Version, err error) {
	if err = who.May(tenant.CreateVersion); err != nil {
		return nil, err
	}
	now := s.clock.Now()
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Outcomes.Claim(ctx, who.Tenant, once, now); err != nil {
			return err
		}
		wf, err := st.Workflows.Get(ctx, who.Tenant, d.Workflow)
		if err != nil && !errors.Is(err, domain.NotFound) {
			return err
		}
		number := 0
		if wf != nil {
			if number, err = st.Versions.NextNumber(ctx, who.Tenant, d.Workflow); err != nil {
				return err
			}
		}
		id := workflow.VersionID(s.random.ID(workflow.VersionIDPrefix))
		if ver, err = workflow.NewVersion(id, wf, number, d.VersionDraft, s.newEdgeID, now); err != nil {
			return err
		}
		if err := st.Versions.Insert(ctx, ver); err != nil {
			return err
		}
		return st.Outcomes.Keep(ctx, who.Tenant, once, ver, now)
	})
	if err != nil {
		return nil, err
	}
	return ver, nil
}

func (s *Versions) newEdgeID() workflow.EdgeID {
	return workflow.EdgeID(s.random.ID(workflow.EdgeIDPrefix))
}
