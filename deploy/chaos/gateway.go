package main

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
	"github.com/sluicehq/sluice/deploy/testserver"
)

// gateway is one whose process is killed, frozen and started again.
type gateway struct {
	*harness.Gateway

	mu          sync.Mutex
	frozen      bool
	endExpected bool // the process was killed on purpose
	closed      bool // nothing is to be started any more
}

func newGateway(name, binary, databaseURL, dir string, environ ...string) (*gateway, error) {
	g, err := harness.NewGateway(name, binary, databaseURL, dir, append([]string{
		"SLUICE_LOG_LEVEL=warn", "SLUICE_EGRESS_ALLOW=127.0.0.0/8", "SLUICE_DATABASE_MAX_CONNECTIONS=24",
	}, environ...)...)
	return &gateway{Gateway: g}, err
}

func (g *gateway) start() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return errors.New("the round is over")
	}
	g.frozen, g.endExpected = false, false
	return g.Start()
}

// expectEnd notes that the process is about to be ended on purpose.
func (g *gateway) expectEnd() *testserver.Process {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.endExpected = true
	return g.Process()
}

func (g *gateway) isEndExpected() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.endExpected
}

// kill ends the process at once and returns it.
func (g *gateway) kill() *testserver.Process {
	p := g.expectEnd()
	p.Kill()
	return p
}

// freeze stops the process's clock, as a hypervisor does, until it is thawed. It says
// whether there was one to freeze.
func (g *gateway) freeze() (thaw func(), ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.Process()
	if g.frozen || g.endExpected || p.Signal(syscall.SIGSTOP) != nil {
		return nil, false
	}
	g.frozen = true
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.Process() == p && g.frozen {
			_ = p.Signal(syscall.SIGCONT) // it may have been killed
			g.frozen = false
		}
	}, true
}

func (g *gateway) isFrozen() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.frozen
}

// readyInterval is how often a process that starts is asked whether it is ready.
const readyInterval = 25 * time.Millisecond

// restartOnExit starts the process again whenever it ends, until ctx does. One that ends
// by itself after it was ready has not survived something: that is a finding.
func (g *gateway) restartOnExit(ctx context.Context, found *findings) {
	for ctx.Err() == nil {
		p := g.Process()
		wasReady := g.AwaitReady(ctx, readyInterval) == nil
		select {
		case <-ctx.Done():
			return
		case <-p.Ended():
		}
		if !g.isEndExpected() {
			found.check(!wasReady || ctx.Err() != nil, comesBack, "%s ended by itself: %s", g.Name, p.LogTail())
			harness.Sleep(ctx, 200*time.Millisecond) // its database is away
		}
		if ctx.Err() == nil && g.start() != nil {
			return
		}
	}
}

// close ends the process for good.
func (g *gateway) close() {
	g.mu.Lock()
	g.closed = true
	p := g.Process()
	g.mu.Unlock()
	if p != nil {
		p.Kill()
	}
}
