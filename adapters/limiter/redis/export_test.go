package redis

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/ports/outbound"
)

// OpenAt is [New] with a clock that the scripts read instead of the server's.
func OpenAt(ctx context.Context, address string, local LocalLimiter, opts Options, clock outbound.Clock) (*Limiter, error) {
	return open(ctx, address, local, opts, clock)
}

// StopMaintenance stops renewing and releasing, as the end of the process would.
func (l *Limiter) StopMaintenance() {
	l.stop()
	<-l.stopped
}

// RenewAll renews the leases of all held slots. Maintenance must be stopped.
func (l *Limiter) RenewAll(ctx context.Context) {
	now := time.Now()
	l.renewOlder(ctx, now.Add(time.Hour), now)
}

// Probe finds out whether Redis answers again. Maintenance must be stopped.
func (l *Limiter) Probe(ctx context.Context) { l.probe(ctx) }

// FlushReleased sends the released slots to Redis. Maintenance must be stopped.
func (l *Limiter) FlushReleased(ctx context.Context) { l.flushReleased(ctx) }

// SkipRecoveryTime pretends that Redis has answered for the time that ends an outage.
func (l *Limiter) SkipRecoveryTime(ctx context.Context) {
	l.breaker.mu.Lock()
	l.breaker.closedAt = l.breaker.closedAt.Add(-recoveryTime)
	l.breaker.mu.Unlock()
	l.tick(ctx)
}
