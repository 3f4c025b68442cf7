package inbound

import (
	"context"

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

// CustomNodes is what can be done with the node types that a tenant defines. An
// unknown id is NotFound with the code custom_node_not_found.
type CustomNodes interface {
	// Create defines a node type. A type and version that the tenant ever defined are
	// a Conflict with the code custom_node_exists.
	Create(ctx context.Context, who tenant.Caller, once domain.Once, d node.CustomDraft) (*node.Custom, error)

	Get(ctx context.Context, who tenant.Caller, id node.CustomID) (*node.Custom, error)

	List(ctx context.Context, who tenant.Caller, f node.CustomFilter, q domain.Query) (domain.Page[*node.Custom], error)

	// Update changes what the patch names, with the conflict of Create. A schema changes
	// only together with a higher version.
	Update(ctx context.Context, who tenant.Caller, id node.CustomID, p node.CustomPatch) (*node.Custom, error)

	Delete(ctx context.Context, who tenant.Caller, id node.CustomID) error
}
