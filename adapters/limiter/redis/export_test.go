package redis

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/ports/outbound"
)

// OpenAt is [New] with a clock that the scripts read instead of the server's.
func OpenAt(ctx context.Context, address string, own Own, opts Options, clock outbound.Clock) (*Limiter, error) {
	return open(ctx, address, own, opts, clock)
}

// Die ends what runs in the background as the end of the process would: nothing is
// renewed nor given back any more.
func (l *Limiter) Die() {
	l.stop()
	<-l.kept
}

// RenewAll renews the leases of all places that are held. The limiter must have died.
func (l *Limiter) RenewAll(ctx context.Context) {
	now := time.Now()
	l.renewOlder(ctx, now.Add(time.Hour), now)
}

// Probe finds out whether Redis answers again. The limiter must have died.
func (l *Limiter) Probe(ctx context.Context) { l.probe(ctx) }

// Calmly has Redis have answered for long enough that an outage is over, and looks.
func (l *Limiter) Calmly(ctx context.Context) {
	l.outage.mu.Lock()
	l.outage.answered = l.outage.answered.Add(-calm)
	l.outage.mu.Unlock()
	l.beat(ctx)
}

// Flush gives back in Redis what was left. The limiter must have died.
func (l *Limiter) Flush(ctx context.Context) { l.flush(ctx) }
