// Package redis is the driven adapter that counts requests in Redis or Valkey, so that
// all processes of the gateway share their limits.
//
// Each request costs one round trip: a script counts it and takes its slot. The time
// is the server's. A slot is a lease that is renewed while it is held, so the slots
// of a process that died become free.
//
// The process counts what Redis granted with the same limit and its own clock, and that
// local count may refuse a request too. While Redis does not answer, the local count
// decides alone; it also holds when Redis answers again and has lost its data. So one
// process never grants more than the limit in any window, and N processes never more
// than N times the limit.
package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/sluicehq/sluice/ports/outbound"
)

// Options of a [Limiter]. The zero value of each member is its default.
type Options struct {
	// Prefix begins the names of all keys: "sluice:limit:" by default. Gateways that
	// share limits use the same one.
	Prefix string

	// Timeout is how long a request waits for Redis before this process decides alone:
	// 150 ms by default.
	Timeout time.Duration

	// Lease is how long a slot outlives the process that held it: 12 s by default. It
	// must be the same in all processes.
	Lease time.Duration

	// OnOutage is called once at the beginning of each outage; the reason holds no
	// password. OnRecovery is called when Redis has answered for 10 seconds again.
	// A request may wait for either to return.
	OnOutage   func(reason error)
	OnRecovery func()

	// OnFallback is called for each request that this process decides alone.
	OnFallback func()
}

// Defaults of [Options].
const (
	defaultPrefix  = "sluice:limit:"
	defaultTimeout = 150 * time.Millisecond
	defaultLease   = 12 * time.Second
)

func (o Options) withDefaults() Options {
	o.Prefix = cmp.Or(o.Prefix, defaultPrefix)
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	o.Lease = cmp.Or(o.Lease, defaultLease)
	if o.OnOutage == nil {
		o.OnOutage = func(error) {}
	}
	if o.OnRecovery == nil {
		o.OnRecovery = func() {}
	}
	if o.OnFallback == nil {
		o.OnFallback = func() {}
	}
	return o
}

// Limiter counts in Redis and in this process, and during an outage of Redis in this
// process alone.
type Limiter struct {
	client  *goredis.Client
	local   LocalLimiter
	opts    Options
	clock   outbound.Clock // read by the scripts; nil: the server's
	slots   *slots
	breaker breaker

	wakeup    chan struct{} // there is work for maintain
	stop      context.CancelFunc
	stopped   chan struct{} // closed when maintain has returned
	closeOnce sync.Once
	closeErr  error
}

var _ outbound.Limiter = (*Limiter)(nil)

// New returns a limiter that counts in the Redis or Valkey at the address (redis://,
// rediss:// or unix://) and in local, which nothing else may use. A server that does
// not answer is an outage, not an error, so a gateway starts without it. The error for
// an invalid address does not show it. Close must be called.
func New(ctx context.Context, address string, local LocalLimiter, opts Options) (*Limiter, error) {
	return open(ctx, address, local, opts, nil)
}

func open(ctx context.Context, address string, local LocalLimiter, opts Options, clock outbound.Clock) (*Limiter, error) {
	server, err := parse(address)
	if err != nil {
		return nil, err
	}
	l := &Limiter{
		client: server.newClient(), local: local, opts: opts.withDefaults(), clock: clock,
		slots: newSlots(), wakeup: make(chan struct{}, 1), stopped: make(chan struct{}),
	}
	if _, err := l.admit(ctx, probeRequest); err != nil {
		l.fail(0, err)
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	go l.maintain(background)
	return l, nil
}

// Allow counts one request unless the window is full.
func (l *Limiter) Allow(ctx context.Context, subject string, limit int, window time.Duration) (outbound.Allowance, error) {
	if err := ctx.Err(); err != nil {
		return outbound.Allowance{}, err
	}
	if epoch, up := l.breaker.state(); up {
		refusal, full := l.local.Full(subject, limit, window)
		got, err := l.admit(ctx, request{subject: subject, limit: limit, window: window, peek: full})
		switch {
		case err == nil && full:
			return stricter(got.Allowance, refusal), nil
		case err == nil && !got.Granted:
			return got.Allowance, nil
		case err == nil:
			local, err := l.local.Allow(ctx, subject, limit, window)
			return stricter(got.Allowance, local), err
		}
		if err := callerError(ctx); err != nil {
			return outbound.Allowance{}, err
		}
		l.fail(epoch, err)
	}
	l.opts.OnFallback()
	return l.local.Allow(ctx, subject, limit, window)
}

// Acquire counts one request and takes a slot if one is free.
func (l *Limiter) Acquire(ctx context.Context, subject string, limit int, window time.Duration, slots int) (outbound.Acquisition, error) {
	if err := ctx.Err(); err != nil {
		return outbound.Acquisition{Release: func() {}}, err
	}
	if epoch, up := l.breaker.state(); up {
		r := request{subject: subject, limit: limit, window: window}
		refusal, full := l.local.Full(subject, limit, window)
		if r.peek = full; !full {
			r.slots = slots
			r.token, r.released = l.slots.newToken(subject)
		}
		askedAt := time.Now()
		got, err := l.admit(ctx, r)
		switch {
		case err == nil && full:
			return outbound.Acquisition{Allowance: stricter(got.Allowance, refusal), Release: func() {}}, nil
		case err == nil:
			l.slots.confirmReleased(subject, r.released)
			return l.enterLocally(ctx, r, got, askedAt)
		case !full:
			l.release(subject, r.token) // Redis may have given the slot, or may yet do so
		}
		if err := callerError(ctx); err != nil {
			return outbound.Acquisition{Release: func() {}}, err
		}
		l.fail(epoch, err)
	}
	l.opts.OnFallback()
	return l.local.Acquire(ctx, subject, limit, window, slots)
}

// callerError says whether and how the caller gave up. A connection may notice a passed
// deadline before the context does.
func callerError(ctx context.Context) error {
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

// release gives a slot back. Redis learns it in the background, or from the subject's
// next request if that is sooner.
func (l *Limiter) release(subject, token string) {
	l.slots.release(subject, token, time.Now())
	l.wake()
}

// Shared says whether limits are shared now: false during an outage and after Close.
func (l *Limiter) Shared() bool {
	_, up := l.breaker.state()
	return up
}

// Close releases the slots of this process, without waiting for a server that does
// not answer, and stops all background work. This process alone decides about later
// requests.
func (l *Limiter) Close() error {
	l.closeOnce.Do(func() {
		l.stop()
		if !l.Shared() {
			l.closeClient() // interrupts a probe
		}
		<-l.stopped
		if l.breaker.shutDown() {
			// The leases of what cannot be released run out.
			_ = l.sendReleased(context.Background(), l.slots.all())
		}
		l.closeClient()
	})
	return l.closeErr
}

func (l *Limiter) closeClient() {
	if err := l.client.Close(); err != nil && !errors.Is(err, goredis.ErrClosed) {
		l.closeErr = fmt.Errorf("redis: close: %w", err)
	}
}
