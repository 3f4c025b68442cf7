// Package redis is the driven adapter that counts requests in Redis or Valkey, so that
// all processes of the gateway share their limits.
//
// Each request costs one round trip: a script counts it and takes its place. The time
// is the server's. A place is a lease, renewed while it is held, so that the places of
// a process that died come free.
//
// What Redis grants is counted by the process itself too, with the same limit and by
// its own clock, and that count may refuse it. It does not while Redis keeps what it
// was told, for the grants of one process are some of all. While Redis does not answer
// the process's own count decides alone, with what Redis granted before; and when it
// answers again, having lost everything perhaps, the own count still holds. So one
// process never grants more than the limit in any window, and N processes never more
// than N times as much, whatever becomes of Redis.
package redis

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sluicehq/sluice/ports/outbound"
)

// Options of a [Limiter]. The zero value of each member is its default.
type Options struct {
	// Prefix begins the names of all keys: "sluice:limit:" by default. Gateways that
	// are to share limits have the same one.
	Prefix string

	// Timeout is how long a request waits for Redis before it is counted in this
	// process alone: 150 ms by default.
	Timeout time.Duration

	// Lease is how long a place outlives the process that held it: 12 s by default. It
	// is renewed three times as often, and is the same in all processes.
	Lease time.Duration

	// Warn is told once of each outage, at its beginning, with the reason, which holds
	// no password. Restored is told of its end, when Redis has answered for 10 seconds.
	// A request may be waiting for them to return.
	Warn     func(reason error)
	Restored func()

	// FellBack is called for each request that this process counts alone.
	FellBack func()
}

// Defaults of [Options].
const (
	defaultPrefix  = "sluice:limit:"
	defaultTimeout = 150 * time.Millisecond
	defaultLease   = 12 * time.Second
)

// complete puts the defaults where nothing was chosen.
func (o Options) complete() Options {
	o.Prefix = cmp.Or(o.Prefix, defaultPrefix)
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	o.Lease = cmp.Or(o.Lease, defaultLease)
	if o.Warn == nil {
		o.Warn = func(error) {}
	}
	if o.Restored == nil {
		o.Restored = func() {}
	}
	if o.FellBack == nil {
		o.FellBack = func() {}
	}
	return o
}

// Limiter counts in Redis and in this process, and in this process alone while Redis is
// out.
type Limiter struct {
	pool  *pool
	own   Own
	opts  Options
	clock outbound.Clock // of the scripts; nil: the server's

	places *places
	outage outage

	wake chan struct{} // the keeper has something to look after
	kept chan struct{} // the keeper has ended
	stop context.CancelFunc
	once sync.Once
	err  error // of Close
}

var _ outbound.Limiter = (*Limiter)(nil)

// New returns a limiter that counts in the Redis or Valkey at the address (redis://,
// rediss:// or unix://) and in own, which nothing else may use. A server that does not
// answer is an outage and no error, so that a gateway starts without it; an address
// that is no such URL is an error, which does not show it. Close must be called.
func New(ctx context.Context, address string, own Own, opts Options) (*Limiter, error) {
	return open(ctx, address, own, opts, nil)
}

func open(ctx context.Context, address string, own Own, opts Options, clock outbound.Clock) (*Limiter, error) {
	opts = opts.complete()
	server, err := parse(address)
	if err != nil {
		return nil, err
	}
	l := &Limiter{
		pool: newPool(server.size, server.dial), own: own, opts: opts, clock: clock,
		places: newPlaces(), wake: make(chan struct{}, 1), kept: make(chan struct{}),
	}
	if _, err := l.admit(ctx, probeRequest); err != nil {
		l.fail(0, err)
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	go l.keep(background)
	return l, nil
}

// Take counts one request unless the window is full.
func (l *Limiter) Take(ctx context.Context, subject string, limit int, window time.Duration) (outbound.Allowance, error) {
	if err := ctx.Err(); err != nil {
		return outbound.Allowance{}, err
	}
	if era, up := l.outage.up(); up {
		refusal, full := l.own.Full(subject, limit, window)
		got, err := l.admit(ctx, request{subject: subject, limit: limit, window: window, look: full})
		switch {
		case err == nil && full:
			return stricter(got.Allowance, refusal), nil
		case err == nil && !got.Granted:
			return got.Allowance, nil
		case err == nil:
			own, err := l.own.Take(ctx, subject, limit, window)
			return stricter(got.Allowance, own), err
		}
		if err := gone(ctx); err != nil {
			return outbound.Allowance{}, err
		}
		l.fail(era, err)
	}
	l.opts.FellBack()
	return l.own.Take(ctx, subject, limit, window)
}

// Enter counts one request and takes a place if one is free.
func (l *Limiter) Enter(ctx context.Context, subject string, limit int, window time.Duration, places int) (outbound.Entry, error) {
	if err := ctx.Err(); err != nil {
		return outbound.Entry{Leave: func() {}}, err
	}
	if era, up := l.outage.up(); up {
		r := request{subject: subject, limit: limit, window: window}
		refusal, full := l.own.Full(subject, limit, window)
		if r.look = full; !full {
			r.places = places
			r.token, r.left = l.places.want(subject)
		}
		asked := time.Now()
		got, err := l.admit(ctx, r)
		switch {
		case err == nil && full:
			return outbound.Entry{Allowance: stricter(got.Allowance, refusal), Leave: func() {}}, nil
		case err == nil:
			l.places.heard(subject, r.left)
			return l.enter(ctx, r, got, asked)
		case !full:
			// Redis may have done what it was asked to, or may yet do it.
			l.leave(subject, r.token)
		}
		if err := gone(ctx); err != nil {
			return outbound.Entry{Leave: func() {}}, err
		}
		l.fail(era, err)
	}
	l.opts.FellBack()
	return l.own.Enter(ctx, subject, limit, window, places)
}

// gone says whether the caller has given up, and how. A connection may notice a
// deadline that has passed before the context does.
func gone(ctx context.Context) error {
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

// leave gives a place back; Redis is told in the background, or by the subject's next
// request if that is sooner.
func (l *Limiter) leave(subject, token string) {
	l.places.leave(subject, token, time.Now())
	l.rouse()
}

// Shared says whether limits are shared now: false while Redis is out and after Close.
func (l *Limiter) Shared() bool {
	_, up := l.outage.up()
	return up
}

// Close gives back the places that this process holds, without waiting for a server
// that does not answer, and ends what runs in the background. Requests that come later
// are counted by this process alone.
func (l *Limiter) Close() error {
	l.once.Do(func() {
		l.stop()
		if !l.Shared() {
			l.closePool() // a probe ends with its connection
		}
		<-l.kept
		if l.outage.shut() {
			// What is not given back runs out.
			_ = l.free(context.Background(), l.places.all())
		}
		l.closePool()
	})
	return l.err
}

func (l *Limiter) closePool() {
	if err := l.pool.close(); err != nil {
		l.err = fmt.Errorf("redis: close: %w", err)
	}
}
