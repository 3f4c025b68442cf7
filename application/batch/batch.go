// Package batch lets requests that arrive at the same time share what each of them would
// do alone: a unit of work and its commit.
package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

	// Beside is how many members a batch must have to start while others are running; those
	// that wait are counted. 0 and 1 are any, and more than Members are Members.
	Beside int

	Timeout time.Duration // of one batch; 0 for none
}

// Batcher commits members together (group commit). Nothing waits for a timer: a member that
// finds no batch running, or few enough, is committed at once by whoever brought it; the
// others wait until a batch has ended, and then the first of them commits all that fit.
// Members are committed in the order in which they came.
type Batcher[T any] struct {
	limits Limits
	weigh  func(T) int
	commit func(ctx context.Context, members []T) error

	mu      sync.Mutex
	waiting []*waiter[T]
	running int
}

// waiter is a member that waits for its turn.
type waiter[T any] struct {
	member T
	weight int
	turn   chan turn[T] // receives once
}

// turn tells a waiter how its batch ended, or that it is to commit one.
type turn[T any] struct {
	err   error
	batch []*waiter[T] // to commit, of which it is the first; nil when that was done
}

// New returns a batcher. weigh is nil for members that weigh nothing. commit is called by
// several goroutines at a time, never twice with the same members, and leaves in each member
// what became of it.
func New[T any](limits Limits, weigh func(T) int, commit func(ctx context.Context, members []T) error) *Batcher[T] {
	if weigh == nil {
		weigh = func(T) int { return 0 }
	}
	limits.Beside = min(limits.Beside, limits.Members)
	return &Batcher[T]{limits: limits, weigh: weigh, commit: commit}
}

// Do commits a member with those of others and returns the error of their commit. Should it
// panic, that is an error for all of them, which [inbound.IsPanic] knows. A ctx that ends
// while the member waits takes it out, and is the error. Once its batch has started that
// goes on to its end, whoever is gone: values of ctx reach the commit, its end does not.
func (b *Batcher[T]) Do(ctx context.Context, member T) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	members, others, w := b.enter(member)
	if w != nil {
		t, err := b.await(ctx, w)
		if err != nil || t.batch == nil {
			return cmp.Or(err, t.err)
		}
		members, others = membersOf(t.batch), t.batch[1:]
	}
	return b.run(ctx, members, others)
}

// enter returns the batch that a member starts at once, or lets it wait.
func (b *Batcher[T]) enter(member T) (members []T, others []*waiter[T], w *waiter[T]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	weight := b.weigh(member)
	if b.running == 0 || b.running < b.limits.Running && len(b.waiting)+1 >= b.limits.Beside {
		b.running++
		others = b.take(1, weight)
		return append(membersOf(others), member), others, nil
	}
	w = &waiter[T]{member: member, weight: weight, turn: make(chan turn[T], 1)}
	b.waiting = append(b.waiting, w)
	return nil, nil, w
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
func (b *Batcher[T]) await(ctx context.Context, w *waiter[T]) (turn[T], error) {
	select {
	case t := <-w.turn:
		return t, nil
	case <-ctx.Done():
		if b.leave(w) {
			return turn[T]{}, ctx.Err()
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

// run commits a batch, lets the next one start and tells the others.
func (b *Batcher[T]) run(ctx context.Context, members []T, others []*waiter[T]) (err error) {
	ctx = context.WithoutCancel(ctx)
	if b.limits.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, b.limits.Timeout)
		defer cancel()
	}
	err = errLost
	defer func() {
		if thrown := recover(); thrown != nil {
			err = fmt.Errorf("commit a batch: %w", inbound.Panicked(thrown))
		}
		b.handOver()
		for _, w := range others {
			w.turn <- turn[T]{err: err}
		}
	}()
	return b.commit(ctx, members)
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
	batch[0].turn <- turn[T]{batch: batch}
}

func membersOf[T any](waiters []*waiter[T]) []T {
	members := make([]T, len(waiters), len(waiters)+1)
	for i, w := range waiters {
		members[i] = w.member
	}
	return members
}
