package redis

import (
	"context"
	"time"
)

// renewalsPerLease is how often a lease is renewed before it would run out.
const renewalsPerLease = 3

// maintain does what no request waits for. It is one goroutine, so a lease is never
// renewed after its release was sent.
func (l *Limiter) maintain(ctx context.Context) {
	defer close(l.stopped)
	renewal := time.NewTicker(l.opts.Lease / renewalsPerLease)
	defer renewal.Stop()
	probe := time.NewTimer(time.Hour)
	defer probe.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.wakeup:
			l.scheduleProbe(probe)
			l.flushReleased(ctx)
		case <-renewal.C:
			l.tick(ctx)
		case <-probe.C:
			l.probe(ctx)
			l.scheduleProbe(probe)
		}
	}
}

// scheduleProbe does nothing while Redis answers.
func (l *Limiter) scheduleProbe(probe *time.Timer) {
	if !l.Shared() {
		probe.Reset(l.breaker.delay())
	}
}

// flushReleased sends the released slots to Redis.
func (l *Limiter) flushReleased(ctx context.Context) {
	released := l.slots.unconfirmed()
	if l.try(ctx, func() error { return l.sendReleased(ctx, released) }) {
		for subject, tokens := range released {
			l.slots.confirmReleased(subject, tokens)
		}
	}
}

// tick renews leases and notices the end of an outage.
func (l *Limiter) tick(ctx context.Context) {
	now := time.Now()
	l.slots.forgetReleased(now.Add(-l.opts.Lease))
	if l.breaker.recovered(now) {
		l.opts.OnRecovery()
	}
	// A slot that is released soon, as most are, is not worth a renewal.
	l.renewOlder(ctx, now.Add(-l.opts.Lease/renewalsPerLease/2), now)
}

// renewOlder renews the leases that were last renewed before the given time.
func (l *Limiter) renewOlder(ctx context.Context, before, now time.Time) {
	l.try(ctx, func() error { return l.sendRenewals(ctx, l.slots.dueForRenewal(before, now)) })
}

// try calls send unless there is an outage, and says whether it succeeded.
func (l *Limiter) try(ctx context.Context, send func() error) bool {
	epoch, up := l.breaker.state()
	if !up {
		return false
	}
	err := send()
	if err != nil && ctx.Err() == nil {
		l.fail(epoch, err)
	}
	return err == nil
}

// probe finds out whether Redis counts again. Connecting and the first answer may take
// long; counting may not.
func (l *Limiter) probe(ctx context.Context) {
	if err := l.ping(ctx); err != nil {
		l.breaker.probeFailed()
		return
	}
	if _, err := l.admit(ctx, probeRequest); err != nil {
		l.breaker.probeFailed()
		return
	}
	now := time.Now()
	l.breaker.reset(now)
	l.renewOlder(ctx, now, now) // all: the server may have lost them
	l.flushReleased(ctx)
}

func (l *Limiter) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	return l.client.Ping(ctx).Err()
}

// probeRequest is like a client's, for a subject that no client has.
var probeRequest = request{subject: "probe", limit: 1, window: time.Millisecond, slots: 1, token: "probe"}

// fail opens the breaker. Only the failure that begins an outage is reported.
func (l *Limiter) fail(epoch uint64, err error) {
	opened, newOutage := l.breaker.trip(epoch)
	if newOutage {
		l.opts.OnOutage(err)
	}
	if opened {
		l.wake()
	}
}

// wake makes maintain look for work, without waiting for it.
func (l *Limiter) wake() {
	select {
	case l.wakeup <- struct{}{}:
	default: // a wakeup is pending
	}
}
