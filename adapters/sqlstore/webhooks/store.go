// Package webhooks keeps webhook endpoints, the events that they are sent, and the deliveries of these.
package webhooks

import (
	"context"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Statements are the statements by which events and deliveries are claimed.
type Statements struct {
	// Waiting selects the columns of events that wait, as outbound.EventRepository has it.
	// Parameters: the events to leave out as [core.Dialect.Rows], how many at most, how many to
	// choose from, the level of this process, the tenant to begin after, and the last one, empty
	// for all that follow.
	Waiting string

	// BeginClaim selects [core.Dialect.Clock] when no other unit that selects it is going on, and
	// keeps such units waiting until this one ends, or for a few seconds if its process
	// hangs. It does what PlanFreshly does as well.
	BeginClaim string

	// Owners selects (tenant_id, free_at) of the active tenants with pending deliveries.
	// Parameter: the level of this process.
	Owners string

	// Claim selects the columns of the deliveries to lease, in the order of their turns.
	// Parameters: tenants as [core.Dialect.Rows], now, the bounds of outbound.DeliveryClaim, and the
	// level of this process.
	Claim string
}

// Store is the part of a database that holds webhooks.
type Store struct{ dialect dialect }

// dialect is all that differs between the databases in statements on webhooks.
type dialect struct {
	*core.Dialect
	Statements
}

// New returns the webhooks of a database of a dialect.
func New(base *core.Dialect, own Statements) *Store { return &Store{dialect{base, own}} }

// unit is a unit of work on webhooks.
type unit struct {
	*core.Unit
	store *Store
}

// In returns the repositories of a unit of work.
func (s *Store) In(u *core.Unit) outbound.WebhookStores {
	in := &unit{u, s}
	return outbound.WebhookStores{Endpoints: endpointRepository{in}, Events: eventRepository{in}, Deliveries: deliveryRepository{in}, Queue: queue{in}}
}

// inOrder is appended to the SELECT of records that the unit holds, so that no two units
// wait for each other.
func (u *unit) inOrder() string { return ` ORDER BY tenant_id, id` + u.ForUpdate() }

// planFreshly has the statements that follow in the unit planned for the tables as they
// are.
func (u *unit) planFreshly(ctx context.Context) error {
	return u.SetUp(ctx, u.store.dialect.PlanFreshly)
}
