package runs

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
)

const (
	// together is how many steps are recorded in one unit.
	together = 64

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

	// rows is held for writing by who holds the rows of many runs in an order of their
	// own: two such units could wait for each other. Those of recorders are of other runs
	// than each other's.
	rows sync.RWMutex
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

// write records a batch in one unit, and where one of its steps is refused each in a
// unit of its own.
func (r *recorder) write(batch []*awaited) {
	err := r.unit(batch)
	if err != nil && len(batch) > 1 && !wholesale(err) {
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
	r.rows.RLock()
	defer r.rows.RUnlock()
	defer func() {
		if thrown := recover(); thrown != nil {
			err = panicked(thrown)
		}
	}()
	ctx, cancel := context.WithTimeout(r.within, patience)
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
