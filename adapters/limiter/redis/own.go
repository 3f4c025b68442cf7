package redis

import (
	"context"
	"sync"
	"time"

	"github.com/sluicehq/sluice/ports/outbound"
)

// Own is a limiter of this process alone.
type Own interface {
	outbound.Limiter

	// Full says whether Take would refuse one more request now, and with which answer. It
	// counts nothing.
	Full(subject string, limit int, window time.Duration) (refusal outbound.Allowance, full bool)
}

// enter has this process count what Redis granted, and take a place where Redis gave
// one; both places are given back together.
func (l *Limiter) enter(ctx context.Context, r request, got answer, asked time.Time) (outbound.Entry, error) {
	refused := outbound.Entry{Allowance: got.Allowance, Leave: func() {}}
	switch {
	case !got.Granted:
		return refused, nil
	case !got.inside:
		own, err := l.own.Take(ctx, r.subject, r.limit, r.window)
		refused.Allowance = stricter(got.Allowance, own)
		return refused, err
	}
	own, err := l.own.Enter(ctx, r.subject, r.limit, r.window, r.places)
	refused.Allowance = stricter(got.Allowance, own.Allowance)
	if !own.Inside {
		l.leave(r.subject, r.token)
		return refused, err
	}
	l.places.hold(r.subject, r.token, asked)
	leave := sync.OnceFunc(func() {
		// First the own one: who finds room in Redis must find it here.
		own.Leave()
		l.leave(r.subject, r.token)
	})
	return outbound.Entry{Allowance: refused.Allowance, Inside: true, Leave: leave}, nil
}

// stricter returns the answer that holds where both were given: a refusal, that with
// less remaining, or that with the longer wait. Between equal ones it is that of Redis,
// whose clock all processes share.
func stricter(redis, own outbound.Allowance) outbound.Allowance {
	switch {
	case redis.Granted != own.Granted:
		if own.Granted {
			return redis
		}
		return own
	case own.Remaining < redis.Remaining:
		return own
	case own.Remaining == redis.Remaining && own.RetryAfter > redis.RetryAfter:
		return own
	default:
		return redis
	}
}
