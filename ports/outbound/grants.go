package outbound

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/tenant"
)

// GrantRepository keeps what authorization servers have given for connections, at most one grant for each, with
// its tokens encrypted. A grant goes with its connection.
type GrantRepository interface {
	// Get returns a grant and the time by the database's clock, by which the times of grants are. It is NotFound with the
	// code grant_not_found while nothing was asked for, and with the code of [Cipher] when the tokens cannot be
	// read.
	Get(ctx context.Context, scope tenant.Scope, of connection.ID) (g *connection.Grant, now time.Time, err error)

	// States returns those of connections that have one, as Get does but without their tokens, in place of
	// which stands something else.
	States(ctx context.Context, scope tenant.Scope, of ...connection.ID) (map[connection.ID]*connection.Grant, error)

	// Insert adds the first one of a connection. Of two units that do so at the same time one commits; the
	// other runs again and finds it. An unknown connection is NotFound with the code connection_not_found.
	Insert(ctx context.Context, g *connection.Grant) error

	Update(ctx context.Context, g *connection.Grant) error

	// Due returns at most limit connections that are active, of active tenants, whose grants are to be renewed although nobody uses them,
	// those first that are due for longest. It is for the gateway itself.
	Due(ctx context.Context, limit int) ([]GrantKey, error)
}

// GrantKey names a grant.
type GrantKey struct {
	Tenant     tenant.ID
	Connection connection.ID
}

// ConsentRepository keeps requests for a person's consent until they are used or have ended. It is for the
// gateway itself: whoever comes with a link or a code has no key. What is not there is
// the error of connection.ConsentEnded.
type ConsentRepository interface {
	// Insert adds a request. Those of its tenant that have ended at now go, and so do the oldest ones of its
	// connection, of which connection.MaxConsents stay.
	Insert(ctx context.Context, r *connection.ConsentRequest, now time.Time) error

	// Get returns a request by its digest.
	Get(ctx context.Context, digest string) (*connection.ConsentRequest, error)

	// Take removes a request: of those who take the same one, one does.
	Take(ctx context.Context, digest string) error
}
