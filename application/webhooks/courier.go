package webhooks

import (
	"context"
	"fmt"
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
	lease = event.SendTimeout + 15*time.Second

	// places is how many messages a process sends at the same time. One that waits for an
	// answer costs its memory only.
	places = 512

	// perEndpoint is how many messages an endpoint gets at the same time, so that one that
	// is slow to answer is neither flooded nor takes all places of its tenant.
	perEndpoint = 8
)

// bounds are how many messages a process sends at the same time.
type bounds struct {
	places      int // in all
	spare       int // those kept for tenants to whom nothing is being sent, so that they find one at once while all others wait for endpoints that hang
	failing     int // those that endpoints that fail get, all of them together
	perTenant   int
	perEndpoint int
}

// boundsOf shares places out.
func boundsOf(places, perEndpoint int) bounds {
	return bounds{places: places, spare: places / 4, failing: places / 2, perTenant: places / 4, perEndpoint: perEndpoint}
}

// Courier implements inbound.Courier.
type Courier struct {
	work   outbound.UnitOfWork
	sender outbound.Sender
	clock  outbound.Clock
	random outbound.Random

	most   bounds
	look   time.Duration // how long the loops sleep at most
	events chan struct{} // holds one when events may wait
	due    chan struct{} // holds one when deliveries may be due
}

var _ inbound.Courier = (*Courier)(nil)

// NewCourier returns a courier that sends through the port.
func NewCourier(work outbound.UnitOfWork, sender outbound.Sender, clock outbound.Clock, random outbound.Random) *Courier {
	return &Courier{
		work: work, sender: sender, clock: clock, random: random,
		most: boundsOf(places, perEndpoint), look: longestPause, events: make(chan struct{}, 1), due: make(chan struct{}, 1),
	}
}

// Wake makes the loops look at once.
func (c *Courier) Wake() {
	ring(c.events)
	ring(c.due)
}

// ring leaves one word in a channel that holds one.
func ring(bell chan struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}

// handOn makes the deliveries of at most limit events that wait, in one unit of work,
// and returns of how many.
func (c *Courier) handOn(ctx context.Context, limit int) (events int, err error) {
	err = c.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		waiting, err := st.Webhooks.Events.Waiting(ctx, limit)
		if events = len(waiting); err != nil || events == 0 {
			return err
		}
		now := c.clock.Now()
		wanted := make(map[audience][]*event.Endpoint)
		var made []*event.Delivery
		for _, e := range waiting {
			a := audience{e.Tenant(), e.Type(), e.SubTenant()}
			if _, known := wanted[a]; !known {
				if wanted[a], err = st.Webhooks.Endpoints.Matching(ctx, a.tenant, a.eventType, a.subTenant); err != nil {
					return err
				}
			}
			for _, to := range wanted[a] {
				made = append(made, event.NewDelivery(event.DeliveryID(c.random.ID(event.DeliveryIDPrefix)), to, e, now))
			}
		}
		if err := st.Webhooks.Deliveries.Insert(ctx, made...); err != nil {
			return err
		}
		return st.Webhooks.Events.Settle(ctx, waiting...)
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

// claim takes deliveries that are due for the places that are free, so that nobody else
// sends them meanwhile. failing is how many more may go to endpoints that fail.
func (c *Courier) claim(ctx context.Context, free, failing int) (due []outbound.DueDelivery, err error) {
	err = c.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		now := c.clock.Now()
		due, err = st.Webhooks.Queue.Claim(ctx, outbound.DeliveryClaim{
			Now: now, Until: now.Add(lease), Limit: free, Spare: c.most.spare, Failing: failing, PerTenant: c.most.perTenant, PerEndpoint: c.most.perEndpoint,
		})
		return err
	})
	return due, err
}

// attempt sends a delivery that was claimed, has recorded what became of it, and says
// whether another attempt is to follow. It goes on when ctx is done meanwhile, since the
// message may be on its way already; the sender bounds the time.
func (c *Courier) attempt(ctx context.Context, due outbound.DueDelivery, records *recorder) (again bool, err error) {
	ctx = context.WithoutCancel(ctx)
	d, one := due.Delivery, result{of: due.Delivery}
	if due.Endpoint.Active() || d.Manual() {
		one.number, one.at = d.NextAttempt(), c.clock.Now()
		body := due.Event.Body()
		one.outcome, err = c.sender.Send(ctx, outbound.SignedMessage{
			Tenant: d.Tenant(), URL: due.Endpoint.URL(), Body: body,
			Signature: domain.Sign(due.Endpoint.SigningSecrets(one.at), string(d.ID()), one.at, body),
		})
		if err != nil {
			return false, describe(d, err) // it is sent again when its lease has ended
		}
	}
	again, err = records.record(one)
	return again, describe(d, err)
}

// describe names the delivery in an error.
func describe(d *event.Delivery, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("delivery %s of %s: %w", d.ID(), d.Tenant(), err)
}
