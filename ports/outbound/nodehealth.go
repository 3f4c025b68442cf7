package outbound

import (
	"context"

	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
)

// NodeHealthRepository keeps what the last heartbeat to the endpoint of each custom node
// found, next to the custom nodes, whose revision it leaves alone.
type NodeHealthRepository interface {
	// Get returns what is noted of the custom nodes. One that was never asked, and one that
	// is gone, has no entry.
	Get(ctx context.Context, owner tenant.ID, ids ...node.CustomID) (map[node.CustomID]node.Health, error)

	// Record keeps what was found in the place of what was found before. What was asked
	// earlier than what is noted changes nothing, nor does a custom node that is gone.
	Record(ctx context.Context, owner tenant.ID, id node.CustomID, h node.Health) error

	// RecordShared keeps it, as Record does, of every custom node that has no endpoint of its
	// own, which the tenant's stands in for.
	RecordShared(ctx context.Context, owner tenant.ID, h node.Health) error

	// HasShared says whether the tenant has a custom node without an endpoint of its own.
	HasShared(ctx context.Context, owner tenant.ID) (bool, error)
}
