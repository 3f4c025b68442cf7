package inbound

import (
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
)

// WebhookEndpoints is what can be done with the addresses that events are sent to. An
// unknown id is NotFound with the code webhook_endpoint_not_found; a revision that is
// not the expected one is a Conflict with the code precondition_failed.
type WebhookEndpoints interface {
	// Create makes an endpoint with a new secret, which the answer holds. One more than
	// event.MaxEndpoints is a Conflict with the code webhook_endpoint_limit.
	Create(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, d event.EndpointDraft) (*event.Endpoint, error)

	Get(ctx context.Context, who tenant.Caller, id event.EndpointID) (*event.Endpoint, error)

	List(ctx context.Context, who tenant.Caller, f event.EndpointFilter, q domain.Query) (domain.Page[*event.Endpoint], error)

	// Update changes what the patch names. Activating an endpoint forgets its failures.
	Update(ctx context.Context, who tenant.Caller, id event.EndpointID, at domain.Expected, p event.EndpointPatch) (*event.Endpoint, error)

	// Delete removes the endpoint with its deliveries; what was not delivered never is.
	Delete(ctx context.Context, who tenant.Caller, id event.EndpointID, at domain.Expected) error

	// RotateSecret gives the endpoint a new secret, which the answer holds. The one before
	// goes on signing next to it for event.SecretOverlap.
	RotateSecret(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id event.EndpointID) (*event.Endpoint, error)

	// Test sends an event of the type event.EndpointTest to the endpoint, once, whatever
	// it subscribes to and even if it is not active. The answer is its delivery, in which
	// the outcome can be read a moment later.
	Test(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id event.EndpointID) (*event.Delivery, error)
}

// WebhookDeliveries is what can be done with the deliveries of events. An unknown
// delivery is NotFound with the code delivery_not_found.
type WebhookDeliveries interface {
	// List lists the deliveries to an endpoint. An unknown one is NotFound with the code
	// webhook_endpoint_not_found.
	List(ctx context.Context, who tenant.Caller, of event.EndpointID, f event.DeliveryFilter, q domain.Query) (domain.Page[*event.Delivery], error)

	Get(ctx context.Context, who tenant.Caller, id event.DeliveryID) (*event.Delivery, error)

	// Redeliver makes an attempt due now, under the same identifier. Of a pending delivery
	// it is the next one, earlier. Of one that has ended, or whose endpoint is not active,
	// it is a single one, which is made all the same and after which none follows. While an
	// attempt is being made it is a further one, once that has been recorded.
	Redeliver(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id event.DeliveryID) (*event.Delivery, error)
}

// Dispatcher brings events to endpoints. Several processes may do so at the same time: each
// event has one delivery to each endpoint, and arrives there at least once unless the
// endpoint refuses it to the last.
type Dispatcher interface {
	// Run brings events to endpoints until ctx ends, and then returns once what it sends has
	// ended. It passes errors to failed, by one goroutine at a time, and goes on. One that
	// is running must not be run again.
	//
	// An attempt that panics has failed, says nothing about its endpoint, and the next one
	// follows by the schedule. What cannot be read or recorded is postponed, for longer and
	// longer, and keeps nothing else waiting.
	Run(ctx context.Context, failed func(error))

	// Panics returns how many panics were recovered from since the start. Each was passed to
	// failed as a [Panic].
	Panics() int64

	// Unreadable returns how often a delivery was postponed since the start because it, its
	// endpoint or its event cannot be read.
	Unreadable() int64

	// Wake says that an event may wait, or a delivery may be due at once. Run finds both by
	// itself within a second. It never blocks.
	Wake()
}
