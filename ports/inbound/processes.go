package inbound

import (
	"context"

	"github.com/sluicehq/sluice/domain/process"
)

// Processes is where a process of the gateway makes itself known to the others, and where
// the operator sees all of them, and what waits for them.
type Processes interface {
	// Heartbeat says that a process is alive. It may not serve or work before this has succeeded
	// once, and has to end when it is a Conflict with the code process_outdated: something is
	// in use that it would get wrong.
	Heartbeat(ctx context.Context, p process.Process) error

	// Remove says that a process ends.
	Remove(ctx context.Context, id process.ID) error

	// Alive returns the processes that are alive, those that started first first, and the
	// level that every process must have.
	Alive(ctx context.Context) (live []process.Seen, required process.Level, err error)

	// Queues returns what waits for them, queue by queue.
	Queues(ctx context.Context) ([]process.Queue, error)
}
