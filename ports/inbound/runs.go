package inbound

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
)

// Firing starts runs, and brings events to those that wait. When a method
// returns, what it says is durable. All violations of a call are reported at once, as
// Invalid with the code call_invalid.
type Firing interface {
	// Call fires a trigger of type webhook. An unknown one is NotFound with the code
	// trigger_not_found. Where it cannot fire, that is a Conflict: trigger_not_webhook,
	// trigger_inactive, workflow_inactive or version_not_active. Above the trigger's rate
	// limit it is RateLimited with the code trigger_rate_limit_exceeded, and above the
	// tenant's storage quota a Conflict storage_exceeded. The dedupe key is
	// the call's, else the idempotency key, else a new one; what it stands for is returned
	// whether or not the trigger can fire any more.
	Call(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id trigger.ID, c run.Call) (run.Fired, error)

	// ByEvent fires every trigger of type webhook that can fire and waits for the event,
	// in the order of their creation. One above its rate limit is left out. One that has
	// started a run with the dedupe key is in it with that run, even if it cannot fire any
	// more. A Conflict is too_many_triggers, or storage_exceeded when the tenant's storage
	// quota has no room for the payload: then nothing was started.
	//
	// Many triggers fire in several units of work, so that an error, such as Unavailable, or
	// the end of the process may leave some of the runs started. A repeat with the same
	// idempotency key or dedupe key starts the others only and answers with all of them. Of
	// a call without a key a repeat starts all of them again.
	ByEvent(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, c run.EventCall) ([]run.Fired, error)

	// Ingest resumes paused runs about the entity, and where it resumes none fires as
	// ByEvent does. What it resumes is one unit of work. Where more than run.MaxOffered runs wait for the
	// event, or hold more than run.MaxOfferedBytes, nothing happens: that is a Conflict
	// too_many_runs. A run that waits for another answer than the event is skipped, with what
	// is wrong; where it is the only one that the options name, that is Invalid with the code
	// input_invalid.
	Ingest(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, c run.IngestCall) (run.Ingested, error)

	// Start starts a run of a workflow by hand. An unknown workflow is NotFound
	// workflow_not_found. A Conflict is workflow_inactive, or version_not_published when the
	// workflow has no active version or the one that is named was never published, or
	// storage_exceeded; a named
	// version that is not the workflow's is an Invalid error about workflowVersionId.
	Start(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, of workflow.ID, c run.ManualCall) (*run.Run, error)

	// StartVersion starts a run of a version by hand, also of a draft, which the run executes as
	// it is now whatever becomes of it. An unknown version is NotFound version_not_found. A
	// draft with a node whose type the tenant does not have, or has disabled, is Invalid with
	// the code version_not_runnable; a Conflict is workflow_inactive or storage_exceeded.
	StartVersion(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id workflow.VersionID, c run.Call) (*run.Run, error)

	// Rerun starts a run that repeats another one, whatever that has come to; see
	// run.Run.Rerun. The trigger's limits do not count. An unknown run is NotFound
	// run_not_found. A Conflict is workflow_inactive, workflow_not_found or version_not_found
	// where that was deleted, version_not_published where the active version is to repeat it and
	// there is none, or storage_exceeded.
	Rerun(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id run.ID, c run.RerunCall) (run.Summary, error)
}

// Runs is what can be asked of runs, and done with them. An unknown id is NotFound with
// the code run_not_found.
type Runs interface {
	List(ctx context.Context, who tenant.Caller, f run.Filter, q domain.Query) (domain.Page[run.Summary], error)

	Get(ctx context.Context, who tenant.Caller, id run.ID) (ShownRun, error)

	// Inputs computes what flowed into the nodes of a run that Get returned; see
	// run.Run.ShownInputs. What cannot be computed, or not before ctx ends, says why.
	Inputs(ctx context.Context, who tenant.Caller, r *run.Run, most int) (inputs map[workflow.NodeID]run.ShownInput, size int)

	// Follow sends the history of a run as it grows: first the entries after one that
	// counts from 1 (0 for all), then new ones as they are recorded, in order and each
	// once. It returns nil when the run has finished and all was sent, and an error of send
	// unchanged. It ends with ctx. The first call of send comes at once, unless there will
	// never be anything to send. A later one without entries says that nothing has happened
	// for a while. An entry that the run does not have yet cannot be the one after which to
	// begin; it is Invalid with the code stream_invalid, about after.
	Follow(ctx context.Context, who tenant.Caller, id run.ID, after int64, send func([]run.Entry) error) error

	// Cancel ends a run, and a Conflict run_finished says that it had ended. What it is
	// doing outside is interrupted, in whichever process that is.
	Cancel(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id run.ID, reason string) (run.Summary, error)

	// Retry continues a failed run at the node that failed, or at the edges that could not
	// be decided, where it may have failed again when it returns. Of any other it is a Conflict
	// run_not_failed, and version_not_found when the version was deleted.
	Retry(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id run.ID) (run.Summary, error)

	// Resume continues a run by a token. An unknown run and a wrong token are the same
	// NotFound run_not_found; a Conflict is not_paused or expired.
	Resume(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, c run.ResumeCall) error
}

