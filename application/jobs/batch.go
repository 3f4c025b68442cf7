package jobs

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/job"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// batch are runs that one unit of work deals with.
type batch struct {
	worker *Worker
	job    *job.Job
	runs   []outbound.JobRun
	plans  map[run.Source]*run.Plan
	why    *domain.Error // why none of them is dealt with; nil where they are

	st       outbound.Stores
	steps    *execution.StepBuffer
	at       time.Time // by the clock of the database
	allowed  *execution.UnitAllowance
	begin    []*run.Run
	failures []job.Failure
	changed  []run.ID // to be notified when the unit has committed
}

// do deals with the runs. It may be called again, for another attempt at the unit.
func (b *batch) do(ctx context.Context, st outbound.Stores) (err error) {
	b.st, b.steps, b.allowed, b.begin, b.failures, b.changed = st, execution.NewStepBuffer(st, b.worker.random), b.worker.allowance.In(st), nil, nil, nil
	if b.at, err = st.Runs.Queue.Now(ctx); err != nil {
		return err
	}
	all, err := b.read(ctx)
	if err != nil {
		return err
	}
	if err := b.enterLanes(ctx, all); err != nil {
		return err
	}
	for _, r := range all {
		if r.Lane().Bounds() { // what was done in its lane counts
			if err := b.steps.Flush(ctx); err != nil {
				return err
			}
		}
		made, err := b.actOn(ctx, r)
		if refused, ok := refusal(err); ok {
			b.fail(r.ID(), refused)
			continue
		}
		if err != nil {
			return err
		}
		if err := b.add(ctx, r, made); err != nil {
			return err
		}
	}
	if err := b.steps.Flush(ctx); err != nil {
		return err
	}
	if b.changed = append(b.changed, b.steps.Roused...); len(b.begin) == 0 {
		return nil
	}
	_, err = st.Runs.Runs.Start(ctx, b.begin...)
	return err
}

// read reads the runs that are still there, whose lanes come first.
func (b *batch) read(ctx context.Context) (all []*run.Run, err error) {
	ids := make([]run.ID, len(b.runs))
	for i, one := range b.runs {
		ids[i] = one.ID
	}
	if err := b.st.Runs.Lanes.Hold(ctx, b.job.Tenant(), ids...); err != nil {
		return nil, err
	}
	for _, one := range b.runs {
		if b.why != nil {
			b.fail(one.ID, b.why)
			continue
		}
		r, err := b.st.Runs.Runs.Get(ctx, b.job.Scope(), one.ID)
		if refused, ok := refusal(err); ok {
			b.fail(one.ID, refused)
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// enterLanes enters the lanes of all runs before anything is done in one of them.
func (b *batch) enterLanes(ctx context.Context, all []*run.Run) error {
	var lanes []string
	for _, r := range all {
		if r.Lane().Bounds() && !slices.Contains(lanes, r.Lane().Name) {
			lanes = append(lanes, r.Lane().Name)
		}
	}
	if len(lanes) == 0 {
		return nil
	}
	_, err := b.st.Runs.Lanes.Enter(ctx, b.job.Tenant(), lanes...)
	return err
}

func (b *batch) fail(id run.ID, why *domain.Error) {
	b.failures = append(b.failures, job.Failure{Run: id, Code: why.Code, Message: why.Message})
}

// refusal is why nothing can be done with a run, as things are.
func refusal(err error) (*domain.Error, bool) {
	var e *domain.Error
	ok := errors.As(err, &e) && (e.Kind == domain.Conflict || e.Kind == domain.NotFound || e.Kind == domain.Invalid || e.Code == tenant.CodeBudgetExceeded)
	return e, ok
}

// actOn acts on a run. An item is read again, since what was done with the run of its loop may have
// had it begin again.
func (b *batch) actOn(ctx context.Context, r *run.Run) (made execution.Step, err error) {
	if r.IsItem() {
		if r, err = b.st.Runs.Runs.Get(ctx, b.job.Scope(), r.ID()); err != nil {
			return made, err
		}
	}
	return b.act(ctx, r)
}

// act carries the action out on a run, as far as nothing is written.
func (b *batch) act(ctx context.Context, r *run.Run) (made execution.Step, err error) {
	made.Written = outbound.RunStep{Run: r, From: r.Seq()}
	switch b.job.Action() {
	case job.Retry:
		made.Made, err = b.retry(ctx, r)
	case job.Rerun:
		return made, b.rerun(ctx, r)
	case job.Cancel:
		made.Made = r.Abandon(b.at, "Cancelled by job "+string(b.job.ID())+".")
	}
	if err == nil && made.Made.Refused != nil {
		err = made.Made.Refused
	}
	return made, err
}

// add records a step, perhaps together with others.
func (b *batch) add(ctx context.Context, r *run.Run, made execution.Step) error {
	if !made.Made.Changed() {
		return nil
	}
	b.changed = append(b.changed, r.ID())
	return b.steps.Add(ctx, made)
}

// retry looks whether there is room in the run's lane.
func (b *batch) retry(ctx context.Context, r *run.Run) (run.Step, error) {
	made, err := execution.Retry(r, b.plans[r.Source()], run.Event{At: b.at, Secret: b.worker.key.Secret(r.ID()), Budget: b.worker.computing.StepBudget(execution.InlineSteps)})
	if err != nil || made.Refused != nil {
		return made, err
	}
	if err := execution.CheckLane(ctx, b.st, r); err != nil {
		return made, err
	}
	return made, b.allowed.AdmitAgain(ctx, r.Tenant())
}

// rerun makes the run that repeats another one. It begins with the others at the end.
func (b *batch) rerun(ctx context.Context, r *run.Run) error {
	if !r.Status().Finished() {
		return domain.Fail(domain.Conflict, "run_not_finished", "Run %s was retried in the meantime, and is %s.", r.ID(), r.Status())
	}
	again := run.Again{Source: r.Source(), DedupeKey: b.worker.random.ID(run.DedupeKeyPrefix)}
	next, err := r.Rerun(nil, run.ID(b.worker.random.ID(run.IDPrefix)), again, b.job.After(b.worker.clock.Now()))
	if err != nil {
		return err
	}
	found, err := execution.CheckRepeat(ctx, b.st, tenant.All(r.Tenant()), next)
	if err != nil {
		return err
	}
	if err := b.allowed.Admit(ctx, r.Tenant(), found.Budgets, 1, found.StoredBytes, next.Size()); err != nil {
		return err
	}
	b.begin, b.changed = append(b.begin, next), append(b.changed, next.ID())
	return nil
}
