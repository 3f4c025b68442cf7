package usage

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/usage"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

const (
	keepPause     = 5 * time.Second
	noteKept      = time.Minute // how often it is noted what is kept
	foldBatch     = 5000
	announceBatch = 100             // tenants of a unit
	flushTimeout  = 5 * time.Second // of what a process writes down when it ends
)

// Keeper implements inbound.UsageKeeper. Of several processes, the one that holds the turn folds for one unit of work, and the others go on.
type Keeper struct {
	work   outbound.UnitOfWork
	clock  outbound.Clock
	tally  *usage.Tally
	random outbound.Random
	panics atomic.Int64
}

var _ inbound.UsageKeeper = (*Keeper)(nil)

// NewKeeper returns the service, which writes down what is in the tally.
func NewKeeper(work outbound.UnitOfWork, clock outbound.Clock, random outbound.Random, tally *usage.Tally) *Keeper {
	return &Keeper{work: work, clock: clock, random: random, tally: tally}
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
	taken, refused := k.tally.Take(), k.tally.TakeRefusals()
	if len(taken) == 0 && len(refused) == 0 {
		return nil
	}
	err := k.work.Do(outbound.WithYieldingWrite(ctx), func(ctx context.Context, st outbound.Stores) error {
		today := usage.DayOf(k.clock.Now())
		for owner, c := range taken {
			if err := st.Usage.Log.Add(ctx, owner, today, *c); err != nil {
				return err
			}
		}
		return k.announce(ctx, st, refused, slices.Collect(maps.Keys(refused))...)
	})
	if err != nil {
		for owner, c := range taken {
			k.tally.Count(owner, *c)
		}
		for owner, all := range refused {
			for beyond := range all {
				k.tally.Refuse(owner, beyond)
			}
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
		var of []tenant.ID
		if n, of, err = k.foldSome(ctx); err != nil {
			return err
		}
		for some := range slices.Chunk(of, announceBatch) {
			err = errors.Join(err, k.work.Do(outbound.WithYieldingWrite(ctx), func(ctx context.Context, st outbound.Stores) error {
				return k.announce(ctx, st, nil, some...)
			}))
		}
	}
	return err
}

// foldSome folds for one unit. What is announced of it has units of its own: it reads much, and folding must not depend on it.
func (k *Keeper) foldSome(ctx context.Context) (n int, of []tenant.ID, err error) {
	err = k.work.Do(outbound.WithYieldingWrite(ctx), func(ctx context.Context, st outbound.Stores) error {
		n, of = 0, nil
		notedAt, ok, err := st.Usage.Folding.Hold(ctx)
		if err != nil || !ok {
			return err
		}
		if n, of, err = st.Usage.Folding.Fold(ctx, foldBatch); err != nil {
			return err
		}
		return k.noteKept(ctx, st, notedAt)
	})
	return n, of, err
}

// announce tells tenants of the thresholds that they have reached, each once in a month.
func (k *Keeper) announce(ctx context.Context, st outbound.Stores, refused map[tenant.ID]usage.Refusals, of ...tenant.ID) error {
	if len(of) == 0 {
		return nil
	}
	now := k.clock.Now()
	standings, err := st.Usage.Budgets.Standings(ctx, usage.MonthOf(now), of...)
	if err != nil {
		return err
	}
	var reached []usage.Threshold
	for _, s := range standings {
		reached = append(reached, s.Thresholds(refused[s.Tenant])...)
	}
	first, err := st.Usage.Budgets.Announce(ctx, reached...)
	if err != nil {
		return err
	}
	events := make([]*event.Event, len(first))
	for i, t := range first {
		events[i] = event.NewUsageThreshold(event.ID(k.random.ID(event.IDPrefix)), t, now)
	}
	return st.Webhooks.Events.Append(ctx, events...)
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