// OperatorRuns shows the operator of the gateway runs of all tenants.
type OperatorRuns interface {
	// List returns a page of them.
	List(ctx context.Context, f run.OperatorFilter, q domain.Query) (domain.Page[run.Summary], error)

	// OldestWaiting returns the run that has waited for a worker for the longest time; ok is
	// false when none waits.
	OldestWaiting(ctx context.Context) (oldest run.Waiting, ok bool, err error)

	// Get returns a run of any tenant. An unknown one is NotFound with the code run_not_found.
	Get(ctx context.Context, id run.ID) (run.Standing, error)
}

// Trying is how a version is tried before anything depends on it. An unknown version is NotFound
// with the code version_not_found.
type Trying interface {
	// Simulate runs a version, a draft too, on a virtual clock, with no effect outside and
	// nothing kept; see run.Simulate.
	Simulate(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id workflow.VersionID, c run.SimulationCall) (Simulated, error)

	// TestNode executes one node of a version, a draft too, with the effect that it has; see
	// run.NewNodeTest. What the call has of no node, the pins of the version bring. An unknown node
	// is NotFound node_not_found; one that cannot be executed by itself is Invalid
	// node_not_testable, and one whose type the tenant does not have, of a draft,
	// version_not_runnable. That the node fails is no error. The test ends with ctx.
	//
	// hold is asked once for as many bytes as what comes back takes, while it is still accounted
	// for; where it says no, the output is left out.
	TestNode(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id workflow.VersionID, of workflow.NodeID, c run.NodeTestCall, hold func(size int) bool) (TestedNode, error)
}

// ShownRun is a run as its tenant may see it.
type ShownRun struct {
	Logs   map[workflow.NodeID][]string       // what the last attempts at its nodes wrote; nil in answers to commands
	Inputs map[workflow.NodeID]run.ShownInput // what flowed into its nodes; nil until that is asked for

	Run    *run.Run
	Tokens map[workflow.NodeID]string // resume tokens of the nodes that wait for one
}

// Simulated is what a simulation did, with what flowed into each node that it reached.
type Simulated struct {
	run.Trace
	Inputs     map[workflow.NodeID]json.RawMessage
	ItemInputs map[workflow.NodeID]json.RawMessage // of the item that is shown
}

// TestedNode is what came of a test of a node. While it is running, nobody knows: that is what
// a repeat gets where the first test has not come to its end, or never did.
type TestedNode struct {
	ShownRun // of the node, and what it was given
	Node     workflow.NodeID
	Took     time.Duration // from when it began; 0 while it is running

	OutputOmitted bool // there was no memory for it
}

// Worker moves runs on. Several processes may do so at the same time: each run is moved
// by one of them.
type Worker interface {
	// Run works until ctx ends, then records what it can, gives its runs back to other
	// workers and returns. It hands errors to failed, by one goroutine at a time, and goes
	// on; a panic is one, a [Panic].
	Run(ctx context.Context, failed func(error))

	// MoveOn works on a run that was handed over, until it has to wait or has ended. Where the lease is not
	// good any more it does nothing. An error says that it did not begin: another process may.
	MoveOn(ctx context.Context, h HandedOver) (MovedOn, error)

	// IsAtRest says whether nobody works on a run, or is about to: it waits, has ended or does not exist.
	IsAtRest(ctx context.Context, owner tenant.ID, id run.ID) (bool, error)

	// Panics returns how many panics were contained since the start. Each was an error as
	// well, and the run that it was about is tried again a few times before it fails.
	Panics() int64
}

// HandedOver is a run whose lease was handed over by outbound.Engine.
type HandedOver struct {
	Tenant tenant.ID
	Run    run.ID
	Lease  int64

	// Kept is what the engine was last given to keep of the run, and did not see returned as nothing since.
	Kept []byte

	// Keep has the engine keep what the run has done since it was last recorded, in place of what it kept
	// before: at most 64 KiB. It returns nil once that outlasts the process, and an error once the call has returned
	// and a newer lease came. After an error the run is recorded.
	Keep func(ctx context.Context, kept []byte) error
}

// MovedOn says what came of a run that was handed over.
type MovedOn struct {
	Rests  bool // as Worker.IsAtRest says it: nothing is to be done before it is handed over again, and nothing kept
	IsKept bool // whoever moves it on next is to be given what was kept last
}
