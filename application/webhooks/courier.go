package webhooks

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
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

	postponed  postponed // events that could not be handed on
	panics     atomic.Int64
	unreadable atomic.Int64
}

var _ inbound.Courier = (*Courier)(nil)

// NewCourier returns a courier that sends through the port.
func NewCourier(work outbound.UnitOfWork, sender outbound.Sender, clock outbound.Clock, random outbound.Random) *Courier {
	return &Courier{
		work: work, sender: sender, clock: clock, random: random,
		most: boundsOf(places, perEndpoint), look: longestPause, events: make(chan struct{}, 1), due: make(chan struct{}, 1),
		postponed: postponed{most: maxPostponed},
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

// claim takes deliveries that are due for the places that are free, so that nobody else
// sends them meanwhile. failing is how many more may go to endpoints that fail. Those that
// cannot be read are among them.
func (c *Courier) claim(ctx context.Context, free, failing int) (due []outbound.DueDelivery, err error) {
	err = c.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		now := c.clock.Now()
		due, err = st.Webhooks.Queue.Claim(ctx, outbound.DeliveryClaim{
			Now: now, Until: now.Add(lease), Limit: free, Spare: c.most.spare, Failing: failing, PerTenant: c.most.perTenant, PerEndpoint: c.most.perEndpoint,
		})
		return err
	})
	for _, one := range due {
		if err == nil && one.Unreadable != nil {
			c.unreadable.Add(1)
		}
	}
	return due, err
}

// attempt sends a delivery that was claimed, has recorded what became of it, and says
// whether another attempt is to follow. It goes on when ctx is done meanwhile, since the
// message may be on its way already; the sender bounds the time. One that panics has
// failed: were it left to its lease, it would be made every few seconds for ever.
func (c *Courier) attempt(ctx context.Context, due outbound.DueDelivery, records *recorder) (again bool, err error) {
	ctx = context.WithoutCancel(ctx)
	d, one := due.Delivery, result{of: due.Delivery}
	var thrown error
	if due.Endpoint.Active() || d.Manual() {
		one.number, one.at = d.NextAttempt(), c.clock.Now()
		err = inbound.RecoverPanic("send", func() (err error) {
			one.outcome, err = c.send(ctx, due, one.at)
			return err
		})
		switch {
		case inbound.IsPanic(err):
			thrown, one.outcome = err, event.InternalFailure(c.clock.Now().Sub(one.at))
		case err != nil:
			return false, describe(d, err) // it is sent again when its lease has ended
		}
	}
	again, err = records.record(one)
	return again, describe(d, errors.Join(thrown, err))
}

// send signs and sends a delivery once.
func (c *Courier) send(ctx context.Context, due outbound.DueDelivery, at time.Time) (event.Outcome, error) {
	d, body := due.Delivery, due.Event.Body()
	return c.sender.Send(ctx, outbound.SignedMessage{
		Tenant: d.Tenant(), URL: due.Endpoint.URL(), Body: body,
		Signature: domain.Sign(due.Endpoint.SigningSecrets(at), string(d.ID()), at, body),
	})
}

// describe names the delivery in an error.
func describe(d *event.Delivery, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("delivery %s of %s: %w", d.ID(), d.Tenant(), err)
}

// Panics returns how many panics were contained since the start.
func (c *Courier) Panics() int64 { return c.panics.Load() }

// Unreadable returns how often a delivery was put off since the start because it cannot
// be read.
func (c *Courier) Unreadable() int64 { return c.unreadable.Load() }
