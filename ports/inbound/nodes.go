package inbound

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
)

// Nodes is what can be asked about node types.
type Nodes interface {
	// Registry returns the node types available to the caller's tenant, in its
	// language: the same registry, pointer and all, until something changes in it.
	Registry(ctx context.Context, who tenant.Caller) (*node.Registry, error)
}

// CustomNode is a custom node with what the last heartbeat to its endpoint found.
type CustomNode struct {
	*node.Custom
	Health node.Health
}

// MadeCustomNode is a custom node that was just made.
type MadeCustomNode struct {
	CustomNode

	// Secret is the tenant's node secret when it was made together with this node,
	// because there was none; it cannot be had a second time. nil otherwise.
	Secret *domain.SigningSecret
}

// CustomNodes is what can be done with the node types that a tenant defines. An
// unknown id is NotFound with the code custom_node_not_found.
type CustomNodes interface {
	// Create defines a node type. A type and version that the tenant ever defined are
	// a Conflict with the code custom_node_exists. Once it is defined its endpoint is sent
	// a heartbeat, of which the health tells; an endpoint that does not live is no
	// obstacle.
	Create(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, d node.CustomDraft) (MadeCustomNode, error)

	Get(ctx context.Context, who tenant.Caller, id node.CustomID) (CustomNode, error)

	List(ctx context.Context, who tenant.Caller, f node.CustomFilter, q domain.Query) (domain.Page[CustomNode], error)

	// Update changes what the patch names, with the conflict of Create. A schema changes
	// only together with a higher version. Another endpoint is sent a heartbeat, as by
	// Create.
	Update(ctx context.Context, who tenant.Caller, id node.CustomID, p node.CustomPatch) (CustomNode, error)

	Delete(ctx context.Context, who tenant.Caller, id node.CustomID) error
}

// NodeChecks asks the endpoints of custom nodes whether they live.
type NodeChecks interface {
	// Check sends a heartbeat to the endpoint of a custom node, its own or the tenant's,
	// and returns the node with what it found. Whatever the endpoint does is found; an
	// unknown id is NotFound with the code custom_node_not_found.
	Check(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id node.CustomID) (CustomNode, error)
}

// NodeSecrets is what can be done with what signs the calls of the tenant's custom
// nodes.
type NodeSecrets interface {
	// Get returns NotFound with the code node_secret_not_found while there is none.
	Get(ctx context.Context, who tenant.Caller) (*tenant.NodeSecret, error)

	// Rotate makes a secret, the first one too. The one before it signs next to it for the
	// overlap; with none, nothing else signs when this returns. An overlap beyond 0 to
	// tenant.MaxGrace is Invalid with the code node_secret_invalid.
	Rotate(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, overlap time.Duration) (*tenant.NodeSecret, error)
}
