// Package process is about the processes of the gateway that share a database, which may be
// of different versions.
package process

import "time"

// ID identifies a process while it runs. It names its machine and its number there.
type ID string

// Process is a running process, as it describes itself.
type Process struct {
	ID      ID
	Version string // of its binary
	Level   Level
	Role    string // what it does: all, api or worker
}

// Seen is a process with the times of its heartbeats, by the database's clock.
type Seen struct {
	Process
	StartedAt time.Time // of the first one
	SeenAt    time.Time // of the last one
}

const (
	// HeartbeatInterval is how often a process says that it is alive.
	HeartbeatInterval = 10 * time.Second

	// Lifetime is for how long a heartbeat counts: one that is late does not matter.
	Lifetime = 30 * time.Second

	// Retention is for how long a process that died is remembered.
	Retention = time.Hour
)

// IsLive says whether the process counts as alive.
func (s Seen) IsLive(now time.Time) bool { return now.Sub(s.SeenAt) < Lifetime }
