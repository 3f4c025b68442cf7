package upkeep

import (
	"context"
	"errors"

	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// originBatch is how many origins of runs one question asks for, and cancelBatch how many
// runs one unit of work cancels.
const (
	originBatch = 500
	cancelBatch = 100
)

// orphanedReason is why a run is cancelled.
const orphanedReason = "The workflow was deleted."

// CancelOrphans cancels unfinished runs whose workflow is gone. No run of it can come up
// any more, so that what is found stays true.
func (s *Service) CancelOrphans(ctx context.Context) (cancelled int, err error) {
	var last outbound.RunOrigin
	var failed error
	for {
		var found []outbound.RunOrigin
		err := s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
			found, err = st.Runs.Origins.Live(ctx, last, originBatch)
			return err
		})
		if err != nil {
			return cancelled, err
		}
		for _, origin := range found {
			if !origin.Orphaned {
				continue
			}
			n, err := s.cancelAll(ctx, origin)
			cancelled += n
			failed = errors.Join(failed, err) // which is no reason to leave the runs of others
		}
		if len(found) < originBatch || ctx.Err() != nil {
			return cancelled, failed
		}
		last = found[len(found)-1]
	}
}

// cancelAll cancels the unfinished runs of a workflow, some in each unit.
func (s *Service) cancelAll(ctx context.Context, origin outbound.RunOrigin) (n int, err error) {
	for {
		var cancelled int
		var changed []run.ID
		var more bool
		err := s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
			cancelled, changed, more, err = execution.CancelOfWorkflow(ctx, st, s.random, tenant.All(origin.Tenant), origin.Workflow, orphanedReason, cancelBatch)
			return err
		})
		if err != nil {
			return n, err
		}
		if len(changed) > 0 {
			s.signals.Notify(changed...)
		}
		if n += cancelled; !more {
			return n, nil
		}
	}
}
