package redis

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	redigo "github.com/gomodule/redigo/redis"
)

// maxIdle is how long a connection that nobody needs is kept.
const maxIdle = 5 * time.Minute

// errClosed is what a request gets that comes after the end.
var errClosed = errors.New("the limiter is closed")

// pool keeps connections to one server, as many as are used at the same time but no
// more than its size. Connections are made in the background: a request that waits for
// one takes whichever is free first, and the one that was made for it serves another
// if it has given up.
type pool struct {
	dial func(context.Context) (*conn, error)
	size int

	ctx   context.Context // of making connections
	stop  context.CancelFunc
	dials sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	conns   map[*conn]struct{} // all there are
	idle    []*conn            // those that nobody uses, the one used last at the end
	dialing int                // how many are being made
	waiting list.List          // of chan supply, the oldest first
}

// supply is what a request waits for: a connection, or why there is none.
type supply struct {
	conn *conn
	err  error
}

// newPool returns a pool that has no connections yet.
func newPool(size int, dial func(context.Context) (*conn, error)) *pool {
	ctx, stop := context.WithCancel(context.Background())
	return &pool{dial: dial, size: size, ctx: ctx, stop: stop, conns: make(map[*conn]struct{})}
}

// use has a connection used for at most the timeout, and not beyond the context's
// deadline. A context that is cancelled does not interrupt it: the answer is near, and
// the connection is worth keeping.
//
// A connection on which anything went wrong is not used again. It may yet receive the
// answer to the question that failed; and where the server refused, a new connection
// may lead to another one, or be one that is signed in anew.
func (p *pool) use(ctx context.Context, timeout time.Duration, talk func(redigo.Conn) error) error {
	now := time.Now()
	by := now.Add(timeout)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(by) {
		by = deadline
	}
	if !now.Before(by) {
		return context.DeadlineExceeded
	}
	c, err := p.take(ctx, by)
	if err != nil {
		return err
	}
	if err = c.by(by); err == nil {
		err = talk(c)
	}
	p.give(c, err == nil)
	return err
}

// take returns a connection that nobody else uses, for [pool.give].
func (p *pool) take(ctx context.Context, by time.Time) (*conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for {
		c, place, err := p.reserve()
		if err != nil {
			return nil, err
		}
		if c == nil {
			return p.wait(ctx, by, place)
		}
		if c.quiet() {
			return c, nil
		}
		p.give(c, false)
	}
}

// reserve returns an idle connection or a place among those who wait for one.
func (p *pool) reserve() (*conn, *list.Element, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, errClosed
	}
	if last := len(p.idle) - 1; last >= 0 {
		c := p.idle[last]
		p.idle = p.idle[:last]
		return c, nil, nil
	}
	place := p.waiting.PushBack(make(chan supply, 1))
	p.connect()
	return nil, place, nil
}

// wait returns what comes to the place.
func (p *pool) wait(ctx context.Context, by time.Time, place *list.Element) (*conn, error) {
	ready := place.Value.(chan supply)
	late := time.NewTimer(time.Until(by))
	defer late.Stop()
	var err error
	select {
	case got := <-ready:
		return got.conn, got.err
	case <-late.C:
		err = context.DeadlineExceeded
	case <-ctx.Done():
		err = ctx.Err()
	}
	p.mu.Lock()
	p.waiting.Remove(place)
	p.mu.Unlock()
	select {
	case got := <-ready: // at the last moment
		if got.err == nil {
			p.give(got.conn, true)
		}
	default:
	}
	return nil, fmt.Errorf("wait for a connection: %w", err)
}

// connect has as many connections made as requests wait for. The lock is held.
func (p *pool) connect() {
	for p.dialing < p.waiting.Len() && len(p.conns)+p.dialing < p.size {
		p.dialing++
		p.dials.Go(p.add)
	}
}

// add makes one connection.
func (p *pool) add() {
	ctx, cancel := context.WithTimeout(p.ctx, connectTimeout)
	defer cancel()
	c, err := p.dial(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dialing--
	switch {
	case err != nil:
		p.disappoint(err)
	case p.closed:
		_ = c.end() // nobody has used it
	default:
		c.since = time.Now()
		p.conns[c] = struct{}{}
		p.offer(c)
	}
}

// give takes a connection back. One that is not sound is closed.
func (p *pool) give(c *conn, sound bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return // with everything else
	}
	if !sound {
		p.drop(c)
		p.connect() // for those who waited for this one
		return
	}
	c.since = time.Now()
	p.offer(c)
	// To close one at a time is enough: they become idle one at a time.
	if len(p.idle) > 0 && c.since.Sub(p.idle[0].since) > maxIdle {
		p.drop(p.idle[0])
		p.idle = slices.Delete(p.idle, 0, 1)
	}
}

// offer hands a connection to the request that has waited longest, or keeps it. The
// lock is held.
func (p *pool) offer(c *conn) {
	if first := p.waiting.Front(); first != nil {
		p.waiting.Remove(first).(chan supply) <- supply{conn: c}
		return
	}
	p.idle = append(p.idle, c)
}

// drop closes a connection. The lock is held.
func (p *pool) drop(c *conn) {
	delete(p.conns, c)
	_ = c.end() // it is of no use any more
}

// disappoint tells all requests that wait why there is no connection: what failed for
// one would fail for each. The lock is held.
func (p *pool) disappoint(err error) {
	for first := p.waiting.Front(); first != nil; first = p.waiting.Front() {
		p.waiting.Remove(first).(chan supply) <- supply{err: err}
	}
}

// close closes all connections, those too that are being used or made.
func (p *pool) close() error {
	p.mu.Lock()
	p.closed = true
	p.stop()
	var errs []error
	for c := range p.conns {
		errs = append(errs, c.end())
	}
	clear(p.conns)
	p.idle = nil
	p.disappoint(errClosed)
	p.mu.Unlock()
	p.dials.Wait()
	return errors.Join(errs...)
}
