package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

const (
	// together is how many steps are recorded in one unit.
	maxBatch = 64

	// briefly is how long a unit of several steps may take: one of their runs may be locked
	// by somebody else, which must not keep the others waiting. alone is how long one of a
	// single step may; its run waits for the lock by itself after that, when it is read again.
	batchTimeout  = 2 * time.Second
	singleTimeout = 5 * time.Second

	// recorders is how many such units go on at the same time, of the crowd and of the rest.
	lanesBatches = 2
)

// recorder records steps, all that wait in one unit of work: nobody waits for others to
// come, but those who come while a unit goes on share the next one. Steps of tenants of
// whom many runs are worked on are the crowd. They share no unit with the rest, and the
// rest waits for none of theirs.
type recorder struct {
	work       outbound.UnitOfWork
	signals    outbound.RunSignals
	random     outbound.Random
	within     context.Context //nolint:containedctx // of every unit, whoever asks for it
	few, crowd chan *pendingStep
}

func newRecorder(work outbound.UnitOfWork, signals outbound.RunSignals, random outbound.Random, within context.Context, most int) *recorder { //nolint:revive // it keeps the context
	return &recorder{work: work, signals: signals, random: random, within: within, few: make(chan *pendingStep, most), crowd: make(chan *pendingStep, most)}
}

// close says that nothing comes any more.
func (r *recorder) close() {
	close(r.few)
	close(r.crowd)
}

// awaited is a step that somebody waits for.
type pendingStep struct {
	execution.Step
	done chan error
}

// record writes a step and its events, of the crowd or not. The error is that of
// RunRepository.Record, or that of the unit.
func (r *recorder) record(crowds bool, step run.Step, written outbound.RunStep) error {
	one := &pendingStep{execution.Step{Made: step, Written: written}, make(chan error, 1)}
	if crowds {
		r.crowd <- one
	} else {
		r.few <- one
	}
	return <-one.done
}

// run records the steps of a channel until nothing can come any more, and says after each
// unit how long it took.
func (r *recorder) run(waiting <-chan *pendingStep, done func(took time.Duration)) {
	for first := range waiting {
		began := time.Now()
		batch := []*pendingStep{first}
	gather:
		for len(batch) < maxBatch {
			select {
			case another, more := <-waiting:
				if !more {
					break gather
				}
				batch = append(batch, another)
			default:
				break gather
			}
		}
		slices.SortFunc(batch, func(a, b *pendingStep) int { return cmp.Compare(a.Written.Run.ID(), b.Written.Run.ID()) })
		r.write(batch)
		done(time.Since(began))
	}
}

// write records a batch in one unit, and where one of its steps is refused, or has to
// wait, each in a unit of its own.
func (r *recorder) write(batch []*pendingStep) {
	err := r.unit(batch)
	if err != nil && len(batch) > 1 && (!isStoreError(err) || isCode(err, "database_busy")) {
		for _, one := range batch {
			one.done <- r.unit([]*pendingStep{one})
		}
		return
	}
	for _, one := range batch {
		one.done <- err
	}
}

func (r *recorder) unit(batch []*pendingStep) (err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			err = inbound.Panicked(thrown)
		}
	}()
	limit := batchTimeout
	if len(batch) == 1 {
		limit = singleTimeout
	}
	ctx, cancel := context.WithTimeout(r.within, limit)
	defer cancel()
	all, ids := make([]execution.Step, len(batch)), make([]run.ID, len(batch))
	for i, one := range batch {
		all[i], ids[i] = one.Step, one.Written.Run.ID()
	}
	err = r.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		return execution.Record(ctx, st, r.random, all...)
	})
	if err == nil {
		r.signals.Advanced(ids...)
	}
	return err
}

// wholesale says whether an error is about the store, and no single step.
func isStoreError(err error) bool {
	return domain.KindOf(err) == domain.Unavailable || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// unrecordable ends a run whose step was refused time and again, since whoever had it
// next would repeat its calls and be refused in the same way. Where that end cannot be
// recorded either, nothing is wrong with the step but with the store: the run is left
// alone, as it is when others are always faster.
func (j *job) unrecordable(refused error) jobOutcome {
	if isCode(refused, "stale_run") {
		return leaveToExpire
	}
	// Nobody knows whether what failed took effect all the same.
	if end := j.reload(); end != jobContinue {
		return end
	}
	from := j.run.Seq()
	step := j.run.GiveUp(j.now())
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
