package outbound

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
)

// DefaultNodeTimeout bounds a call that sets no time of its own.
const DefaultNodeTimeout = 30 * time.Second

// NodeRunner makes the attempts at nodes: the effects outside the gateway of the built-in
// httpRequest and the custom nodes of tenants, and what code computes. Other nodes that
// compute or pause never reach it.
type NodeRunner interface {
	// Run makes one attempt; retries are the caller's. Only what was written to a
	// connection that proves to be dead may be sent again, with the same key. What the
	// other side did, refused or failed to do in time is an outcome, never an error,
	// and so is a configuration that cannot be used. An error means that the attempt
	// did not come to an end here: the context was done, and the error wraps its
	// cause, or the process could not try. The attempt may then have had its effect or
	// not, and is worth repeating. When the context is done, Run returns at once.
	Run(ctx context.Context, call NodeCall) (NodeOutcome, error)

	// Health asks an endpoint of custom nodes whether it lives. Whatever the endpoint
	// does is a result; an error is as that of Run.
	Health(ctx context.Context, check HealthCheck) (NodeHealth, error)
}

// NodeCall is one attempt of one node. Values are JSON trees as in package node.
// Run reads them and keeps none.
type NodeCall struct {
	Tenant    tenant.ID
	SubTenant string // empty for none
	RunID     string
	EntityID  string
	NodeID    string // as the graph calls it
	Type      node.Type
	Version   string         // semantic version of the node type
	CanPause  bool           // the node type may answer that the run is to pause
	Attempt   int            // 1 for the first
	Inputs    any            // of code an object of what it may look at, by the names of expressions
	Config    map[string]any // templates are resolved

	// ReachedAt is when the run came to the node, the same for every attempt. It is what code
	// takes for the time.
	ReachedAt time.Time

	// IdempotencyKey is the same for every attempt of the node in the run, and for no
	// other node. It is sent along, so that a receiver that honours it has the effect once.
	IdempotencyKey string

	// Timeout bounds the attempt as a whole; zero means what the configuration of an
	// httpRequest says, or [DefaultNodeTimeout]. Past it the outcome is [NodeFailed]
	// with the code timeout, retryable.
	Timeout time.Duration

	// ReserveMemory reserves memory for the body of the answer before it is read, in bytes. It waits
	// until there is some, or ctx ends. Nil stands for as much as there is.
	ReserveMemory func(ctx context.Context, size int64) error

	// Credential is what the call bears, by the connection that the configuration names; the
	// zero value where it names none. It is sent to the hosts of the connection only, and added
	// after everything else: what is sent elsewhere, redirects included, does not bear it. What
	// comes back is searched for it before it is an outcome. A first address that it may not be
	// sent to is [NodeFailed] with the code host_not_allowed, and nothing is sent.
	Credential connection.Credential

	// RenewCredential gives another credential in place of one whose access token the called service did not
	// accept; the same one where there is none. Nil where there is nothing to renew.
	RenewCredential func(ctx context.Context, refused connection.Text) (connection.Credential, error)

	Endpoint string                 // URL that runs a custom node; empty for an httpRequest
	Secrets  []domain.SigningSecret // of the tenant's custom nodes, the newest first; all sign
}

// NodeOutcome is what became of an attempt: [NodeCompleted], [NodeFailed] or
// [NodePaused].
type NodeOutcome interface{ nodeOutcome() }

// NodeCompleted is an attempt that succeeded.
type NodeCompleted struct {
	// Output is a JSON tree with numbers as json.Number or float64, in which a
	// json.RawMessage, of valid JSON, may stand for a part. What came from outside stays text:
	// values can take fifty times as much memory.
	Output any
	Log    []string // of code

	Redacted bool // the secret of the call's connection was in the answer, and is not in the output
}

// NodeFailed is an attempt that failed. The message is for the tenant: it names the
// host that was called, and tells nothing of the gateway's network.
type NodeFailed struct {
	Code       string // lower_snake slug; what a custom node says is its own
	Message    string
	Retryable  bool          // another attempt may succeed
	RetryAfter time.Duration // how long the other side asked to wait; 0 when it did not, at most 24 h
	Log        []string      // of code
	Redacted   bool          // as in [NodeCompleted]
}

// NodePaused is the wish of a custom node that the run pauses; only a node that can
// pause has it granted.
type NodePaused struct {
	Event   string        // the run continues when this event arrives for its entity; empty for any input
	Timeout time.Duration // how long to wait; 0 when the node does not say

	Redacted bool // as in [NodeCompleted]
}

func (NodeCompleted) nodeOutcome() {}
func (NodeFailed) nodeOutcome()    {}
func (NodePaused) nodeOutcome()    {}

// HealthCheck names the endpoint of custom nodes to ask.
type HealthCheck struct {
	Tenant   tenant.ID
	Endpoint string
	Secrets  []domain.SigningSecret // as in [NodeCall]
	Timeout  time.Duration          // zero means [DefaultNodeTimeout]
}

// NodeHealth is what an endpoint answered.
type NodeHealth struct {
	Healthy bool
	Status  int           // of the answer; 0 when none came
	Latency time.Duration // until the answer or the failure
	Code    string        // why it is not healthy, as in [NodeFailed]; empty when it is
	Message string
}
