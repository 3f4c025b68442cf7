package run

import (
	"encoding/json"
	"time"

	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
)

// State is everything a store keeps of a run: the progress as [EncodeProgress] writes it, and
// apart from it the outputs in [Progress.LargeOutputs], each of which is written once and
// never changes.
type State struct {
	Origin

	Status     Status
	Seq        int64      // how many entries the history has; a store refuses an update from a stale one
	UpdatedAt  time.Time  // of the last entry; no later event counts as earlier than this
	StartedAt  *time.Time // nil while pending
	FinishedAt *time.Time // nil until finished
	WakeAt     *time.Time // when the run needs a [TimeReached] by itself; nil when it does not
	Failure    *Failure   // of a failed run

	Progress
}

// Origin is what a run was started with. It never changes.
type Origin struct {
	ID          ID
	Tenant      tenant.ID
	SubTenant   tenant.SubTenantID // that of the workflow, empty for none
	Workflow    workflow.ID
	Version     workflow.VersionID
	Snapshot    SnapshotID // of the draft that the run executes; empty for a published version, which cannot change
	RerunOf     ID         // the run that this one repeats; empty for none
	ReplayOf    string     // the delivery to a hook that the run repeats; empty for none
	Trigger     trigger.ID // empty when no trigger started the run
	TriggerName string     // when the run was started; with the type it finds the node to start at
	TriggerType trigger.Type
	Engine      Engine // empty until a store has added the run
	Entity      string // entityId: what the run is about
	DedupeKey   string // with Trigger it is unique for 24 hours
	Cause       Cause
	Payload     json.RawMessage // any JSON value
	Lane        Lane
	Retry       workflow.RetryPolicy
	Timeout     time.Duration // how long the run may take, paused time not counted
	CreatedAt   time.Time

	// Of a run that another one started:
	Parent      ID              // empty for none
	ParentNode  workflow.NodeID // whose effect the run is
	ParentWaits bool            // for what becomes of the run
	Depth       int             // how many runs are above it, each of which called the next

	// Of the run of an item, which has [CauseItem] and the payload of its parent:
	Index int             // the place of the item
	Item  json.RawMessage // nil until a store has added it
	Outer json.RawMessage // an object of what nodes around the body gave that it looks at, by their ids; nil for none
}

// Progress is what a run has done so far.
type Progress struct {
	Nodes    []NodeState       // in the order of the version's graph; none while the run is pending
	Executed []workflow.NodeID // completed nodes, in the order of their completion
	Retries  int               // how often the run was retried after it had failed

	// Result are the nodes whose outputs are that of the run, once it has completed; see
	// [Run.Result].
	Result []workflow.NodeID

	// The nodes that are next where the run stopped computing between two of them, since one
	// step computes so much only; by place in Nodes. It goes on with the next event.
	Begin    []int // begin in any case
	Consider []int // begin or are skipped, as their incoming edges say once all are settled

	// Calls is how many other runs the run has started.
	Calls int

	// Used is how much of Timeout was spent until ActiveSince; while ActiveSince is nil
	// the run is paused or finished and spends nothing.
	Used        time.Duration
	ActiveSince *time.Time
}

// NodeState is what has become of one node.
type NodeState struct {
	ID                  workflow.NodeID
	Status              NodeStatus
	Attempts            int // begun, over all retries of the run; 0 for a node that has no effect outside
	AttemptsBeforeRetry int // attempts that do not count: begun before the run was last retried, or postponed
	Branch              string
	Failure             *Failure // of the last attempt, also while another one is to come
	Handled             bool     // a failed node whose failure an edge took
	Logged              bool     // the last attempt wrote a log, which the history has
	Redacted            bool     // a secret was taken out of the answer to the last attempt
	Dead                []int    // the edges that are not taken, by place among the node's outgoing ones

	// Undecided are the edges of a completed node whose conditions could not be computed,
	// at which the run failed. Until they can, all of the node's edges are dead: none of
	// them is followed before every one is decided.
	Undecided []workflow.EdgeID

	// A completed node has one of these; that of a node that passes on what it received
	// is where it came from.
	Output        json.RawMessage
	OutputSeq     int64           // of an Output longer than [InlineOutput]: greater than Seq before the step that gave it, and at most Seq after it; negative where the run began with it
	OutputOf      workflow.NodeID // the node whose output it is
	OutputIsInput bool            // it is the run's payload

	TakenOver bool // its result is that of the run that this one repeats; also in a pending run

	StartedAt  *time.Time // when the node was reached, or retried with the run
	FinishedAt *time.Time
	RetryAt    *time.Time // of a running node: when the next attempt is due; nil while one is being made
	Pause      *Pause     // of a waiting node, and of one that waited
}

// PauseKind says what a waiting node waits for.
type PauseKind string

// The kinds of pause.
const (
	PauseInput  PauseKind = "input"  // a person's answer
	PauseEvent  PauseKind = "event"  // an event for the entity
	PauseWait   PauseKind = "wait"   // a time
	PauseCustom PauseKind = "custom" // what a custom node asked for
	PauseRun    PauseKind = "run"    // the end of another run, which the node started
	PauseItems  PauseKind = "items"  // the ends of the runs of its items
)

// ByOthers says whether an event or an answer can end such a pause.
func (k PauseKind) ByOthers() bool { return k != PauseWait && !k.byRuns() }

// byRuns says whether the ends of runs that the node started end such a pause.
func (k PauseKind) byRuns() bool { return k == PauseRun || k == PauseItems }

// Pause is what a node waits for.
type Pause struct {
	Kind      PauseKind
	Event     string // the event that ends it; empty where any input does
	Since     time.Time
	Until     *time.Time // when it ends by itself: a wait completes, everything else expires; nil for never
	Seq       int64      // of the entry that began it, which tells pauses of one node apart
	Run       ID         // that is waited for; empty for none
	RunPaused bool       // all runs that are waited for are paused themselves, so that the clock of this one may stand still
	Question  *Question  // that a person is asked; nil for none, and of one that an earlier version of the gateway asked
	Guarded   bool       // what ends it is nothing for the first release, which would take any answer

	AnsweredBy *tenant.Actor // who ended it; nil where nobody did who is known

	TokenHash string // SHA-256 of the resume token in base64url; empty when no token ends it
}
