package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/domain"
)

// canServe asks whether the database answers, and whether it takes writes.
func canServe(store *sqlstore.Store) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := store.Ping(ctx); err != nil {
			return notReady(err)
		}
		return store.Writable(ctx)
	}
}

// ready says whether the gateway can serve. It does not check the schema: that was up to date
// at the start, and a check takes the lock of the migrations, so that gateways would not be
// ready while another one migrates.
//
// The driver waits for a database that hangs, whatever happens to the context. So each probe
// ends in time without an answer, and concurrent ones share one check.
func ready(check func(context.Context) error) func(context.Context) error {
	var mu sync.Mutex
	var last *probe
	return func(ctx context.Context) error {
		mu.Lock()
		if last == nil || last.over() {
			last = startProbe(context.WithoutCancel(ctx), check)
		}
		shared := last
		mu.Unlock()
		ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, errNoAnswer)
		defer cancel()
		select {
		case <-shared.answered:
			return shared.err
		case <-ctx.Done():
			return notReady(context.Cause(ctx))
		}
	}
}

// probe is one check of the database.
type probe struct {
	begun    time.Time
	answered chan struct{} // closed then
	err      error         // once it is answered
}

func startProbe(ctx context.Context, check func(context.Context) error) *probe {
	p := &probe{begun: time.Now(), answered: make(chan struct{})}
	go func() {
		defer close(p.answered)
		ctx, cancel := context.WithTimeout(ctx, readyTimeout)
		defer cancel()
		p.err = check(ctx)
	}()
	return p
}

// over says whether to check again: it was answered, or takes so long that its connection
// may be dead.
func (p *probe) over() bool {
	select {
	case <-p.answered:
		return true
	default:
		return time.Since(p.begun) >= readyTimeout
	}
}

// readyTimeout is how long the database may take to answer.
const readyTimeout = 2 * time.Second

var errNoAnswer = errors.New("the database does not answer")

func notReady(cause error) error {
	e := domain.Fail(domain.Unavailable, "not_ready", "The gateway cannot serve requests at the moment.")
	e.RetryAfter = time.Second
	return e.Because(cause)
}
