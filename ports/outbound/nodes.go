package outbound

import (
	"context"

	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
)

// CustomNodeRepository keeps the node types that tenants define.
type CustomNodeRepository interface {
	// Insert reports a (type, version) that the tenant has already as a Conflict with
	// the code custom_node_exists.
	Insert(ctx context.Context, n *node.Custom) error

	// Active returns the tenant's active custom nodes by type and version.
	Active(ctx context.Context, owner tenant.ID) ([]*node.Custom, error)
}
