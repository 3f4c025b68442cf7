package workflows

import (
	"context"
	"errors"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// cancelledAtOnce is how many runs one unit of work cancels.
const cancelledAtOnce = 100

// deleted is why the runs of a workflow are cancelled.
const deleted = "The workflow was deleted."

// errManyRuns ends a unit that would have to cancel more runs than it may.
var errManyRuns = errors.New("the workflow has many runs that have not finished")

// Delete removes a workflow with its versions and their triggers, and cancels its runs.
// It is switched off first, so that it need not wait for ever for those who start runs of
// it. Where its runs are many, they are cancelled in units of their own until one unit can
// cancel the rest and delete the workflow.
func (s *Service) Delete(ctx context.Context, who tenant.Caller, id workflow.ID, at domain.Expected) error {
	if err := who.May(tenant.DeleteWorkflow); err != nil {
		return err
	}
	if err := s.switchOff(ctx, who, id, at); err != nil {
		return err
	}
	for {
		err := s.deleteNow(ctx, who, id)
		if !errors.Is(err, errManyRuns) {
			return err
		}
		if err := s.cancelSome(ctx, who, id); err != nil {
			return err
		}
	}
}

// deleteNow deletes the workflow and cancels its runs, in this order: once it is deleted
// none can be started any more, and those that were being started are there.
func (s *Service) deleteNow(ctx context.Context, who tenant.Caller, id workflow.ID) error {
	return s.cancelling(ctx, func(ctx context.Context, st outbound.Stores) ([]run.ID, error) {
		if err := st.Workflows.Delete(ctx, who.Tenant, id); err != nil {
			return nil, err
		}
		cancelled, err := s.runs.CancelOf(ctx, st, who.Tenant, id, deleted, cancelledAtOnce)
		if err == nil && len(cancelled) == cancelledAtOnce {
			err = errManyRuns
		}
		return cancelled, err
	})
}

// switchOff lets no trigger of the workflow fire any more.
func (s *Service) switchOff(ctx context.Context, who tenant.Caller, id workflow.ID, at domain.Expected) error {
	return s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		wf, err := st.Workflows.Get(ctx, who.Tenant, id)
		if err != nil {
			return err
		}
		if err := at.Check(wf.Revision()); err != nil || !wf.Active() {
			return err
		}
		wf.Toggle(s.clock.Now())
		return st.Workflows.Update(ctx, wf)
	})
}

// cancelSome cancels a batch of runs, and finds out before whether the workflow is still
// there.
func (s *Service) cancelSome(ctx context.Context, who tenant.Caller, id workflow.ID) error {
	return s.cancelling(ctx, func(ctx context.Context, st outbound.Stores) ([]run.ID, error) {
		if _, err := st.Workflows.Get(ctx, who.Tenant, id); err != nil {
			return nil, err
		}
		return s.runs.CancelOf(ctx, st, who.Tenant, id, deleted, cancelledAtOnce)
	})
}

// cancelling runs a unit and tells of the runs that it has cancelled.
func (s *Service) cancelling(ctx context.Context, unit func(context.Context, outbound.Stores) ([]run.ID, error)) (err error) {
	var cancelled []run.ID
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		cancelled, err = unit(ctx, st)
		return err
	})
	if err == nil && len(cancelled) > 0 {
		s.signals.Tell(cancelled...)
	}
	return err
}
