// Package webhooks implements inbound.WebhookEndpoints, inbound.WebhookDeliveries and
// inbound.Dispatcher: who gets events, what became of them, and sending them.
package webhooks

import (
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Endpoints implements inbound.WebhookEndpoints.
type Endpoints struct {
	work   outbound.UnitOfWork
	clock  outbound.Clock
	random outbound.Random
	names  outbound.HostNames // nil only where no endpoint has a connection
}

var _ inbound.WebhookEndpoints = (*Endpoints)(nil)

// NewEndpoints returns the service.
func NewEndpoints(work outbound.UnitOfWork, clock outbound.Clock, random outbound.Random) *Endpoints {
	return &Endpoints{work: work, clock: clock, random: random}
}

// WithConnections lets endpoints have connections, whose hosts are compared by their names. It
// returns the service.
func (s *Endpoints) WithConnections(names outbound.HostNames) *Endpoints {
	s.names = names
	return s
}

// Create makes an endpoint with a new secret.
func (s *Endpoints) Create(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, d event.EndpointDraft) (e *event.Endpoint, err error) {
	if err = who.May(tenant.CreateWebhookEndpoint); err != nil {
		return nil, err
	}
	d.SubTenant = who.Scope.OrOwn(d.SubTenant)
	if err = who.Scope.Check(d.SubTenant); err != nil {
		return nil, err
	}
	now := s.clock.Now()
	e, err = event.NewEndpoint(event.EndpointID(s.random.ID(event.EndpointIDPrefix)), who.Tenant(), d, s.secret(), now)
	if err != nil {
		return nil, err
	}
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Idempotency.Claim(ctx, who.Tenant(), idempotency, now); err != nil {
			return err
		}
		// Of requests at the same time a few may slip past the limit, which does no harm.
		all, err := st.Webhooks.Endpoints.List(ctx, tenant.All(who.Tenant()), event.EndpointFilter{}, domain.Query{})
		if err != nil {
			return err
		}
		if all.Total >= event.MaxEndpoints {
			return domain.Fail(domain.Conflict, "webhook_endpoint_limit",
				"There are %d webhook endpoints, and no more are permitted. Delete one that is not needed any more.", all.Total)
		}
		if err := s.checkConnection(ctx, st, e); err != nil {
			return err
		}
		if err := st.Webhooks.Endpoints.Insert(ctx, e); err != nil {
			return err
		}
		return st.Idempotency.Record(ctx, who.Tenant(), idempotency, e, now)
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Get returns an endpoint.
func (s *Endpoints) Get(ctx context.Context, who tenant.Caller, id event.EndpointID) (e *event.Endpoint, err error) {
	if err = who.May(tenant.ReadWebhookEndpoints); err != nil {
		return nil, err
	}
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		e, err = st.Webhooks.Endpoints.Get(ctx, who.Scope, id)
		return err
	})
	return e, err
}

// List returns a page of endpoints.
func (s *Endpoints) List(ctx context.Context, who tenant.Caller, f event.EndpointFilter, q domain.Query) (found domain.Page[*event.Endpoint], err error) {
	if err = who.May(tenant.ReadWebhookEndpoints); err != nil {
		return found, err
	}
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err = st.Webhooks.Endpoints.List(ctx, who.Scope, f, q)
		return err
	})
	return found, err
}

// Update changes what the patch names.
func (s *Endpoints) Update(ctx context.Context, who tenant.Caller, id event.EndpointID, at domain.Expected, p event.EndpointPatch) (e *event.Endpoint, err error) {
	if err = who.May(tenant.ChangeWebhookEndpoint); err != nil {
		return nil, err
	}
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if e, err = st.Webhooks.Endpoints.Get(ctx, who.Scope, id); err != nil {
			return err
		}
		if err := at.Check(e.Revision()); err != nil {
			return err
		}
		if err := e.Revise(p, s.clock.Now()); err != nil {
			return err
		}
		if err := who.Scope.Check(e.SubTenant()); err != nil {
			return err
		}
		if err := s.checkConnection(ctx, st, e); err != nil {
			return err
		}
		return st.Webhooks.Endpoints.Update(ctx, e)
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Delete removes an endpoint with its deliveries.
func (s *Endpoints) Delete(ctx context.Context, who tenant.Caller, id event.EndpointID, at domain.Expected) error {
	if err := who.May(tenant.DeleteWebhookEndpoint); err != nil {
		return err
	}
	return s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		e, err := st.Webhooks.Endpoints.Get(ctx, who.Scope, id)
		if err != nil {
			return err
		}
		if err := at.Check(e.Revision()); err != nil {
			return err
		}
		return st.Webhooks.Endpoints.Delete(ctx, who.Scope, id)
	})
}

// RotateSecret gives an endpoint a new secret.
func (s *Endpoints) RotateSecret(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id event.EndpointID) (e *event.Endpoint, err error) {
	if err = who.May(tenant.RotateWebhookSecret); err != nil {
		return nil, err
	}
	now, fresh := s.clock.Now(), s.secret()
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Idempotency.Claim(ctx, who.Tenant(), idempotency, now); err != nil {
			return err
		}
		if e, err = st.Webhooks.Endpoints.Get(ctx, who.Scope, id); err != nil {
			return err
		}
		e.RotateSecret(fresh, now)
		if err := st.Webhooks.Endpoints.Update(ctx, e); err != nil {
			return err
		}
		return st.Idempotency.Record(ctx, who.Tenant(), idempotency, e, now)
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Test sends an event to the endpoint that says that nothing has happened.
func (s *Endpoints) Test(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id event.EndpointID) (d *event.Delivery, err error) {
	if err = who.May(tenant.TestWebhookEndpoint); err != nil {
		return nil, err
	}
	now := s.clock.Now()
	eventID, deliveryID := event.ID(s.random.ID(event.IDPrefix)), event.DeliveryID(s.random.ID(event.DeliveryIDPrefix))
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Idempotency.Claim(ctx, who.Tenant(), idempotency, now); err != nil {
			return err
		}
		e, err := st.Webhooks.Endpoints.Get(ctx, who.Scope, id)
		if err != nil {
			return err
		}
		test := event.NewTest(eventID, e, now)
		// Nobody subscribes to tests, so that its fan-out reaches nobody else.
		if err := st.Webhooks.Events.Append(ctx, test); err != nil {
			return err
		}
		d = event.NewTestDelivery(deliveryID, e, test, now)
		if err := st.Webhooks.Deliveries.Insert(ctx, d); err != nil {
			return err
		}
		return st.Idempotency.Record(ctx, who.Tenant(), idempotency, d, now)
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// secret draws a secret.
func (s *Endpoints) secret() domain.SigningSecret {
	var entropy [domain.SecretEntropy]byte
	s.random.Fill(entropy[:])
	return domain.NewSigningSecret(entropy)
}
