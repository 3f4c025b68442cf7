package redis

import (
	"context"
	"sync"
	"time"

	"github.com/sluicehq/sluice/ports/outbound"
)

// LocalLimiter is a limiter of this process alone.
type LocalLimiter interface {
	outbound.Limiter

	// Full says whether Allow would refuse one more request now, and with which answer. It
	// counts nothing.
	Full(subject string, limit int, window time.Duration) (refusal outbound.Allowance, full bool)
}

// enterLocally counts in this process what Redis granted, and takes a slot where Redis
// gave one. Leave releases both slots.
func (l *Limiter) enterLocally(ctx context.Context, r request, got answer, askedAt time.Time) (outbound.Acquisition, error) {
	refused := outbound.Acquisition{Allowance: got.Allowance, Release: func() {}}
	switch {
	case !got.Granted:
		return refused, nil
	case !got.inside:
		local, err := l.local.Allow(ctx, r.subject, r.limit, r.window)
		refused.Allowance = stricter(got.Allowance, local)
		return refused, err
	}
	local, err := l.local.Acquire(ctx, r.subject, r.limit, r.window, r.slots)
	refused.Allowance = stricter(got.Allowance, local.Allowance)
	if !local.Acquired {
		l.release(r.subject, r.token)
		return refused, err
	}
	l.slots.hold(r.subject, r.token, askedAt)
	leave := sync.OnceFunc(func() {
		local.Release() // first: who finds a free slot in Redis must find one here
		l.release(r.subject, r.token)
	})
	return outbound.Acquisition{Allowance: refused.Allowance, Acquired: true, Release: leave}, nil
}

// stricter returns the answer that holds where both were given: a refusal, the one with
// less remaining, or the one with the longer wait. Between equal ones it is that of
// Redis, whose clock all processes share.
func stricter(redis, local outbound.Allowance) outbound.Allowance {
	switch {
	case redis.Granted != local.Granted:
		if local.Granted {
			return redis
		}
		return local
	case local.Remaining < redis.Remaining:
		return local
	case local.Remaining == redis.Remaining && local.RetryAfter > redis.RetryAfter:
		return local
	default:
		return redis
	}
}
