package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

const (
	// together is how many steps are recorded in one unit.
	together = 64

	// briefly is how long a unit of several steps may take: one of their runs may be locked
	// by somebody else, which must not keep the others waiting. alone is how long one of a
	// single step may; its run waits for the lock by itself after that, when it is read again.
	briefly = 2 * time.Second
	alone   = 5 * time.Second

	// recorders is how many such units go on at the same time.
	recorders = 2
)

// recorder records steps, all that wait in one unit of work: nobody waits for others to
// come, but those who come while a unit goes on share the next one.
type recorder struct {
	work    outbound.UnitOfWork
	random  outbound.Random
	within  context.Context //nolint:containedctx // of every unit, whoever asks for it
	waiting chan *awaited
}

// awaited is a step that somebody waits for.
type awaited struct {
	recording
	done chan error
}

// record writes a step and its events. The error is that of RunRepository.Record, or
// that of the unit.
func (r *recorder) record(step run.Step, written outbound.RunStep) error {
	one := &awaited{recording{step, written}, make(chan error, 1)}
	r.waiting <- one
	return <-one.done
}

// run records until nothing can come any more.
func (r *recorder) run() {
	for first := range r.waiting {
		batch := []*awaited{first}
	gather:
		for len(batch) < together {
			select {
			case another, more := <-r.waiting:
				if !more {
					break gather
				}
				batch = append(batch, another)
			default:
				break gather
			}
		}
		slices.SortFunc(batch, func(a, b *awaited) int { return cmp.Compare(a.written.Run.ID(), b.written.Run.ID()) })
		r.write(batch)
	}
}

// write records a batch in one unit, and where one of its steps is refused, or has to
// wait, each in a unit of its own.
func (r *recorder) write(batch []*awaited) {
	err := r.unit(batch)
	if err != nil && len(batch) > 1 && (!wholesale(err) || isCode(err, "database_busy")) {
		for _, one := range batch {
			one.done <- r.unit([]*awaited{one})
		}
		return
	}
	for _, one := range batch {
		one.done <- err
	}
}

func (r *recorder) unit(batch []*awaited) (err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			err = panicked(thrown)
		}
	}()
	limit := briefly
	if len(batch) == 1 {
		limit = alone
	}
	ctx, cancel := context.WithTimeout(r.within, limit)
	defer cancel()
	all := make([]recording, len(batch))
	for i, one := range batch {
		all[i] = one.recording
	}
	return r.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error { return recordAll(ctx, st, r.random, all...) })
}

// wholesale says whether an error is about the store, and no single step.
func wholesale(err error) bool {
	return domain.KindOf(err) == domain.Unavailable || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// unrecordable ends a run whose step was refused time and again, since whoever had it
// next would repeat its calls and be refused in the same way. Where that end cannot be
// recorded either, nothing is wrong with the step but with the store: the run is left
// alone, as it is when others are always faster.
func (j *job) unrecordable(refused error) fate {
	if isCode(refused, "stale_run") {
		return left
	}
	// Nobody knows whether what failed took effect all the same.
	if end := j.reload(); end != goesOn {
		return end
	}
	from := j.run.Seq()
	step := j.run.GiveUp(j.now())
	if !step.Changed() {
		return left // it has ended
	}
	err := j.records.record(step, outbound.RunStep{Run: j.run, From: from, Lease: j.lease})
	if err == nil {
		return done
	}
	j.report(fmt.Errorf("run %s: end it, since its step is refused: %w", j.lease.Run, err))
	return left
}
