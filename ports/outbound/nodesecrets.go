package outbound

import (
	"context"

	"github.com/sluicehq/sluice/domain/tenant"
)

// NodeSecretRepository keeps what signs the calls of custom nodes, at most one record
// for each tenant.
type NodeSecretRepository interface {
	// Get returns NotFound with the code node_secret_not_found while the tenant has none, and Unavailable with the
	// code secret_unreadable of one that cannot be decrypted.
	Get(ctx context.Context, owner tenant.ID) (*tenant.NodeSecret, error)

	// Insert adds the first one of a tenant. Of two units that do so at the same time one
	// commits; the other runs again and finds it.
	Insert(ctx context.Context, n *tenant.NodeSecret) error

	Update(ctx context.Context, n *tenant.NodeSecret) error

	// Discard removes what cannot be decrypted, if there is something.
	Discard(ctx context.Context, owner tenant.ID) error
}
