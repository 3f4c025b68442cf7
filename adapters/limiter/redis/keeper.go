package redis

import (
	"context"
	"time"

	redigo "github.com/gomodule/redigo/redis"
)

// keep does what no request waits for, one thing after another: so a lease is never
// renewed that was given back meanwhile.
func (l *Limiter) keep(ctx context.Context) {
	defer close(l.kept)
	beat := time.NewTicker(l.opts.Lease / beats)
	defer beat.Stop()
	probe := time.NewTimer(time.Hour)
	defer probe.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
			l.await(probe)
			l.flush(ctx)
		case <-beat.C:
			l.beat(ctx)
		case <-probe.C:
			l.probe(ctx)
			l.await(probe)
		}
	}
}

// beats is how often a lease is renewed before it would run out.
const beats = 3

// await sets the time of the next probe if Redis is out.
func (l *Limiter) await(probe *time.Timer) {
	if _, up := l.outage.up(); !up {
		probe.Reset(l.outage.probeIn())
	}
}

// flush gives back in Redis what was left.
func (l *Limiter) flush(ctx context.Context) {
	left := l.places.toFree()
	if l.ask(ctx, func() error { return l.free(ctx, left) }) {
		for subject, tokens := range left {
			l.places.heard(subject, tokens)
		}
	}
}

// beat renews leases, and sees whether an outage is over.
func (l *Limiter) beat(ctx context.Context) {
	now := time.Now()
	l.places.expire(now.Add(-l.opts.Lease))
	if l.outage.over(now) {
		l.opts.Restored()
	}
	// A place that is left soon, as most are, is not worth a renewal.
	l.renewOlder(ctx, now.Add(-l.opts.Lease/beats/2), now)
}

// renewOlder renews the leases that were last renewed before the given time.
func (l *Limiter) renewOlder(ctx context.Context, before, now time.Time) {
	l.ask(ctx, func() error { return l.renew(ctx, l.places.toRenew(before, now)) })
}

// ask does something with Redis unless it is out, and says whether it succeeded.
func (l *Limiter) ask(ctx context.Context, do func() error) bool {
	era, up := l.outage.up()
	if !up {
		return false
	}
	err := do()
	if err != nil && ctx.Err() == nil {
		l.fail(era, err)
	}
	return err == nil
}

// probe finds out whether Redis does again what requests need. To connect and to answer
// at all it may take its time; to count it may not.
func (l *Limiter) probe(ctx context.Context) {
	err := l.pool.use(ctx, connectTimeout, func(c redigo.Conn) error {
		_, err := c.Do("PING")
		return err
	})
	if err == nil {
		_, err = l.admit(ctx, probeRequest)
	}
	if err != nil {
		l.outage.stillOut()
		return
	}
	now := time.Now()
	l.outage.restore(now)
	l.renewOlder(ctx, now, now) // all of them: the server may have lost them
	l.flush(ctx)
}

// probeRequest is one like those of the clients, of a subject that is none of theirs.
var probeRequest = request{subject: "probe", limit: 1, window: time.Millisecond, places: 1, token: "probe"}

// fail turns to the limits of this process. Only the failure that does so is told of,
// and only if it begins an outage.
func (l *Limiter) fail(era uint64, err error) {
	out, begins := l.outage.fail(era)
	if begins {
		l.opts.Warn(err)
	}
	if out {
		l.rouse()
	}
}

// rouse has the keeper look after what changed. It does not wait.
func (l *Limiter) rouse() {
	select {
	case l.wake <- struct{}{}:
	default: // it is about to look
	}
}
