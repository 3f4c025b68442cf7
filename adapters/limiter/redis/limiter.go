// Package redis is the driven adapter that counts requests in Redis or Valkey, so that
// all processes of the gateway share their limits.
//
// Each request costs one round trip: a script counts it and takes its place. The time
// is the server's. A place is a lease, renewed while it is held, so that the places of
// a process that died come free. While Redis does not answer, each process counts on
// its own.
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
	// process: 150 ms by default.
	Timeout time.Duration

	// Lease is how long a place outlives the process that held it: 12 s by default. It
	// is renewed three times as often, and is the same in all processes.
	Lease time.Duration

	// Warn is told once of each outage, at its beginning, with the reason, which holds
	// no password. Restored is told of its end, when Redis has answered for 10 seconds.
	// A request may be waiting for them to return.
	Warn     func(reason error)
	Restored func()

	// FellBack is called for each request that this process counts on its own.
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

// Limiter counts in Redis, and by its fallback while Redis is out.
type Limiter struct {
	pool     *pool
	fallback outbound.Limiter
	opts     Options
	clock    outbound.Clock // nil: the server's

	places *places
	outage outage

	wake chan struct{} // the keeper has something to look after
	kept chan struct{} // the keeper has ended
	stop context.CancelFunc
	once sync.Once
	err  error // of Close
}

var _ outbound.Limiter = (*Limiter)(nil)

// New returns a limiter that counts in the Redis or Valkey at the address: redis://,
// rediss:// or unix://. One that does not answer is an outage and no error, so that a
// gateway starts without it; an address that is no such URL is an error, which does
// not show it. Close must be called.
func New(ctx context.Context, address string, fallback outbound.Limiter, opts Options) (*Limiter, error) {
	return open(ctx, address, fallback, opts, nil)
}

func open(ctx context.Context, address string, fallback outbound.Limiter, opts Options, clock outbound.Clock) (*Limiter, error) {
	opts = opts.complete()
	server, err := parse(address)
	if err != nil {
		return nil, err
	}
	l := &Limiter{
		pool: newPool(server.size, server.dial), fallback: fallback, opts: opts, clock: clock,
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
		got, err := l.admit(ctx, request{subject: subject, limit: limit, window: window})
		if err == nil {
			return got.Allowance, nil
		}
		if err := gone(ctx); err != nil {
			return outbound.Allowance{}, err
		}
		l.fail(era, err)
	}
	l.opts.FellBack()
	return l.fallback.Take(ctx, subject, limit, window)
}

// Enter counts one request and takes a place if one is free.
func (l *Limiter) Enter(ctx context.Context, subject string, limit int, window time.Duration, places int) (outbound.Entry, error) {
	if err := ctx.Err(); err != nil {
		return outbound.Entry{Leave: func() {}}, err
	}
	if era, up := l.outage.up(); up {
		entry, err := l.enter(ctx, request{subject: subject, limit: limit, window: window, places: places})
		if err == nil {
			return entry, nil
		}
		if err := gone(ctx); err != nil {
			return entry, err
		}
		l.fail(era, err)
	}
	l.opts.FellBack()
	return l.fallback.Enter(ctx, subject, limit, window, places)
}

// gone says whether the caller has given up, and how. A connection may notice a
// deadline that has passed before the context does.
func gone(ctx context.Context) error {
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

func (l *Limiter) enter(ctx context.Context, r request) (outbound.Entry, error) {
	asked := time.Now()
	r.token, r.left = l.places.want(r.subject)
	got, err := l.admit(ctx, r)
	if err != nil {
		// Redis may have done what it was asked to, or may yet do it.
		l.leave(r.subject, r.token)
		return outbound.Entry{Leave: func() {}}, err
	}
	l.places.heard(r.subject, r.left)
	if !got.inside {
		return outbound.Entry{Allowance: got.Allowance, Leave: func() {}}, nil
	}
	l.places.hold(r.subject, r.token, asked)
	leave := sync.OnceFunc(func() { l.leave(r.subject, r.token) })
	return outbound.Entry{Allowance: got.Allowance, Inside: true, Leave: leave}, nil
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
// are counted by the fallback.
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
