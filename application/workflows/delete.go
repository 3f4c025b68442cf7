package workflows

import (
	"context"

	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// cancelBatch is how many runs one unit of work cancels.
const cancelBatch = 100

// deletedReason is why the runs of a workflow are cancelled.
const deletedReason = "The workflow was deleted."

// Delete removes a workflow with its versions and their triggers, and cancels its runs.
// One unit of work checks the revision, removes everything and cancels the first runs:
// until it has committed nothing has changed, so that a failed request can be repeated.
// Further runs are cancelled in units of their own.
func (s *Service) Delete(ctx context.Context, who tenant.Caller, id workflow.ID, at domain.Expected) error {
	if err := who.May(tenant.DeleteWorkflow); err != nil {
		return err
	}
	more, err := s.cancelWith(ctx, who, id, func(ctx context.Context, st outbound.Stores) error {
		wf, err := st.Workflows.Get(ctx, who.Scope, id)
		if err != nil {
			return err
		}
		if err := at.Check(wf.Revision()); err != nil {
			return err
		}
		return st.Workflows.Delete(ctx, who.Scope, id)
	})
	if err != nil {
		return err
	}
	// The workflow is gone, whatever happens from here on. Workers cancel its runs that come
	// up, and inbound.Upkeep cancels all that are left.
	for more && err == nil {
		more, err = s.cancelWith(ctx, who, id, func(context.Context, outbound.Stores) error { return nil })
	}
	return nil
}

// cancelWith cancels a batch of runs of a workflow in the unit of work that does something
// else first, and says whether there may be others. The order matters: once the workflow is deleted no run
// of it can be started, and those that were being started are found.
func (s *Service) cancelWith(ctx context.Context, who tenant.Caller, id workflow.ID, first func(context.Context, outbound.Stores) error) (more bool, err error) {
	var changed []run.ID
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := first(ctx, st); err != nil {
			return err
		}
		_, changed, more, err = execution.CancelOfWorkflow(ctx, st, s.random, who.Scope, id, deletedReason, cancelBatch)
		return err
	})
	if err != nil {
		return false, err
	}
	if len(changed) > 0 {
		s.signals.Notify(changed...)
	}
	return more, nil
}
