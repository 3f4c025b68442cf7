package webhooks

import (
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Deliveries implements inbound.WebhookDeliveries.
type Deliveries struct {
	work  outbound.UnitOfWork
	clock outbound.Clock
}

var _ inbound.WebhookDeliveries = (*Deliveries)(nil)

// NewDeliveries returns the service.
func NewDeliveries(work outbound.UnitOfWork, clock outbound.Clock) *Deliveries {
	return &Deliveries{work: work, clock: clock}
}

// List returns a page of the deliveries to an endpoint.
func (s *Deliveries) List(ctx context.Context, who tenant.Caller, of event.EndpointID, f event.DeliveryFilter, q domain.Query) (found domain.Page[*event.Delivery], err error) {
	if err = who.May(tenant.ReadDeliveries); err != nil {
		return found, err
	}
	err = s.work.View(ctx, func(ctx context.Context, st outbound.Stores) error {
		if _, err := st.Webhooks.Endpoints.Get(ctx, who.Scope, of); err != nil {
			return err
		}
		found, err = st.Webhooks.Deliveries.List(ctx, who.Scope, of, f, q)
		return err
	})
	return found, err
}

// Get returns a delivery.
func (s *Deliveries) Get(ctx context.Context, who tenant.Caller, id event.DeliveryID) (d *event.Delivery, err error) {
	if err = who.May(tenant.ReadDeliveries); err != nil {
		return nil, err
	}
	return s.get(ctx, who.Scope, id)
}

func (s *Deliveries) get(ctx context.Context, scope tenant.Scope, id event.DeliveryID) (d *event.Delivery, err error) {
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		d, err = st.Webhooks.Deliveries.Get(ctx, scope, id)
		return err
	})
	return d, err
}

// Redeliver makes an attempt due now.
func (s *Deliveries) Redeliver(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id event.DeliveryID) (d *event.Delivery, err error) {
	if err = who.May(tenant.Redeliver); err != nil {
		return nil, err
	}
	known, err := s.get(ctx, who.Scope, id)
	if err != nil {
		return nil, err
	}
	now := s.clock.Now()
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Idempotency.Claim(ctx, who.Tenant(), idempotency, now); err != nil {
			return err
		}
		// Every unit that holds both locks the endpoint first, so that no two wait for each other.
		e, err := st.Webhooks.Endpoints.Get(ctx, who.Scope, known.Endpoint())
		if err != nil {
			return gone(err)
		}
		if d, err = st.Webhooks.Deliveries.Get(ctx, who.Scope, id); err != nil {
			return err
		}
		d.Redeliver(e.Active(), now)
		if err := st.Webhooks.Deliveries.Update(ctx, d); err != nil {
			return err
		}
		return st.Idempotency.Record(ctx, who.Tenant(), idempotency, d, now)
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// gone says of an endpoint that was deleted meanwhile what is true of its deliveries.
func gone(err error) error {
	if domain.KindOf(err) == domain.NotFound {
		return domain.Fail(domain.NotFound, "delivery_not_found", "There is no such delivery.")
	}
	return err
}
