package outbound

import (
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/tenant"
)

// ConnectionRepository keeps connections. Their secrets are encrypted at rest ([Cipher]), and
// come back in clear within the aggregate. A scope of one sub-tenant covers its own
// connections, and not those that the tenant shares with it. Connections are deleted with
// their tenant.
type ConnectionRepository interface {
	Insert(ctx context.Context, c *connection.Connection) error

	// Get returns NotFound with the code connection_not_found for an unknown id.
	Get(ctx context.Context, scope tenant.Scope, id connection.ID) (*connection.Connection, error)

	List(ctx context.Context, scope tenant.Scope, f connection.Filter, q domain.Query) (domain.Page[*connection.Connection], error)

	// Update writes what may change of a connection: not its kind, and not its sub-tenant.
	Update(ctx context.Context, c *connection.Connection) error

	// Delete removes the connection. An unknown id is NotFound. It asks nobody who uses it.
	Delete(ctx context.Context, scope tenant.Scope, id connection.ID) error

	// UsedBy returns at most limit of what names the connection: active versions in the
	// configuration of a node, webhook endpoints, and hooks, by the ids of their triggers; in this
	// order, then by id.
	UsedBy(ctx context.Context, scope tenant.Scope, id connection.ID, limit int) ([]connection.Use, error)
}

// Credentials gives out what calls with a connection bear. The gateway asks just before each
// attempt, so that a connection that was changed, switched off or deleted counts from the next
// attempt on, in every process.
type Credentials interface {
	// Credential returns what a call for a workflow, an endpoint or a custom node of a
	// sub-tenant, empty for none, bears now. It is valid for at least the time of one call,
	// and goes into nothing that is stored, logged or shown. Whoever bears it asks
	// connection.Credential.Reaches about the host of each request before it is sent, and has
	// connection.Credential.Redactor search what comes back before anything of it is
	// recorded.
	//
	// For OAuth that is an access token, which is got or renewed here when it is due, by one
	// process at a time.
	//
	// Its errors are *domain.Error, whose code and message are those of the attempt that
	// failed. Nothing was sent then. NotFound with the code connection_not_found is a
	// connection that does not exist, is another tenant's, or does not serve the sub-tenant
	// (connection.Connection.Serves): these look alike. Conflict with the code
	// connection_inactive is one that was switched off, and with another code one that
	// somebody has to see to; repeating the call does not help. Unavailable is worth another
	// attempt, after its RetryAfter.
	Credential(ctx context.Context, of CredentialUse) (connection.Credential, error)
}

// CredentialUse says for whom a connection is asked.
type CredentialUse struct {
	Tenant     tenant.ID
	SubTenant  tenant.SubTenantID // of who calls; empty for none
	Connection connection.ID      // as it was configured or computed; any text

	// Refused is the access token of a credential that the called service did not accept although it should
	// be valid (connection.Credential.AccessToken); none at first. Another one comes back if there is one.
	Refused connection.Text
}

// HostNames writes names of hosts as they are looked up.
type HostNames interface {
	// ASCII writes an internationalized name (UTS 46, for lookup), as calls do before they
	// look it up. An error is a name that no host has.
	ASCII(name string) (string, error)
}
