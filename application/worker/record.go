package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluicehq/sluice/application/batch"
	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

const (
	// maxBatch and maxBatchBytes are how many steps are recorded in one unit, and of how large
	// runs together.
	maxBatch      = 64
	maxBatchBytes = 1 << 20

	// maxLargeBatchBytes is the same of large steps: on SQLite everybody waits for the unit.
	maxLargeBatchBytes = 256 << 10

	// batchTimeout is how long a unit of several steps may take: one of their runs may be locked
	// by somebody else, which must not keep the others waiting. singleTimeout is how long one of
	// a single step may; its run waits for the lock by itself after that, when it is read again.
	batchTimeout  = 2 * time.Second
	singleTimeout = 5 * time.Second

	// batchesPerLane is how many units go on at the same time in each lane.
	batchesPerLane = 2
)

// recorder records steps in batches. Steps of tenants with a backlog, of which many runs are
// worked on, have a lane of their own, and so have those of large runs, so that the others wait
// for none of them. Those of a backlog of items go one unit after another: two would wait for each
// other at what counts the items, and more of them go together so.
type recorder struct {
	fair, backlog, items, large *lane
}

// newRecorder returns a recorder whose units end with ctx. yield says for how long the lane of
// backlogs rests after a unit.
func newRecorder(ctx context.Context, work outbound.UnitOfWork, signals outbound.RunSignals, random outbound.Random, yield func(took time.Duration) time.Duration) *recorder {
	newLane := func(ctx context.Context, units, weight int, yield func(time.Duration) time.Duration) *lane {
		l := &lane{ctx: ctx, work: work, signals: signals, random: random, yield: yield, slots: make(chan time.Time, units)}
		for range units {
			l.slots <- time.Time{}
		}
		l.batches = batch.New(batch.Limits{Members: maxBatch, Weight: weight, Running: units}, (*pendingStep).size, l.commit)
		l.singles = batch.New(batch.Limits{Members: 1, Running: units}, nil, l.write)
		return l
	}
	return &recorder{
		fair:    newLane(ctx, batchesPerLane, maxBatchBytes, func(time.Duration) time.Duration { return 0 }),
		backlog: newLane(ctx, batchesPerLane, maxBatchBytes, yield),
		items:   newLane(ctx, 1, maxBatchBytes, yield),
		large:   newLane(outbound.WithYieldingWrite(ctx), batchesPerLane, maxLargeBatchBytes, yield),
	}
}

// record writes a step and its events. The error is that of RunRepository.Record, or that of
// the unit.
func (r *recorder) record(isBacklog bool, step run.Step, written outbound.RunStep) error {
	s := &pendingStep{step: execution.Step{Made: step, Written: written}}
	l := r.fair
	switch {
	case s.size() >= outbound.LargeWriteBytes:
		l = r.large
	case isBacklog && written.Run.IsItem():
		l = r.items
	case isBacklog:
		l = r.backlog
	}
	err := l.batches.Do(l.ctx, s)
	if err != nil && s.shared && (!isStoreError(err) || isCode(err, "database_busy")) { // another step may be the reason
		return l.singles.Do(l.ctx, s)
	}
	return err
}

// pendingStep is a step that its job waits for.
type pendingStep struct {
	step   execution.Step
	shared bool // its batch had others
}

// runBytes is about how many bytes starting a run writes, besides what it is given: in its row, in
// those that queues and lists have of it, and in their indexes.
const runBytes = 6 << 10

// size is about how many bytes a step writes.
func (s *pendingStep) size() int {
	size := s.step.Written.Run.SizeSince(s.step.Written.From)
	for _, child := range s.step.Made.Start {
		size += child.Size() + runBytes
	}
	for _, loop := range s.step.Made.Loops {
		size += loop.Size() + min(loop.Concurrency, len(loop.Items))*runBytes
	}
	return size
}

// lane records steps that may share their units of work.
type lane struct {
	ctx     context.Context //nolint:containedctx // of every unit, whoever asks for it
	work    outbound.UnitOfWork
	signals outbound.RunSignals
	random  outbound.Random
	yield   func(took time.Duration) time.Duration
	slots   chan time.Time // of batches: when each may begin

	batches, singles *batch.Batcher[*pendingStep]
}

