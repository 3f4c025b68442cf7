package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/lib/pq"
)

// probeGap is how long a server that refuses connections is left alone between two.
const probeGap = 50 * time.Millisecond

// startingUp is how a server refuses that is starting or shutting down.
const startingUp = "57P03"

// dialsAtOnce is how many connections a process makes at the same time. A new one costs the server more than a small
// statement: while few are made, those that are there serve whoever waits.
const dialsAtOnce = 4

// probing makes few connections at a time, and asks a server that refuses them for one at a time: whoever wants one
// meanwhile is told at once why the last one was refused. A server begins a process for each that asks, and hundreds of
// them would slow its start down.
type probing struct {
	driver.Connector
	dials chan struct{} // one for each that is being made

	mu      sync.Mutex
	refused error // why the last connection was refused; nil where the last one was made
	asking  bool  // somebody asks while it refuses
	asked   time.Time
}

func newProbing(c driver.Connector) *probing {
	return &probing{Connector: c, dials: make(chan struct{}, dialsAtOnce)}
}

// Connect makes a connection.
func (p *probing) Connect(ctx context.Context) (driver.Conn, error) {
	select {
	case p.dials <- struct{}{}:
		defer func() { <-p.dials }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	probe, err := p.enter()
	if err != nil {
		return nil, err
	}
	conn, err := p.Connector.Connect(ctx)
	p.leave(probe, err)
	return conn, err
}

// enter says whether to ask the server, which is to be told to leave, and whether it is known to refuse.
func (p *probing) enter() (probe bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refused == nil {
		return false, nil
	}
	if p.asking || time.Since(p.asked) < probeGap {
		return false, p.refused
	}
	p.asking = true
	return true, nil
}

func (p *probing) leave(probe bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if probe {
		p.asking = false
	}
	switch {
	case isRefusal(err):
		p.refused, p.asked = err, time.Now()
	case err == nil:
		p.refused = nil
	}
}

// isRefusal says whether a server is away or cannot be connected to now. That somebody does not want to wait any longer says
// nothing of it.
func isRefusal(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	if e, ok := errors.AsType[*pq.Error](err); ok {
		return string(e.Code) == startingUp
	}
	e, ok := errors.AsType[*net.OpError](err)
	return ok && e.Op == "dial"
}
