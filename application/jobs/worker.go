package jobs

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/job"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

const (
	// lease is for how long a process has a job. One that dies delays the job by as much, and a
	// batch that cannot be dealt with is tried again after it.
	lease = 10 * time.Second

	// idlePause is slept when there is no job, and maxPause after a failure. It is also the most that is slept
	// after a batch, which is as long as it took: the database is there for others, too.
	idlePause = 2 * time.Second
	maxPause  = time.Second

	// maxBatch and maxBatchBytes bound how many runs one unit of work deals with, and how large
	// they are as they are stored. The first is dealt with however large.
	maxBatch      = 50
	maxBatchBytes = 2 << 20
)

// Worker implements inbound.JobWorker.
type Worker struct {
	work      outbound.UnitOfWork
	plans     *execution.Plans
	computing execution.Computing
	signals   outbound.RunSignals
	clock     outbound.Clock
	random    outbound.Random
	key       run.Key
	allowance *execution.Allowance
	replayer  inbound.DeliveryReplayer
	panics    atomic.Int64
}

var _ inbound.JobWorker = (*Worker)(nil)

// NewWorker returns a worker.
func NewWorker(work outbound.UnitOfWork, directory outbound.Directory, compiler run.Compiler, signals outbound.RunSignals,
	clock outbound.Clock, random outbound.Random, key run.Key, budgets outbound.Budgets, allowance *execution.Allowance, replayer inbound.DeliveryReplayer,
) *Worker {
	return &Worker{
		work: work, plans: execution.NewPlans(work, directory, compiler, budgets, 0), computing: execution.NewComputing(budgets),
		signals: signals, clock: clock, random: random, key: key, allowance: allowance, replayer: replayer,
	}
}

// Panics returns how many panics were contained since the start.
func (w *Worker) Panics() int64 { return w.panics.Load() }

// Run works on one batch after another.
func (w *Worker) Run(ctx context.Context, failed func(error)) {
	for pause := time.Duration(0); outbound.Sleep(ctx, pause); {
		began := time.Now()
		worked, err := w.Step(ctx, failed)
		if err != nil && ctx.Err() == nil {
			failed(err)
		}
		switch pause = idlePause; {
		case err != nil:
			pause = maxPause
		case worked:
			pause = min(time.Since(began), maxPause)
		}
	}
}

// Step deals with a batch of the job that has waited longest; worked is false when there is none.
// What is wrong with a single run, and a job that cannot be read, goes to failed.
func (w *Worker) Step(ctx context.Context, failed func(error)) (worked bool, err error) {
	var waits bool
	err = w.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		waits, err = st.Runs.JobQueue.Waits(ctx)
		return err
	})
	if err != nil || !waits {
		return false, err
	}
	var claimed outbound.ClaimedJob
	err = w.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		claimed, err = st.Runs.JobQueue.Claim(ctx, lease)
		return err
	})
	if err == nil && claimed.Unreadable != nil {
		failed(claimed.Unreadable)
		return true, nil
	}
	j := claimed.Job
	if err != nil || j == nil {
		return false, err
	}
	if j.Action() == job.Erase {
		if err := w.erase(ctx, j, failed); err != nil && !errors.Is(err, errOvertaken) {
			return false, fmt.Errorf("job %s: %w", j.ID(), err)
		}
		return true, nil
	}
	next, err := w.next(ctx, j)
	if err != nil {
		return false, fmt.Errorf("job %s: %w", j.ID(), err)
	}
	if len(next) == 0 {
		return false, fmt.Errorf("job %s: it has not come to %d runs, and nobody knows which", j.ID(), j.Matched()-j.Done()-j.Failed())
	}
	switch err = nil; {
	case j.Action() == job.Replay:
		err = w.replayAll(ctx, j, next, failed)
	default:
		if err = w.attempt(ctx, j, next, nil); isDefect(ctx, err) {
			err = w.oneByOne(ctx, j, next, failed)
		}
	}
	if err != nil && !errors.Is(err, errOvertaken) {
		return false, fmt.Errorf("job %s: %w", j.ID(), err)
	}
	return true, nil
}

