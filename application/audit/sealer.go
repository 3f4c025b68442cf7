package audit

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/domain/audit"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

const (
	// sealPause is how long the sealer waits once it is woken, so that many entries are sealed at once.
	sealPause = 750 * time.Millisecond

	// sealPoll is how long it waits where nobody wakes it. It finds what a process has left that was killed.
	sealPoll = 5 * time.Second
)

// maxChains is how many chains are looked at at a time.
const maxChains = 100

// Retention is how long entries are kept.
type Retention time.Duration

// Sealer implements inbound.AuditSealer. Of several processes, each holds the chain that it works on for one unit of
// work, and leaves out one that another holds.
type Sealer struct {
	work   outbound.UnitOfWork
	clock  outbound.Clock
	keep   Retention
	pause  time.Duration
	poll   time.Duration
	wakeup chan struct{} // holds one when there are new entries
	panics atomic.Int64
	oldest atomic.Pointer[time.Time] // since when the oldest entry waits; nil for none
}

var _ inbound.AuditSealer = (*Sealer)(nil)

// NewSealer returns the service.
func NewSealer(work outbound.UnitOfWork, clock outbound.Clock, keep Retention) *Sealer {
	return &Sealer{work: work, clock: clock, keep: keep, pause: sealPause, poll: sealPoll, wakeup: make(chan struct{}, 1)}
}

// Wake says that there are new entries.
func (s *Sealer) Wake() {
	select {
	case s.wakeup <- struct{}{}:
	default: // it is known
	}
}

// Panics is how often it panicked.
func (s *Sealer) Panics() int64 { return s.panics.Load() }

// Run seals until ctx ends.
func (s *Sealer) Run(ctx context.Context, failed func(error)) {
	s.Wake() // another process may have left something
	for s.await(ctx) {
		err := inbound.RecoverPanic("seal the audit log", func() error { return s.Seal(ctx) })
		if inbound.IsPanic(err) {
			s.panics.Add(1)
		}
		if err != nil && ctx.Err() == nil {
			failed(err)
		}
		if err != nil || s.oldest.Load() != nil {
			s.Wake()
		}
	}
}

// await sleeps until there may be entries to seal; false when ctx has ended.
func (s *Sealer) await(ctx context.Context) bool {
	if outbound.Await(ctx, s.wakeup, s.poll) {
		return outbound.Sleep(ctx, s.pause)
	}
	return ctx.Err() == nil
}

// Seal seals what there is: a batch of each chain at a time, so that a busy one has no other wait long.
func (s *Sealer) Seal(ctx context.Context) error {
	for {
		more, err := s.sealEach(ctx)
		if !more { // what failed in a pass before was tried again
			return err
		}
	}
}

// sealEach seals a batch of each chain, and says whether there is more that can be sealed at once.
func (s *Sealer) sealEach(ctx context.Context) (more bool, err error) {
	var waiting []outbound.AuditBacklog
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
		waiting, err = st.Audit.Sealing.Unsealed(ctx, maxChains)
		return err
	})
	if err != nil {
		return false, err
	}
	if len(waiting) > 0 {
		s.oldest.Store(&waiting[0].Since)
	}
	sealed, left := 0, false
	for _, w := range waiting {
		n, failed := s.sealSome(ctx, w.Tenant)
		sealed, err = sealed+n, errors.Join(err, failed)
		more, left = more || n == batch, left || n == 0
	}
	more = more || len(waiting) == maxChains && sealed > 0
	if err == nil && len(waiting) < maxChains && !more && !left {
		s.oldest.Store(nil)
	}
	return more, err
}

// sealSome seals a batch, and returns how many entries it had.
func (s *Sealer) sealSome(ctx context.Context, owner tenant.ID) (n int, err error) {
	err = s.work.Do(outbound.WithYieldingWrite(ctx), func(ctx context.Context, st outbound.Stores) error {
		n = 0
		head, ok, err := st.Audit.Sealing.Hold(ctx, owner)
		if err != nil || !ok {
			return err
		}
		next, err := st.Audit.Sealing.Next(ctx, owner, batch)
		switch {
		case err != nil:
			return err
		case len(next) == 0 && head.Sequence == 0:
			return errGone
		case len(next) == 0:
			return nil
		}
		head.Seal(next)
		if err := st.Audit.Sealing.Seal(ctx, head, next); err != nil {
			return err
		}
		n = len(next)
		return nil
	})
	switch {
	case errors.Is(err, errGone):
		return 0, nil
	case err != nil:
		return 0, err
	}
	return n, nil
}

// errGone ends a unit without the head that it made: another unit is changing all entries, or has deleted them with their
// tenant.
var errGone = errors.New("there is nothing to seal")

// OldestUnsealed is how long the oldest entry has waited that was there when the sealer last looked.
func (s *Sealer) OldestUnsealed() time.Duration {
	since := s.oldest.Load()
	if since == nil {
		return 0
	}
	return max(0, s.clock.Now().Sub(*since))
}

// Prune removes old entries, and what is left of tenants that are gone. Where it fails with a chain, it goes on with the
// others.
func (s *Sealer) Prune(ctx context.Context) (removed int, err error) {
	err = s.work.Do(outbound.WithYieldingWrite(ctx), func(ctx context.Context, st outbound.Stores) (err error) {
		removed, err = st.Audit.Chain.Sweep(ctx)
		return err
	})
	before := s.clock.Now().Add(-time.Duration(s.keep))
	for behind := (*tenant.ID)(nil); ; {
		var aged []tenant.ID
		failed := s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
			aged, err = st.Audit.Chain.Aged(ctx, before, behind, maxChains)
			return err
		})
		if failed != nil || len(aged) == 0 {
			return removed, errors.Join(err, failed)
		}
		for _, owner := range aged {
			n, failed := s.pruneChain(ctx, owner, before)
			removed, err = removed+n, errors.Join(err, failed)
		}
		behind = &aged[len(aged)-1]
	}
}

func (s *Sealer) pruneChain(ctx context.Context, owner tenant.ID, before time.Time) (removed int, err error) {
	for n := batch; n == batch && err == nil; removed += n {
		n, err = s.pruneSome(ctx, owner, before)
	}
	return removed, err
}

// pruneSome removes entries from the beginning of a chain that are old, up to the first that is not: those of a clock
// that was ahead go later.
func (s *Sealer) pruneSome(ctx context.Context, owner tenant.ID, before time.Time) (n int, err error) {
	err = s.work.Do(outbound.WithYieldingWrite(ctx), func(ctx context.Context, st outbound.Stores) error {
		n = 0
		head, ok, err := st.Audit.Sealing.Hold(ctx, owner)
		if err != nil || !ok {
			return err
		}
		oldest, err := st.Audit.Chain.Sealed(ctx, owner, head.Pruned.Sequence, batch)
		if err != nil {
			return err
		}
		var last audit.Entry
		for _, e := range oldest {
			if !e.At.Before(before) {
				break
			}
			last, n = e, n+1
		}
		if n == 0 {
			return nil
		}
		anchor := head.Pruned.Sequence
		head.Prune(last)
		return st.Audit.Chain.Prune(ctx, anchor, head)
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}
