package inbound

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/tenant"
)

// Connections is what can be done with the credentials that workflows call with. An unknown
// id is NotFound with the code connection_not_found; a revision that is not the expected one
// is a Conflict with the code precondition_failed.
type Connections interface {
	// Create makes a connection. One more than connection.MaxConnections is a Conflict with
	// the code connection_limit.
	Create(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, d connection.Draft) (*connection.Connection, error)

	Get(ctx context.Context, who tenant.Caller, id connection.ID) (*connection.Connection, error)

	List(ctx context.Context, who tenant.Caller, f connection.Filter, q domain.Query) (domain.Page[*connection.Connection], error)

	// Update changes what the patch names. Attempts that begin afterwards bear the new secret.
	Update(ctx context.Context, who tenant.Caller, id connection.ID, at domain.Expected, p connection.Patch) (*connection.Connection, error)

	// Delete removes a connection that nothing names; another one is a Conflict with the code
	// connection_in_use and what names it. What is published at the same time may name it all
	// the same: its attempts fail.
	Delete(ctx context.Context, who tenant.Caller, id connection.ID, at domain.Expected) error

	// Test calls a URL with GET as an httpRequest of a workflow that the connection belongs to
	// would. Whatever comes of the call is a result, also that it may not be made.
	Test(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id connection.ID, url string) (ConnectionTest, error)
}

// ConnectionTest is what came of a call with a connection.
type ConnectionTest struct {
	Status  int           // of the answer; 0 when none came
	Took    time.Duration // until the answer or the failure
	Code    string        // why no answer came, as attempts say it; empty when one did
	Message string
}
