package redis

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	minProbeDelay = 100 * time.Millisecond // from a failure to the first probe
	maxProbeDelay = 5 * time.Second
	recoveryTime  = 10 * time.Second // how long Redis must answer before an outage is over
)

// breaker is the circuit breaker: one failure opens it, so an outage delays only the
// requests that are in flight when it begins, and a probe in the background closes it.
// A server that fails again and again is probed less and less often, and is one outage.
type breaker struct {
	epoch atomic.Uint64 // odd while open

	mu         sync.Mutex
	inOutage   bool // an outage was reported, and not its end
	probeDelay time.Duration
	closedAt   time.Time // when a probe last closed it
}

// state says whether to ask Redis. The epoch is for [breaker.trip].
func (b *breaker) state() (epoch uint64, up bool) {
	epoch = b.epoch.Load()
	return epoch, epoch%2 == 0
}

// trip notes that Redis failed a request that was sent in the epoch. A request of an
// earlier epoch says nothing about this one. It says whether this failure opened the
// breaker, and whether that begins an outage.
func (b *breaker) trip(epoch uint64) (opened, newOutage bool) {
	if !b.epoch.CompareAndSwap(epoch, epoch+1) {
		return false, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.inOutage {
		b.probeDelay = min(2*b.probeDelay, maxProbeDelay)
		return true, false
	}
	b.inOutage, b.probeDelay = true, minProbeDelay
	return true, true
}

// delay is how long to wait before the next probe.
func (b *breaker) delay() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.probeDelay
}

func (b *breaker) probeFailed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.probeDelay = min(2*b.probeDelay, maxProbeDelay)
}

// reset closes the breaker.
func (b *breaker) reset(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closedAt = now
	b.epoch.Add(1)
}

// shutDown opens the breaker for good and says whether it was closed. No probe may be
// running.
func (b *breaker) shutDown() (wasUp bool) {
	epoch, up := b.state()
	return up && b.epoch.CompareAndSwap(epoch, epoch+1)
}

// recovered says once that an outage has ended.
func (b *breaker) recovered(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, up := b.state()
	if !b.inOutage || !up || now.Sub(b.closedAt) < recoveryTime {
		return false
	}
	b.inOutage = false
	return true
}
