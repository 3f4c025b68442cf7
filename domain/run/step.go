package run

import (
	"slices"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
)

// Step is what came of an event.
type Step struct {
	// Refused says why the fact had no effect: it came twice, too late, or does not fit
	// what the run is doing. What became due by its time may have taken effect all the
	// same; see Changed.
	Refused *domain.Error

	Execute  []Execute         // attempts to make now, each once
	WakeAt   time.Time         // when the run needs [TimeReached]; zero when nothing is due by itself
	Start    []*Run            // other runs to start, in the unit that records the step
	Loops    []LoopStart       // nodes that begin to run their bodies with the step, or go on
	Left     []workflow.NodeID // nodes that do not run their bodies any more: what is under way is not wanted
	History  []Entry           // to append
	Happened []DomainEvent     // to send as events
	Finished bool              // the run ended with this step
	Was      Status            // of the run before
	Unwanted bool              // it ended because nobody waits for the item that it is of: that is still so when the step is stored
	Turned   bool              // what the run's parent looks at has changed: the run has ended, is paused, or goes on
	Known    bool              // no fact came from outside: whoever has the run as it was before can find them again
	Used     Meter             // what computing it took
}

// Changed says whether the run differs from before, so that it has to be stored.
func (s Step) Changed() bool { return len(s.History) > 0 }

// MayWait says that the step may be stored later than its attempts are made, with what comes of
// them: they only compute, and where that is lost a step that is made anew asks for them again.
func (s Step) MayWait() bool {
	inside := s.Known && !s.Finished && len(s.Start)+len(s.Loops)+len(s.Left) == 0
	return inside && len(s.Execute) > 0 && !slices.ContainsFunc(s.Execute, func(e Execute) bool { return !e.Computes })
}

// Then is this step and one that followed it as one step.
func (s Step) Then(next Step) Step {
	s.History, s.Happened = append(s.History, next.History...), append(s.Happened, next.Happened...)
	s.WakeAt, s.Finished, s.Turned = next.WakeAt, next.Finished, s.Turned || next.Turned
	s.Known, s.Unwanted = s.Known && next.Known, s.Unwanted || next.Unwanted
	s.Start, s.Loops, s.Left = append(s.Start, next.Start...), append(s.Loops, next.Loops...), append(s.Left, next.Left...)
	s.Used.Add(next.Used.Steps, next.Used.Memory)
	if s.Execute = append(s.Execute, next.Execute...); next.Finished {
		s.Execute = nil
	}
	return s
}

// Execute asks for one attempt at a node that has an effect outside, or computes there.
type Execute struct {
	Run       ID
	Tenant    tenant.ID
	SubTenant tenant.SubTenantID
	Entity    string
	Node      workflow.NodeID
	Attempt   int // 1 for the first
	Type      node.Type
	Version   string // of the node type
	BuiltIn   bool
	StartsRun bool // the effect is another run: see [AttemptCalled]
	CanPause  bool
	Computes  bool           // it has no effect; Input then is an object of what it may look at, by the names of expressions
	ReachedAt time.Time      // when the run came to the node, the same for every attempt
	Input     any            // JSON tree; not to be changed
	Config    map[string]any // with templates resolved and defaults in place; not to be changed

	// Connection is what the call bears the credential of; empty for none.
	Connection connection.ID

	// Weight is about how much memory Input and Config take, in bytes. Where they are large,
	// Deferred says that they were left out: [Run.Prepare] computes them when the attempt is
	// made.
	Weight   int64
	Deferred bool

	// IdempotencyKey is the same for every attempt, runId:nodeId.
	IdempotencyKey string

	Timeout  time.Duration // of the attempt; 0 when the configuration sets none
	Deadline time.Time     // when the run's time is over
}

// EntryType says what an entry of the history records.
type EntryType string

// The types of entry.
const (
	EntryRunStarted    EntryType = "run.started"
	EntryRunPaused     EntryType = "run.paused"  // nothing runs any more and something waits
	EntryRunResumed    EntryType = "run.resumed" // the first of the nodes that waited goes on
	EntryRunRetried    EntryType = "run.retried" // after it had failed
	EntryRunCompleted  EntryType = "run.completed"
	EntryRunFailed     EntryType = "run.failed"
	EntryRunCancelled  EntryType = "run.cancelled"
	EntryNodeStarted   EntryType = "node.started"  // an attempt
	EntryNodeRetrying  EntryType = "node.retrying" // an attempt failed; Until is when the next one is due
	EntryNodeWaiting   EntryType = "node.waiting"  // Until is when it ends by itself
	EntryNodeCompleted EntryType = "node.completed"
	EntryNodeFailed    EntryType = "node.failed"
	EntryNodeSkipped   EntryType = "node.skipped"
	EntryNodeTakenOver EntryType = "node.taken_over" // its result is that of the run that this one repeats
	EntryNodeCancelled EntryType = "node.cancelled"  // the run ended while it ran or waited
	EntryEdgeFailed    EntryType = "edge.failed"     // the edge's condition cannot be computed; of a node that has failed it is not taken
)

// Ends says whether the run has ended with an entry of the type. A failed run can be
// retried, and then goes on after it.
func (t EntryType) Ends() bool {
	return t == EntryRunCompleted || t == EntryRunFailed || t == EntryRunCancelled
}

// Entry is one line of a run's history.
type Entry struct {
	Seq     int64 // 1, 2, 3 … within the run
	At      time.Time
	Type    EntryType
	Node    workflow.NodeID // empty for an entry of the run
	Edge    workflow.EdgeID // of edge.failed, and of run.failed where the run failed at an edge of the node
	Attempt int             // of node.started, node.retrying, node.failed and node.completed; 0 without effect outside
	Branch  string          // that a condition or a switch chose
	Code    string          // of a failure
	Message string          // of a failure or a cancellation
	Log     []string        // what the attempt wrote, of node.retrying, node.failed and node.completed
	Until   *time.Time

	Question *Question     // of node.waiting: what a person is asked; nil for none
	By       *tenant.Actor // of node.completed: who brought what the node waited for; nil where nobody did who is known

	Redacted bool // a secret was taken out of the answer to the attempt; with Log
}

// EventType says what happened.
type EventType string

// The types of event.
const (
	RunStarted   EventType = "run.started"
	RunCompleted EventType = "run.completed"
	RunFailed    EventType = "run.failed"
	RunCancelled EventType = "run.cancelled"

	// RunPaused is sent for each node that begins to wait, since each has a token of its
	// own; other nodes may still run. RunResumed is sent for each that continues, and
	// without a node when a failed run is retried.
	RunPaused  EventType = "run.paused"
	RunResumed EventType = "run.resumed"
)

// DomainEvent is something that is sent to the tenant's webhooks.
type DomainEvent struct {
	Type    EventType
	At      time.Time
	Seq     int64           // of the entry that records it
	Node    workflow.NodeID // that paused or resumed
	Pause   *Pause          // of run.paused
	Token   string          // of run.paused: what resumes it; empty when only an event or the time does
	Failure *Failure        // of run.failed
}
