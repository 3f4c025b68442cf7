package webhooks

import (
	"context"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

const (
	// handOnBatch is how many events one unit hands to their endpoints.
	handOnBatch = 200

	// afterFailure is the least time before the store is asked again after it failed,
	// whatever is said meanwhile.
	afterFailure = 250 * time.Millisecond
)

// handOnAll hands events to their endpoints as they happen, until ctx ends.
func (c *Courier) handOnAll(ctx context.Context, report func(error)) {
	told := false
	for ctx.Err() == nil {
		n := 0
		err := inbound.RecoverPanic("hand on events", func() (err error) {
			n, err = c.handOnSome(ctx, told, report)
			return err
		})
		if err != nil {
			if ctx.Err() == nil {
				report(err)
			}
			rest(ctx, afterFailure)
		}
		if n > 0 {
			ring(c.due)
		}
		if told = n == handOnBatch; !told {
			told = c.awaitEvents(ctx)
		}
	}
}

// handOnSome hands on a batch of events; unless it was told of some, only after a look
// whether any wait. When the batch fails, and that is not the store's doing, each event is
// tried alone, and those that fail then are postponed.
func (c *Courier) handOnSome(ctx context.Context, told bool, report func(error)) (events int, err error) {
	if !told {
		if some, err := c.waiting(ctx); err != nil || !some {
			return 0, err
		}
	}
	taken, err := c.handOn(ctx, handOnBatch)
	if err == nil || len(taken) == 0 || wholesale(err) || ctx.Err() != nil {
		return len(taken), err
	}
	if inbound.IsPanic(err) {
		report(err)
	}
	var tried []outbound.EventKey
	for range handOnBatch {
		taken, err := c.handOn(ctx, 1, tried...)
		switch {
		case len(taken) == 0 || wholesale(err) || ctx.Err() != nil:
			return events, err
		case err != nil:
			tried = append(tried, taken[0])
			until := c.postponed.add(taken[0], c.clock.Now(), inbound.IsPanic(err))
			report(fmt.Errorf("event %s of %s is put off until %s: %w", taken[0].Event, taken[0].Tenant, until.Format(time.RFC3339), err))
		default:
			events++
		}
	}
	return events, nil
}

// waiting says whether an event waits to be handed to its endpoints.
func (c *Courier) waiting(ctx context.Context) (some bool, err error) {
	err = c.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err := st.Webhooks.Events.Waiting(ctx, 1, c.postponed.at(c.clock.Now())...)
		some = len(found) > 0
		return err
	})
	return some, err
}

// handOn makes the deliveries of at most limit events that wait, in one unit of work,
// without those that are postponed or excepted. It returns those that it took, also when
// it failed with them.
func (c *Courier) handOn(ctx context.Context, limit int, except ...outbound.EventKey) (taken []outbound.EventKey, err error) {
	err = inbound.RecoverPanic("hand on events", func() error {
		return c.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
			now := c.clock.Now()
			taken = nil
			waiting, err := st.Webhooks.Events.Waiting(ctx, limit, append(c.postponed.at(now), except...)...)
			if err != nil || len(waiting) == 0 {
				return err
			}
			for _, e := range waiting {
				taken = append(taken, outbound.EventKey{Tenant: e.Tenant(), Event: e.ID()})
			}
			return c.fanOut(ctx, st.Webhooks, waiting, now)
		})
	})
	if err == nil {
		c.postponed.remove(taken)
	}
	return taken, err
}

// fanOut makes the deliveries of events that the unit has taken.
func (c *Courier) fanOut(ctx context.Context, st outbound.WebhookStores, waiting []*event.Event, now time.Time) (err error) {
	wanted := make(map[audience][]*event.Endpoint)
	var made []*event.Delivery
	for _, e := range waiting {
		a := audience{e.Tenant(), e.Type(), e.SubTenant()}
		if _, known := wanted[a]; !known {
			if wanted[a], err = st.Endpoints.Matching(ctx, a.tenant, a.eventType, a.subTenant); err != nil {
				return err
			}
		}
		for _, to := range wanted[a] {
			made = append(made, event.NewDelivery(event.DeliveryID(c.random.ID(event.DeliveryIDPrefix)), to, e, now))
		}
	}
	if err := st.Deliveries.Insert(ctx, made...); err != nil {
		return err
	}
	return st.Events.Settle(ctx, waiting...)
}

// audience is what decides which endpoints want an event.
type audience struct {
	tenant    tenant.ID
	eventType event.Type
	subTenant tenant.SubTenantID
}

// awaitEvents sleeps until it is told that events wait, or it is time to look whether
// any do.
func (c *Courier) awaitEvents(ctx context.Context) (told bool) {
	timer := time.NewTimer(c.look)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return false
	case <-c.events:
		return rest(ctx, gathering)
	}
}
