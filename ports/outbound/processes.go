package outbound

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain/process"
)

// ProcessRepository knows the processes that are alive, and the level that all of them must
// have. All times are by the database's clock. It is for the gateway itself, and not scoped
// to one tenant.
type ProcessRepository interface {
	// Heartbeat records that a process is alive, from the first call on. A process below the
	// required level is refused as a Conflict with the code process_outdated. Of a call and
	// a Require at the same time one knows of the other.
	Heartbeat(ctx context.Context, p process.Process) error

	// Remove forgets a process, if it is known.
	Remove(ctx context.Context, id process.ID) error

	// Alive returns the processes that are alive, those that started first first, ties by id.
	Alive(ctx context.Context) ([]process.Seen, error)

	// Required returns the level that every process must have; 0 at first.
	Required(ctx context.Context) (process.Level, error)

	// Require raises the required level to at least this one, for good, so that something
	// can be used from then on that processes below it would get wrong. While one of those
	// is alive it is Unavailable with the code upgrade_in_progress.
	Require(ctx context.Context, level process.Level) error

	// Sweep removes at most limit processes that were last seen before the time, and returns
	// how many.
	Sweep(ctx context.Context, before time.Time, limit int) (int, error)
}

// Queues shows the operator what waits for the processes that work.
type Queues interface {
	// Queues returns each queue as it is at now. What is to be had later than that does not wait yet.
	Queues(ctx context.Context, now time.Time) ([]process.Queue, error)
}
