package run

// Status says where a run is in its life.
type Status string

// The statuses of a run.
const (
	StatusPending   Status = "pending"   // accepted and not begun
	StatusRunning   Status = "running"   // some node runs, or is to be tried again
	StatusPaused    Status = "paused"    // no node runs and at least one waits
	StatusCompleted Status = "completed" // every node is settled and no failure went unhandled
	StatusFailed    Status = "failed"    // a node failed without an edge that takes it, an edge could not be decided, or time ran out
	StatusCancelled Status = "cancelled" // somebody ended it
)

// Statuses lists every status.
func Statuses() []Status {
	return []Status{StatusPending, StatusRunning, StatusPaused, StatusCompleted, StatusFailed, StatusCancelled}
}

// Finished says whether the run has ended. A failed one can still be retried.
func (s Status) Finished() bool {
	return s == StatusCompleted || s == StatusFailed || s == StatusCancelled
}

// NodeStatus says what has become of a node in a run.
type NodeStatus string

// The statuses of a node.
const (
	NodePending   NodeStatus = "pending"   // not reached; in a run that ended early it never was
	NodeRunning   NodeStatus = "running"   // an attempt is being made, or the next one is due at RetryAt
	NodeWaiting   NodeStatus = "waiting"   // paused
	NodeCompleted NodeStatus = "completed" // it has an output
	NodeFailed    NodeStatus = "failed"    // no attempt is left; Handled says whether an edge took the failure
	NodeSkipped   NodeStatus = "skipped"   // every edge to it is dead, or the run does not start at it
	NodeCancelled NodeStatus = "cancelled" // the run ended while it ran or waited
)
