package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/audit"
	"github.com/sluicehq/sluice/domain/job"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// How many of its records an erasure looks at in one unit, and how many runs below others it finds in one.
const (
	erasedEntries  = 100
	erasedChildren = 500
)

// erase goes on with an erasure, in one unit of work, which also notes how far it is.
func (w *Worker) erase(ctx context.Context, j *job.Job, failed func(error)) (err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			w.panics.Add(1)
			err = inbound.Panicked(thrown)
		}
	}()
	next, err := w.next(ctx, j)
	if err != nil {
		return err
	}
	var size int64
	ids := make([]run.ID, len(next))
	for i, one := range next {
		ids[i], size = one.ID, size+one.Size
	}
	e := &eraser{worker: w, ids: ids, failed: failed}
	waited := w.computing.Do(ctx, j.Tenant(), execution.Copies*size, func() {
		err = w.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error { return e.do(ctx, st, j.Tenant(), j.ID()) })
	})
	if err = errors.Join(waited, err); err == nil {
		w.signals.Notify(e.changed...)
	}
	return err
}

// eraser removes what one unit of work removes.
type eraser struct {
	worker *Worker
	ids    []run.ID // that the job was given and has not removed, the first ones
	failed func(error)

	st      outbound.Stores
	job     *job.Job
	changed []run.ID // to be notified when the unit has committed
}

// do may be called again, for another attempt at the unit.
func (e *eraser) do(ctx context.Context, st outbound.Stores, owner tenant.ID, id job.ID) (err error) {
	if e.job, err = st.Runs.Jobs.Get(ctx, tenant.All(owner), id); err != nil {
		return err
	}
	if e.job.Status() != job.Running {
		return errOvertaken
	}
	e.st, e.changed = st, nil
	var after string
	var removed job.Removed
	switch e.job.Erasure().Part {
	case job.OwnRecords:
		after, removed, err = e.ownRecords(ctx)
	case job.Runs:
		after, removed, err = e.runs(ctx)
	case job.AuditLog:
		after, removed.AuditValues, err = e.auditLog(ctx, owner)
	case job.OperatorsLog:
		after, removed.AuditValues, err = e.auditLog(ctx, "")
	default:
		after, removed, err = st.Erasures.RemovePart(ctx, e.job)
	}
	if err != nil {
		return err
	}
	now := e.worker.clock.Now()
	if e.job.Erased(removed, after, now); after == "" {
		e.job.PartErased(now)
	}
	if e.job.Status() != job.Running {
		if err := st.Erasures.Overwrite(ctx); err != nil {
			return err
		}
	}
	return st.Runs.Jobs.Update(ctx, e.job)
}

// more says that a part has no order in which it is gone through, and is not at its end.
const more = "more"

// runs cancels runs that have not ended, or finds those below them, or removes them; where the job has none, it takes some.
func (e *eraser) runs(ctx context.Context) (after string, removed job.Removed, err error) {
	if len(e.ids) == 0 {
		taken, removed, err := e.st.Erasures.Take(ctx, e.job, maxBatch)
		if err != nil || taken == 0 && removed.Runs == 0 {
			return "", removed, err
		}
		e.job.Taken(taken + removed.Runs)
		return more, removed, nil
	}
	if removed.Cancelled, err = e.cancel(ctx); err != nil || removed.Cancelled > 0 {
		return more, removed, err
	}
	taken, err := e.st.Erasures.TakeChildren(ctx, e.job, e.ids, erasedChildren)
	if e.job.Taken(taken); err != nil || taken > 0 {
		return more, removed, err
	}
	removed, err = e.st.Erasures.RemoveRuns(ctx, e.job.Tenant(), e.job.ID(), e.ids...)
	return more, removed, err
}

// erasedReason is why a run is cancelled. Who it is about is not said: others learn of it.
const erasedReason = "It is erased."

// cancel cancels those of the runs that have not ended. One that cannot be read is removed as it is.
func (e *eraser) cancel(ctx context.Context) (cancelled int, err error) {
	scope := tenant.All(e.job.Tenant())
	if err := e.st.Runs.Lanes.Hold(ctx, e.job.Tenant(), e.ids...); err != nil {
		return 0, err
	}
	statuses, err := e.st.Runs.Families.Statuses(ctx, scope, e.ids)
	if err != nil {
		return 0, err
	}
	at, err := e.st.Runs.Queue.Now(ctx)
	if err != nil {
		return 0, err
	}
	steps := execution.NewStepBuffer(e.st, e.worker.random)
	for i, id := range e.ids {
		if statuses[i] == "" || statuses[i].Finished() {
			continue
		}
		r, err := e.st.Runs.Runs.Get(ctx, scope, id)
		if err != nil && domain.KindOf(err) == domain.Internal && ctx.Err() == nil {
			e.failed(fmt.Errorf("job %s: run %s is erased without being cancelled: %w", e.job.ID(), id, err))
			continue
		}
		if err != nil {
			return 0, err
		}
		from := r.Seq()
		step := r.Abandon(at, erasedReason)
		if step.Refused != nil {
			continue
		}
		cancelled++
		e.changed = append(e.changed, id)
		if err := steps.Add(ctx, execution.Step{Made: step, Written: outbound.RunStep{Run: r, From: from}}); err != nil {
			return 0, err
		}
	}
	err = steps.Flush(ctx)
	e.changed = append(e.changed, steps.Roused...)
	return cancelled, err
}

// auditLog erases values of the next entries of a log. In the operator's only what concerns the tenant is meant.
func (e *eraser) auditLog(ctx context.Context, log tenant.ID) (after string, erased int, err error) {
	var place outbound.AuditPlace
	if at, id, found := strings.Cut(e.job.Erasure().After, " "); found {
		place.ID = audit.ID(id)
		if place.At, err = time.Parse(time.RFC3339Nano, at); err != nil {
			return "", 0, err
		}
	}
	entries, err := e.st.Audit.Log.After(ctx, log, audit.Filter{To: e.job.Filter().To}, place, erasedEntries)
	if err != nil || len(entries) == 0 {
		return "", 0, err
	}
	name := e.job.Name()
	for _, entry := range entries {
		if log == "" && !concerns(entry, e.job.Tenant()) {
			continue
		}
		n := entry.Erase(func(value string) bool { return job.Mentions([]byte(value), name) })
		if n == 0 {
			continue
		}
		if err := e.st.Audit.Log.Erase(ctx, entry); err != nil {
			return "", 0, err
		}
		erased += n
	}
	last := entries[len(entries)-1]
	return last.At.UTC().Format(time.RFC3339Nano) + " " + string(last.ID), erased, nil
}

// concerns says whether an entry of the operator's log is about a tenant.
func concerns(entry audit.Entry, owner tenant.ID) bool {
	if entry.Target.ID == string(owner) {
		return true
	}
	for _, c := range entry.Changes() {
		if c.Field == "tenantId" && (strings.Contains(c.Old, string(owner)) || strings.Contains(c.New, string(owner))) {
			return true
		}
	}
	return false
}
