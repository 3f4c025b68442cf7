package inbound

import (
	"context"

	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
)

// Nodes is what can be asked about node types.
type Nodes interface {
	// Registry returns the node types available to the caller's tenant, in its
	// language.
	Registry(ctx context.Context, who tenant.Caller) (node.Registry, error)
}