// next finds the runs of the next batch.
func (w *Worker) next(ctx context.Context, j *job.Job) (next []outbound.JobRun, err error) {
	err = w.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		next, err = st.Runs.JobQueue.Runs(ctx, j, maxBatch)
		return err
	})
	size := int64(0)
	for i, one := range next {
		if size += one.Size; size > maxBatchBytes && i > 0 {
			return next[:i], err
		}
	}
	return next, err
}

// oneByOne deals with the runs of a batch of which one cannot be dealt with, and has that one fail.
func (w *Worker) oneByOne(ctx context.Context, j *job.Job, batch []outbound.JobRun, failed func(error)) error {
	for i := range batch {
		err := w.attempt(ctx, j, batch[i:i+1], nil)
		if isDefect(ctx, err) {
			why, known := refusal(err)
			if !known {
				failed(fmt.Errorf("job %s: run %s: %w", j.ID(), batch[i].ID, err))
				why = domain.Fail(domain.Internal, "internal_error", "The gateway failed at this run. Its log says why.")
			}
			err = w.attempt(ctx, j, batch[i:i+1], why)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isDefect says that an attempt would fail in the same way again.
func isDefect(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() == nil && !errors.Is(err, errOvertaken) && domain.KindOf(err) != domain.Unavailable &&
		!errors.Is(err, context.DeadlineExceeded)
}

// errOvertaken says that somebody else has changed the job meanwhile.
var errOvertaken = errors.New("the job was changed meanwhile")

// attempt deals with runs in one unit of work, or records of all of them why they failed. After it
// the job is as it is stored.
func (w *Worker) attempt(ctx context.Context, j *job.Job, runs []outbound.JobRun, why *domain.Error) (err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			w.panics.Add(1)
			err = inbound.Panicked(thrown)
		}
	}()
	plans, err := w.plansOf(ctx, j, runs)
	if err != nil {
		return err
	}
	var size, largest int64
	for _, one := range runs {
		size, largest = size+one.Size, max(largest, one.Size)
	}
	ctx = outbound.WithLargeWrite(ctx, int(size))
	waited := w.computing.Do(ctx, j.Tenant(), w.computing.Demand(largest)+execution.Copies*(size-largest), func() {
		err = w.record(ctx, j, &batch{worker: w, job: j, runs: runs, plans: plans, why: why})
	})
	return errors.Join(waited, err)
}

// plansOf makes the plans of runs that are to go on. That of a version that is gone is nil.
func (w *Worker) plansOf(ctx context.Context, j *job.Job, runs []outbound.JobRun) (map[run.Source]*run.Plan, error) {
	if j.Action() != job.Retry {
		return nil, nil //nolint:nilnil // nothing is computed
	}
	plans := make(map[run.Source]*run.Plan)
	for _, one := range runs {
		if _, known := plans[one.Source]; known {
			continue
		}
		plan, err := w.plans.Of(ctx, j.Tenant(), one.Source)
		if err != nil && !errors.Is(err, domain.NotFound) {
			return nil, err
		}
		plans[one.Source] = plan
	}
	return plans, nil
}

// record deals with a batch, and notes that in the same unit of work.
func (w *Worker) record(ctx context.Context, j *job.Job, b *batch) error {
	var current *job.Job
	err := w.work.Do(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
		if current, err = st.Runs.Jobs.Get(ctx, tenant.All(j.Tenant()), j.ID()); err != nil {
			return err
		}
		if current.Cursor() != j.Cursor() || current.Status() != job.Running {
			return errOvertaken
		}
		if err := b.do(ctx, st); err != nil {
			return err
		}
		current.Record(len(b.runs), b.runs[len(b.runs)-1].ID, b.failures, w.clock.Now())
		return st.Runs.Jobs.Update(ctx, current)
	})
	if err != nil {
		return err
	}
	*j = *current
	w.signals.Notify(b.changed...)
	return nil
}
