package usage

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/domain/usage"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

const (
	keepPause    = 5 * time.Second
	noteKept     = time.Minute // how often it is noted what is kept
	foldBatch    = 5000
	flushTimeout = 5 * time.Second // of what a process writes down when it ends
)

// Keeper implements inbound.UsageKeeper. Of several processes, the one that holds the turn folds for one unit of work, and the others go on.
type Keeper struct {
	work   outbound.UnitOfWork
	clock  outbound.Clock
	tally  *usage.Tally
	panics atomic.Int64
}

var _ inbound.UsageKeeper = (*Keeper)(nil)

// NewKeeper returns the service, which writes down what is in the tally.
func NewKeeper(work outbound.UnitOfWork, clock outbound.Clock, tally *usage.Tally) *Keeper {
	return &Keeper{work: work, clock: clock, tally: tally}
}

// Panics is how often it panicked.
func (k *Keeper) Panics() int64 { return k.panics.Load() }

// Run keeps until ctx ends.
func (k *Keeper) Run(ctx context.Context, failed func(error)) {
	for outbound.Sleep(ctx, keepPause) {
		err := inbound.RecoverPanic("keep usage", func() error { return errors.Join(k.Flush(ctx), k.Fold(ctx)) })
		if inbound.IsPanic(err) {
			k.panics.Add(1)
		}
		if err != nil && ctx.Err() == nil {
			failed(err)
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	if err := k.Flush(ctx); err != nil {
		failed(err)
	}
}

// Flush writes down what this process has counted. What could not be written is counted again.
func (k *Keeper) Flush(ctx context.Context) error {
	taken := k.tally.Take()
	if len(taken) == 0 {
		return nil
	}
	err := k.work.Do(outbound.WithYieldingWrite(ctx), func(ctx context.Context, st outbound.Stores) error {
		today := usage.DayOf(k.clock.Now())
		for owner, c := range taken {
			if err := st.Usage.Log.Add(ctx, owner, today, *c); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		for owner, c := range taken {
			k.tally.Count(owner, *c)
		}
	}
	return err
}

// Fold folds all that was appended, and notes from time to time what is kept.
func (k *Keeper) Fold(ctx context.Context) error {
	var waiting bool
	err := k.work.Read(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
		waiting, err = st.Usage.Folding.Waiting(ctx)
		return err
	})
	for n := foldBatch; err == nil && waiting && n == foldBatch; {
		n, err = k.foldSome(ctx)
	}
	return err
}

func (k *Keeper) foldSome(ctx context.Context) (n int, err error) {
	err = k.work.Do(outbound.WithYieldingWrite(ctx), func(ctx context.Context, st outbound.Stores) error {
		n = 0
		notedAt, ok, err := st.Usage.Folding.Hold(ctx)
		if err != nil || !ok {
			return err
		}
		if n, err = st.Usage.Folding.Fold(ctx, foldBatch); err != nil {
			return err
		}
		return k.noteKept(ctx, st, notedAt)
	})
	return n, err
}

// noteKept notes what is kept, first as what was kept when the day of the last note ended.
func (k *Keeper) noteKept(ctx context.Context, st outbound.Stores, notedAt time.Time) error {
	now := k.clock.Now()
	today, noted := usage.DayOf(now), usage.DayOf(notedAt)
	if noted == today && now.Sub(notedAt) < noteKept {
		return nil
	}
	if noted != today && notedAt.Unix() > 0 {
		if err := st.Usage.Folding.NoteKept(ctx, noted, now); err != nil {
			return err
		}
	}
	return st.Usage.Folding.NoteKept(ctx, today, now)
}
