package outbound

import (
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
)

// CustomNodeAddress is where a custom node runs.
type CustomNodeAddress struct {
	Type    node.Type
	Version string
	URL     string // empty when the tenant's own is to be called
}

// CustomNodeAddresses says where custom nodes run, without reading their schemas.
type CustomNodeAddresses interface {
	// Active returns where the tenant's active custom nodes run, by type and version.
	Active(ctx context.Context, scope tenant.Scope) ([]CustomNodeAddress, error)

	// Stamp returns a text that differs whenever a custom node or the settings of the tenant
	// were changed in between. An unknown tenant is NotFound with the code tenant_not_found.
	Stamp(ctx context.Context, scope tenant.Scope) (string, error)
}

// CustomNodeRepository keeps the node types that tenants define. They are a catalogue of the
// tenant as a whole: every scope of it reads all of them, and one that does not cover the
// records of no sub-tenant deletes none.
type CustomNodeRepository interface {
	// Insert reports a (type, version) that the tenant ever had as a Conflict with the
	// code custom_node_exists: a version stays taken when its node moves on to a higher
	// one or is deleted. A custom node with which those of the tenant take too much
	// together is a Conflict with the code storage_exceeded: see [node.CheckCustomNodes].
	Insert(ctx context.Context, n *node.Custom) error

	// Get returns NotFound with the code custom_node_not_found for an unknown id.
	Get(ctx context.Context, scope tenant.Scope, id node.CustomID) (*node.Custom, error)

	List(ctx context.Context, scope tenant.Scope, f node.CustomFilter, q domain.Query) (domain.Page[*node.Custom], error)

	// Active returns the tenant's active custom nodes by type and version.
	Active(ctx context.Context, scope tenant.Scope) ([]*node.Custom, error)

	// Update has the conflicts of Insert besides a stale revision.
	Update(ctx context.Context, n *node.Custom) error

	// Delete removes the custom node. An unknown id is NotFound.
	Delete(ctx context.Context, scope tenant.Scope, id node.CustomID) error
}
