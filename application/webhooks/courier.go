package webhooks

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

const (
	// lease is how long an attempt is left alone: long enough to send and to record it
	// even when the store is slow. After that it is taken for lost and made again.
	lease = 2*event.SendTimeout + 30*time.Second

	// perEndpoint is how many messages an endpoint gets at the same time, so that one that
	// is slow to answer is neither flooded nor takes everybody's place.
	perEndpoint = 8
)

// Courier implements inbound.Courier.
type Courier struct {
	work   outbound.UnitOfWork
	of     StoresOf
	sender outbound.Sender
	clock  outbound.Clock
	random outbound.Random
}

var _ inbound.Courier = (*Courier)(nil)

// NewCourier returns a courier that sends through the port.
func NewCourier(work outbound.UnitOfWork, of StoresOf, sender outbound.Sender, clock outbound.Clock, random outbound.Random) *Courier {
	return &Courier{work: work, of: of, sender: sender, clock: clock, random: random}
}

// FanOut makes the deliveries of events that wait.
func (c *Courier) FanOut(ctx context.Context, limit int) (events int, err error) {
	err = c.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		waiting, err := c.of(st).Events.Waiting(ctx, limit)
		if events = len(waiting); err != nil || events == 0 {
			return err
		}
		now := c.clock.Now()
		wanted := make(map[audience][]*event.Endpoint)
		var made []*event.Delivery
		for _, e := range waiting {
			a := audience{e.Tenant(), e.Type(), e.SubTenant()}
			if _, known := wanted[a]; !known {
				if wanted[a], err = c.of(st).Endpoints.Matching(ctx, a.tenant, a.eventType, a.subTenant); err != nil {
					return err
				}
			}
			for _, to := range wanted[a] {
				made = append(made, event.NewDelivery(event.DeliveryID(c.random.ID(event.DeliveryIDPrefix)), to, e, now))
			}
		}
		if err := c.of(st).Deliveries.Insert(ctx, made...); err != nil {
			return err
		}
		return c.of(st).Events.Settle(ctx, waiting...)
	})
	if err != nil {
		return 0, err
	}
	return events, nil
}

// audience is what decides which endpoints want an event.
type audience struct {
	tenant    tenant.ID
	eventType event.Type
	subTenant tenant.SubTenantID
}

// Deliver makes attempts that are due, at the same time.
func (c *Courier) Deliver(ctx context.Context, limit int) (attempted int, err error) {
	due, err := c.claim(ctx, limit)
	if err != nil {
		return 0, err
	}
	errs := make([]error, len(due))
	var sending sync.WaitGroup
	for i, one := range due {
		sending.Go(func() { errs[i] = c.attempt(ctx, one) })
	}
	sending.Wait()
	return len(due), errors.Join(errs...)
}

// claim takes deliveries that are due, so that nobody else sends them meanwhile.
func (c *Courier) claim(ctx context.Context, limit int) (due []outbound.DueDelivery, err error) {
	err = c.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		now := c.clock.Now()
		due, err = c.of(st).Deliveries.Claim(ctx, outbound.DeliveryClaim{
			Now: now, Until: now.Add(lease), Limit: limit, PerEndpoint: perEndpoint,
		})
		return err
	})
	return due, err
}

// attempt sends a delivery that was claimed, and records what became of it. It goes on
// when ctx is done meanwhile, since the message may be on its way already; the sender
// bounds the time.
func (c *Courier) attempt(ctx context.Context, due outbound.DueDelivery) error {
	ctx = context.WithoutCancel(ctx)
	d := due.Delivery
	if !due.Endpoint.Active() && !d.Manual() {
		return describe(d, c.abandon(ctx, d))
	}
	number, at, body := d.NextAttempt(), c.clock.Now(), due.Event.Body()
	outcome, err := c.sender.Send(ctx, outbound.SignedMessage{
		URL: due.Endpoint.URL(), Body: body,
		Signature: domain.Sign(due.Endpoint.SigningSecrets(at), string(d.ID()), at, body),
	})
	if err != nil {
		return describe(d, err) // it is sent again when its lease has ended
	}
	return describe(d, c.record(ctx, d, number, at, outcome))
}

// record writes down what became of an attempt, and switches the endpoint off where it
// has failed for too long. What was deleted meanwhile needs no record.
func (c *Courier) record(ctx context.Context, of *event.Delivery, number int, at time.Time, o event.Outcome) error {
	told := event.ID(c.random.ID(event.IDPrefix))
	return c.change(ctx, of, func(ctx context.Context, st outbound.WebhookStores, e *event.Endpoint, d *event.Delivery) error {
		if !d.Record(number, at, o) {
			return nil // another process took it for lost, and was faster
		}
		if err := st.Deliveries.Update(ctx, d); err != nil || !e.Note(o, d.UpdatedAt()) {
			return err
		}
		if err := st.Endpoints.Update(ctx, e); err != nil || e.Active() {
			return err
		}
		disabled, ok := e.DisabledEvent(told)
		if !ok {
			return nil
		}
		return st.Events.Append(ctx, disabled)
	})
}

// abandon ends a delivery whose endpoint is not active any more.
func (c *Courier) abandon(ctx context.Context, of *event.Delivery) error {
	return c.change(ctx, of, func(ctx context.Context, st outbound.WebhookStores, e *event.Endpoint, d *event.Delivery) error {
		if e.Active() || !d.Abandon(c.clock.Now()) {
			return nil // it is due again when its lease has ended
		}
		return st.Deliveries.Update(ctx, d)
	})
}

// change runs verb on a delivery and its endpoint as they are now, unless one was
// deleted.
func (c *Courier) change(ctx context.Context, of *event.Delivery,
	verb func(context.Context, outbound.WebhookStores, *event.Endpoint, *event.Delivery) error) error {
	return c.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		stores := c.of(st)
		// Whoever holds both takes the endpoint first, so that no two wait for each other.
		e, err := stores.Endpoints.Get(ctx, of.Tenant(), of.Endpoint())
		if err != nil {
			return unlessGone(err)
		}
		d, err := stores.Deliveries.Get(ctx, of.Tenant(), of.ID())
		if err != nil {
			return unlessGone(err)
		}
		return verb(ctx, stores, e, d)
	})
}

func unlessGone(err error) error {
	if domain.KindOf(err) == domain.NotFound {
		return nil
	}
	return err
}

// describe names the delivery in an error.
func describe(d *event.Delivery, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("delivery %s of %s: %w", d.ID(), d.Tenant(), err)
}
