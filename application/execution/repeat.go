package execution

import (
	"context"
	"errors"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Retry continues a failed run at an instant. The plan is nil when its version is gone.
func Retry(r *run.Run, plan *run.Plan, event run.Event) (run.Step, error) {
	switch event.Fact = (run.RetryRequested{}); {
	case plan != nil:
		return r.Advance(plan, event)
	case r.Status() != run.StatusFailed:
		return run.Step{Refused: domain.Fail(domain.Conflict, "run_not_failed", "Only a failed run can be retried; run %s is %s.", r.ID(), r.Status())}, nil
	}
	return run.Step{Refused: domain.Fail(domain.Conflict, "version_not_found", "The workflow version that the run executes was deleted, so that it cannot go on.")}, nil
}

// CheckRepeat says why a run that repeats another one cannot be started in the caller's unit, as a
// Conflict, and what it executes. That stays until the unit ends.
func CheckRepeat(ctx context.Context, st outbound.Stores, scope tenant.Scope, next *run.Run) (found outbound.FiringVersion, err error) {
	found, err = st.Firing.Version(ctx, scope, next.Workflow(), next.Version())
	switch {
	case err != nil:
		return found, WorkflowGone(err)
	case found.Version == "":
		return found, errVersionDeleted()
	case !found.WorkflowActive:
		return found, WorkflowInactive()
	}
	if snapshot := next.Source().Snapshot; snapshot != "" {
		err = VersionGone(st.Snapshots.Hold(ctx, scope.Tenant(), snapshot))
	}
	return found, err
}

func errVersionDeleted() error {
	return domain.Fail(domain.Conflict, "version_not_found", "The workflow version that the run executed was deleted, so that it cannot be repeated.")
}

// VersionGone makes a conflict of a version that was deleted.
func VersionGone(err error) error {
	if errors.Is(err, domain.NotFound) {
		return errVersionDeleted()
	}
	return err
}

// WorkflowGone makes a conflict of a workflow that was deleted: the run is still there.
func WorkflowGone(err error) error {
	if errors.Is(err, domain.NotFound) {
		return domain.Fail(domain.Conflict, "workflow_not_found", "The workflow that the run is of was deleted, so that it cannot be repeated.")
	}
	return err
}
