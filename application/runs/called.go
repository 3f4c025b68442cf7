package runs

import (
	"context"
	"errors"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// maxSimulatedCalls is how many workflows a simulation knows besides its own; nodes that call
// others are left open.
const maxSimulatedCalls = 32

// calledBy makes the plans of the workflows that runs of a version would call, and of those that
// these would call: of the active versions in the same sub-tenant.
func (s *Service) calledBy(ctx context.Context, ver *workflow.Version) (map[workflow.ID]*run.Plan, error) {
	called, open := make(map[workflow.ID]*run.Plan), ver.Graph().Calls()
	for len(open) > 0 && len(called) < maxSimulatedCalls {
		id := open[0]
		open = open[1:]
		if _, known := called[id]; known {
			continue
		}
		next, err := s.activeVersion(ctx, ver, id)
		switch {
		case errors.Is(err, domain.NotFound):
			continue
		case err != nil:
			return nil, err
		}
		if called[id], err = s.plans.Of(ctx, ver.Tenant(), run.Source{Version: next.ID()}); err != nil {
			return nil, err
		}
		open = append(open, next.Graph().Calls()...)
	}
	return called, nil
}

// activeVersion is NotFound where a run would start nothing.
func (s *Service) activeVersion(ctx context.Context, of *workflow.Version, id workflow.ID) (ver *workflow.Version, err error) {
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err := st.Firing.Version(ctx, tenant.All(of.Tenant()), id, "")
		if err != nil {
			return err
		}
		if found.SubTenant != of.SubTenant() || !found.WorkflowActive || found.Version == "" {
			return domain.Fail(domain.NotFound, "workflow_not_found", "There is no such workflow.")
		}
		ver, err = st.Versions.Get(ctx, tenant.All(of.Tenant()), found.Version)
		return err
	})
	return ver, err
}