// commit writes a batch once its slot has rested.
func (l *lane) commit(ctx context.Context, steps []*pendingStep) error {
	next := <-l.slots
	defer func() { l.slots <- next }()
	if wait := time.Until(next); wait > 0 {
		outbound.Sleep(l.ctx, wait)
	}
	began := time.Now()
	defer func() {
		took := time.Since(began)
		next = time.Now().Add(l.yield(took))
	}()
	for _, s := range steps {
		s.shared = len(steps) > 1
	}
	return l.write(ctx, steps)
}

// write writes steps in one unit, in an order in which two units never wait for each other.
func (l *lane) write(_ context.Context, steps []*pendingStep) error {
	timeout := batchTimeout
	if len(steps) == 1 {
		timeout = singleTimeout
	}
	ctx, cancel := context.WithTimeout(l.ctx, timeout)
	defer cancel()
	if l.yield(timeout) > 0 {
		ctx = outbound.WithYieldingWrite(ctx)
	}
	slices.SortFunc(steps, func(a, b *pendingStep) int { return cmp.Compare(a.step.Written.Run.ID(), b.step.Written.Run.ID()) })
	all, ids := make([]execution.Step, len(steps)), make([]run.ID, len(steps))
	for i, s := range steps {
		all[i], ids[i] = s.step, s.step.Written.Run.ID()
	}
	var roused []run.ID
	err := l.work.Do(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
		roused, err = execution.Record(ctx, st, l.random, all...)
		return err
	})
	if err == nil {
		l.signals.NotifyProgress(ids...)
		if len(roused) > 0 {
			l.signals.Notify(roused...)
		}
	}
	return err
}

// isStoreError says whether an error is about the store, and no single step.
func isStoreError(err error) bool {
	return domain.KindOf(err) == domain.Unavailable || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// reload reads the run again because somebody else may have recorded a step.
func (j *job) reload() jobOutcome {
	end := j.readAnew()
	if end == jobContinue {
		j.interruptStale()
	}
	return end
}

// readAnew is reload that leaves the attempts alone that are being made.
func (j *job) readAnew() jobOutcome {
	for pause := minRecordPause; ; pause = min(2*pause, maxRecordPause) {
		r, good, err := j.session.reread(j)
		switch {
		case err == nil && !good, isCode(err, "run_not_found"):
			return jobDone
		case err == nil:
			j.run, j.held, j.needsCatchUp = r, held{}, true
			return jobContinue
		}
		j.session.report(fmt.Errorf("run %s: %w", j.lease.Run, err))
		if !outbound.Sleep(j.ctx, pause) {
			return j.stopped()
		}
	}
}

// unrecordable ends a run whose step was refused time and again, since whoever had it
// next would repeat its calls and be refused in the same way. Where that end cannot be
// recorded either, nothing is wrong with the step but with the store: the run is left
// leased, as it is when others are always faster.
func (j *job) unrecordable(refused error) jobOutcome {
	if isCode(refused, "stale_run") {
		return leaveToExpire
	}
	// Nobody knows whether what failed took effect all the same.
	if end := j.reload(); end != jobContinue {
		return end
	}
	from := j.run.Seq()
	step := j.giveUpOn(refused)
	if !step.Changed() {
		return leaveToExpire // it has ended
	}
	err := j.session.records.record(j.isBacklog(), step, outbound.RunStep{Run: j.run, From: from, Lease: j.lease})
	if err == nil {
		return jobDone
	}
	j.session.report(fmt.Errorf("run %s: end it, since its step is refused: %w", j.lease.Run, err))
	return leaveToExpire
}

func (j *job) giveUpOn(refused error) run.Step {
	if isCode(refused, run.CodeStorageExceeded) {
		return j.run.ExceedStorage(j.now())
	}
	return j.run.GiveUp(j.now())
}

func isCode(err error, code string) bool {
	var e *domain.Error
	return errors.As(err, &e) && e.Code == code
}
