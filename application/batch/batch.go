// Package batch lets requests that arrive at the same time share what each of them would
// do alone: a unit of work and its commit.
package batch

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/sluicehq/sluice/ports/inbound"
)

// Limits bound the batches of a [Batcher]. Members and Running are at least 1.
type Limits struct {
	Members int // of one batch
	Weight  int // of the members of one batch together, unless it has only one; 0 for any
	Running int // batches at the same time

	// MinWhenBusy is how many members a batch must have to start while others are running;
	// those that wait are counted. 0 and 1 are any, and more than Members are Members.
	MinWhenBusy int

	Timeout time.Duration // of one batch, however often it is tried; 0 for none

	// RetryAlone says whether the members of a batch that failed with the error are
	// committed one by one, each with an error of its own; nil for never.
	RetryAlone func(err error) bool
}

// Batcher commits members together (group commit). Nothing waits for a timer: a member that
// finds no batch running, or few enough, is committed at once by its own Do, with those that
// arrive just then; the others wait until a batch has ended, and then the first of them commits all that fit.
// Members are committed in the order in which they came.
//
// It has no goroutine of its own, so that nothing is left once every Do has returned.
type Batcher[T any] struct {
	limits Limits
	weigh  func(T) int
	commit func(ctx context.Context, members []T) error

	mu      sync.Mutex
	waiting []*waiter[T]
	running int
}

// waiter is a member whose Do has not returned.
type waiter[T any] struct {
	member T
	weight int
	err    error             // of its commit
	turn   chan []*waiter[T] // receives once: the batch to commit, of which it is the first, or nil when that was done
}

// New returns a batcher. weigh is nil for members that weigh nothing. commit is called by
// several goroutines at a time, but by one for a member, and leaves in each member what
// became of it.
func New[T any](limits Limits, weigh func(T) int, commit func(ctx context.Context, members []T) error) *Batcher[T] {
	if weigh == nil {
		weigh = func(T) int { return 0 }
	}
	limits.MinWhenBusy = min(limits.MinWhenBusy, limits.Members)
	return &Batcher[T]{limits: limits, weigh: weigh, commit: commit}
}

// Do commits a member with those of others and returns the error of their commit. Should it
// panic, that is an error for all of them, which [inbound.IsPanic] knows. A ctx that ends
// while the member waits takes it out, and is the error. Once its batch has started that
// goes on to its end: values of ctx reach the commit, its end does not.
func (b *Batcher[T]) Do(ctx context.Context, member T) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := &waiter[T]{member: member, weight: b.weigh(member)}
	batch := b.enter(w)
	if batch == nil {
		var err error
		if batch, err = b.await(ctx, w); err != nil {
			return err
		}
	}
	if batch != nil {
		b.run(ctx, b.fill(batch), w)
	}
	return w.err
}

// fill lets whoever can arrive do so, and adds them to a batch that is about to be committed: of
// requests that were read together, or runs that were leased together, the first would go alone.
func (b *Batcher[T]) fill(batch []*waiter[T]) []*waiter[T] {
	runtime.Gosched()
	b.mu.Lock()
	defer b.mu.Unlock()
	weight := 0
	for _, w := range batch {
		weight += w.weight
	}
	return append(batch, b.take(len(batch), weight)...)
}

// enter returns the batch that a member starts at once, or nil when it has to wait.
func (b *Batcher[T]) enter(w *waiter[T]) []*waiter[T] {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running == 0 || b.running < b.limits.Running && len(b.waiting)+1 >= b.limits.MinWhenBusy {
		b.running++
		return append(b.take(1, w.weight), w)
	}
	w.turn = make(chan []*waiter[T], 1)
	b.waiting = append(b.waiting, w)
	return nil
}

// take takes those of the first who wait that fit into a batch which has some already.
func (b *Batcher[T]) take(n, weight int) []*waiter[T] {
	taken := 0
	for taken < len(b.waiting) && n < b.limits.Members {
		if weight += b.waiting[taken].weight; n > 0 && b.limits.Weight > 0 && weight > b.limits.Weight {
			break
		}
		taken, n = taken+1, n+1
	}
	batch := b.waiting[:taken:taken]
	if b.waiting = b.waiting[taken:]; len(b.waiting) == 0 {
		b.waiting = nil // the members that were in it are done with
	}
	return batch
}

// await waits for the turn of a member, unless ctx ends before.
func (b *Batcher[T]) await(ctx context.Context, w *waiter[T]) (batch []*waiter[T], err error) {
	select {
	case batch = <-w.turn:
		return batch, nil
	case <-ctx.Done():
		if b.leave(w) {
			return nil, ctx.Err()
		}
		return <-w.turn, nil
	}
}

// leave takes a member out of those that wait; false when it does not wait any more.
func (b *Batcher[T]) leave(w *waiter[T]) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.waiting, w)
	if i < 0 {
		return false
	}
	b.waiting = slices.Delete(b.waiting, i, i+1)
	return true
}

// errLost is the error of members whose batch ended without one, with its goroutine.
var errLost = errors.New("the batch ended before it was committed")

// run commits a batch for one of its members, lets the next one start and returns the others.
func (b *Batcher[T]) run(ctx context.Context, batch []*waiter[T], own *waiter[T]) {
	ctx = context.WithoutCancel(ctx)
	if b.limits.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, b.limits.Timeout)
		defer cancel()
	}
	setErr(batch, errLost)
	defer func() {
		b.handOver()
		for _, w := range batch {
			if w != own {
				w.turn <- nil
			}
		}
	}()
	err := b.try(ctx, batch)
	if err == nil || len(batch) == 1 || b.limits.RetryAlone == nil || !b.limits.RetryAlone(err) {
		setErr(batch, err)
		return
	}
	for i, w := range batch {
		w.err = b.try(ctx, batch[i:i+1])
	}
}

func (b *Batcher[T]) try(ctx context.Context, batch []*waiter[T]) error {
	return inbound.RecoverPanic("commit a batch", func() error {
		members := make([]T, len(batch))
		for i, w := range batch {
			members[i] = w.member
		}
		return b.commit(ctx, members)
	})
}

func setErr[T any](batch []*waiter[T], err error) {
	for _, w := range batch {
		w.err = err
	}
}

// handOver gives the turn to the first who waits, with as many behind it as fit.
func (b *Batcher[T]) handOver() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) == 0 {
		b.running--
		return
	}
	batch := b.take(0, 0)
	batch[0].turn <- batch
}
