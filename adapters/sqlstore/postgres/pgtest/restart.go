package pgtest

import (
	"context"
	"os"
	"syscall"
	"time"
)

// Stopping says how a server is stopped (PostgreSQL, "Shutting Down the Server").
type Stopping bool

// The ways of stopping a server.
const (
	// Fast ends every session, rolls back what they were doing and writes a checkpoint.
	Fast Stopping = false

	// Immediate ends every process at once, as a crash does: the next start recovers
	// from the log.
	Immediate Stopping = true
)

// Restart stops the server, leaves it down for a while, starts it on the same cluster
// and waits until it answers. It is not to be called by two goroutines at a time.
func (in *Instance) Restart(ctx context.Context, how Stopping, down time.Duration) error {
	sig := os.Interrupt
	if how == Immediate {
		sig = syscall.SIGQUIT
	}
	in.process.End(sig, stopTimeout)
	timer := time.NewTimer(down)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
	}
	return in.run(ctx)
}
