package worker

import (
	"cmp"
	"context"
	"slices"

	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// So many items are read together, with so many bytes as they are stored.
const (
	itemPage      = 200
	itemPageBytes = 1 << 20
)

// loopsAround are the nodes of a run that wait for their items; left says that the run is of an
// item for which its node does not wait any more.
func loopsAround(ctx context.Context, st outbound.Stores, r *run.Run) (loops []run.Loop, left bool, err error) {
	if r.IsItem() {
		above, err := st.Runs.Loops.Of(ctx, r.Tenant(), r.Parent())
		if err != nil {
			return nil, false, err
		}
		left = slices.ContainsFunc(above, func(l run.Loop) bool { return l.Node == r.ParentNode() && l.Left })
	}
	if waits := r.Loops(); len(waits) > 0 {
		loops, err = st.Runs.Loops.Of(ctx, r.Tenant(), r.ID())
		loops = slices.DeleteFunc(loops, func(l run.Loop) bool { return !slices.Contains(waits, l.Node) })
	}
	return loops, left, err
}

// admitItems takes memory for the items that a step has to keep where they are large. It ends the
// run of a tenant that keeps more than it may: without that, loops in loops would go on to fill the disk.
func (j *job) admitItems(step run.Step) jobOutcome {
	size := 0
	for _, loop := range step.Loops {
		size += loop.Size()
	}
	if size == 0 {
		return jobContinue
	}
	err := j.session.readStore(j.ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err := st.Firing.Version(ctx, tenant.All(j.lease.Tenant), j.run.Workflow(), "")
		return cmp.Or(err, j.session.worker.allowance.CheckBytes(j.lease.Tenant, found.Budgets, found.StoredBytes, int64(size)))
	})
	switch {
	case isCode(err, run.CodeStorageExceeded):
		return j.unrecordable(err)
	case err != nil && j.ctx.Err() != nil, size > smallOutputs && j.grow(j.ctx) != nil:
		return j.stopped()
	case err != nil && domain.KindOf(err) != domain.NotFound: // runs of a workflow that is gone are cancelled
		return j.fail(err)
	}
	return jobContinue
}

// takeItems takes in how far a node is with its items.
func (j *job) takeItems(loop run.Loop) jobOutcome {
	if !loop.Over() {
		return j.apply(run.ItemsPaused{Node: loop.Node, Paused: loop.AllPaused()})
	}
	ended, err := j.itemsOf(loop)
	switch {
	case err != nil && j.ctx.Err() != nil:
		return j.stopped()
	case err != nil:
		return j.fail(err)
	case len(ended.Items) < ended.Count && !loop.Failed && !ended.Omitted, len(ended.Items) == 0:
		return jobContinue // somebody retries one meanwhile: the run is woken again
	}
	return j.apply(ended)
}

// itemsOf reads what became of items, once there is memory for what they gave: of all of them, or of
// the first that has failed where that is the end of the others.
func (j *job) itemsOf(loop run.Loop) (ended run.ItemsEnded, err error) {
	ended = run.ItemsEnded{Node: loop.Node, Count: loop.Count}
	q := outbound.EndedItems{
		Loop: outbound.LoopKey{Tenant: j.lease.Tenant, Run: j.lease.Run, Node: loop.Node}, Failed: loop.Failed, Limit: itemPage, Bytes: itemPageBytes,
	}
	if loop.Failed {
		q.Limit = 1
	}
	waited := j.session.worker.computing.Do(j.ctx, j.lease.Tenant, execution.Copies*itemPageBytes+run.MaxOutput, func() {
		size := 0
		for err == nil && !ended.Omitted {
			var page []run.Outcome
			if page, err = j.readItems(q); len(page) == 0 {
				return
			}
			for _, o := range page {
				if size += len(o.Output); o.Failure != nil {
					size += len(o.Failure.Message)
				}
			}
			ended.Items, ended.Omitted = append(ended.Items, page...), size > run.MaxOutput
			if q.From = page[len(page)-1].Index + 1; loop.Failed {
				return
			}
		}
	})
	return ended, cmp.Or(waited, err)
}

func (j *job) readItems(q outbound.EndedItems) (page []run.Outcome, err error) {
	err = j.session.readStore(j.session.units, func(ctx context.Context, st outbound.Stores) error {
		page, err = st.Runs.Loops.Ended(ctx, q)
		return err
	})
	return page, err
}
