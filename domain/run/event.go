package run

import (
	"encoding/json"
	"time"

	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
)

// Event is something that happened to a run.
type Event struct {
	// At is when, by the clock that is right for the run (the database's). A time
	// before the last recorded one counts as that. Whatever became due until At (waits,
	// expiries, further attempts, the end of the run's time) takes effect before the
	// fact does, so a fact that comes too late is refused.
	At time.Time

	// Secret makes the resume tokens of nodes that begin to wait; see [Token]. It is
	// looked at only then. With the zero value those nodes have no token.
	Secret Secret

	Fact Fact

	Budget Budget
}

// Fact says what happened: [Started], [AttemptCompleted], [AttemptFailed], [AttemptPaused],
// [AttemptCalled], [AttemptPostponed], [ChildrenChanged], [ItemsPaused], [ItemsEnded], [TimeReached],
// [Resumed], [Answered], [EventArrived], [CancelRequested] or [RetryRequested].
type Fact interface{ fact() }

// Started begins a pending run, or goes on with one that had ended, where it is of an item and its
// loop goes on.
type Started struct{}

// AttemptCompleted is an attempt that succeeded. One that was not asked for, or whose
// node is settled already, is refused.
type AttemptCompleted struct {
	Node    workflow.NodeID
	Attempt int // that of [Execute]
	Output  any // JSON tree, in which a [json.RawMessage] may stand for a part
	Log     []string

	Redacted bool // the secret of the call's connection was in the answer
}

// AttemptFailed is an attempt that failed. It is refused like [AttemptCompleted].
type AttemptFailed struct {
	Node       workflow.NodeID
	Attempt    int
	Code       string // lower_snake slug
	Message    string // for the tenant
	Retryable  bool
	RetryAfter time.Duration // the least time to wait before the next attempt; 0 for none
	Log        []string
	Redacted   bool // as in [AttemptCompleted]
}

// AttemptPaused is an attempt of a custom node that asks for the run to pause. It is
// refused like [AttemptCompleted]; from a node that cannot pause it counts as a failure.
type AttemptPaused struct {
	Node    workflow.NodeID
	Attempt int
	Event   string        // the event that resumes it; empty for any input
	Timeout time.Duration // after which it expires; 0 for never

	Redacted bool // as in [AttemptCompleted]
}

// TimeReached says only how late it is: what is due takes effect. It is never
// refused.
type TimeReached struct{}

// Resumed is a call with a resume token. It is refused as NotFound with the code
// run_not_found when no node of the run was ever given the token, as a Conflict
// not_paused when the node does not wait any more, expired when it has stopped
// waiting, and as Invalid with the code input_invalid when an input node asked for
// another answer, or a custom node promises another output; then it goes on waiting.
type Resumed struct {
	Token string
	Input json.RawMessage // any JSON value; nil for none
	By    *tenant.Actor   // nil where nobody knows
}

// Answered answers a question that a node asks. It is refused as NotFound with the code
// pause_not_found when no node of the run asked it, as a Conflict already_answered when somebody
// was first, not_paused when the run does not wait for it any more, expired when it has stopped
// waiting, and as Invalid with the code input_invalid when another answer is asked for; then it
// goes on waiting.
type Answered struct {
	Seq   int64           // of the pause
	Node  workflow.NodeID // that asked; empty for whichever did
	Input json.RawMessage // any JSON value; nil for none
	By    tenant.Actor
}

// EventArrived is an event for the run's entity. Every node that waits for this
// event continues; where none does, the one that has waited longest for any input.
// It is refused as a Conflict not_paused when no node waits, wrong_event when those
// that do wait for something else, expired when one has just stopped waiting for
// it, and as Invalid with the code input_invalid when an input node asked for
// another answer, or a custom node promises another output.
type EventArrived struct {
	Event string
	Data  json.RawMessage // any JSON value; nil for none
	By    *tenant.Actor   // who brought it; nil where nobody knows
}

// CancelRequested ends the run. A run that has ended refuses it as a Conflict
// run_finished.
type CancelRequested struct {
	Reason   string // for people; may be empty
	Unwanted bool   // nobody waits for the item that the run is of; see [Step]
}

// RetryRequested continues a failed run at the node that failed, or at the edges that
// could not be decided, and at the nodes that were cut off by it; what has completed
// stays, the time and the attempts count anew. Where an edge cannot be decided again
// either, the run has failed again with the step. A run that has not failed refuses it
// as a Conflict run_not_failed.
type RetryRequested struct{}

func (Answered) fact()         {}
func (AttemptCalled) fact()    {}
func (AttemptPostponed) fact() {}
func (ChildrenChanged) fact()  {}
func (ItemsPaused) fact()      {}
func (ItemsEnded) fact()       {}
func (Started) fact()          {}
func (AttemptCompleted) fact() {}
func (AttemptFailed) fact()    {}
func (AttemptPaused) fact()    {}
func (TimeReached) fact()      {}
func (Resumed) fact()          {}
func (EventArrived) fact()     {}
func (CancelRequested) fact()  {}
func (RetryRequested) fact()   {}
