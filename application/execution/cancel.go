package execution

import (
	"context"
	"slices"
	"time"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// maxCancelledBytes bounds how large the runs are that one unit cancels, as they are stored.
const maxCancelledBytes = 16 << 20

// CancelOfWorkflow cancels at most limit unfinished runs of a workflow that is deleted in the
// same unit of work, or was before; fewer where they are large. more says that there may be
// others. Once the unit has committed, those that changed are for outbound.RunSignals: the cancelled
// ones, and those that wait for them.
func CancelOfWorkflow(ctx context.Context, st outbound.Stores, random outbound.Random, scope tenant.Scope, of workflow.ID, reason string, limit int,
) (cancelled int, changed []run.ID, more bool, err error) {
	at, err := st.Runs.Queue.Now(ctx)
	if err != nil {
		return 0, nil, false, err
	}
	c := &canceller{st: st, scope: scope, at: at, reason: reason, steps: NewStepBuffer(st, random)}
	for more = true; more && len(c.cancelled) < limit && c.size < maxCancelledBytes; {
		ids, err := st.Runs.Overview.OfWorkflow(ctx, scope, of, limit-len(c.cancelled))
		if err != nil {
			return 0, nil, false, err
		}
		before := len(c.cancelled)
		if err := c.cancel(ctx, ids); err != nil {
			return 0, nil, false, err
		}
		more = len(c.cancelled)-before < len(ids) || len(c.cancelled) == limit // some may have ended by themselves
	}
	return len(c.cancelled), c.changed(), more, nil
}

// canceller cancels runs in one unit of work.
type canceller struct {
	st        outbound.Stores
	scope     tenant.Scope
	at        time.Time
	reason    string
	steps     *StepBuffer
	cancelled []run.ID
	size      int // of the runs that were read
}

// changed are the runs that were cancelled, and those that are to be looked at for it.
func (c *canceller) changed() []run.ID { return slices.Concat(c.cancelled, c.steps.Roused) }

// cancel cancels those of the runs that have not ended, up to maxCancelledBytes.
func (c *canceller) cancel(ctx context.Context, ids []run.ID) error {
	if err := c.st.Runs.Lanes.Hold(ctx, c.scope.Tenant(), ids...); err != nil {
		return err
	}
	for _, id := range ids {
		if c.size >= maxCancelledBytes {
			break
		}
		r, err := c.st.Runs.Runs.Get(ctx, c.scope, id)
		if err != nil {
			return err
		}
		from := r.Seq()
		c.size += r.Size()
		step := r.Abandon(c.at, c.reason)
		if step.Refused != nil {
			continue
		}
		c.cancelled = append(c.cancelled, id)
		if err := c.steps.Add(ctx, Step{Made: step, Written: outbound.RunStep{Run: r, From: from}}); err != nil {
			return err
		}
	}
	return c.steps.Flush(ctx)
}
