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
	// maxFanOut is how many events one unit makes deliveries of, and maxNewDeliveries how many
	// deliveries, unless a single event has more. It is also what a tenant gets in its turn.
	maxFanOut        = 100
	maxNewDeliveries = 100

	// storeRetryPause is the least time before the store is asked again after it failed,
	// however often the loop is woken.
	storeRetryPause = 250 * time.Millisecond
)

// fanOutLoop makes deliveries of events as they happen, until ctx ends.
func (d *Dispatcher) fanOutLoop(ctx context.Context, report func(error)) {
	woken, more := false, false
	for ctx.Err() == nil {
		n := 0
		more = false
		err := inbound.RecoverPanic("fan out events", func() (err error) {
			n, more, err = d.fanOutBatch(outbound.WithYieldingWrite(ctx), woken, report)
			return err
		})
		pause := d.poll
		if err != nil {
			if ctx.Err() == nil {
				report(err)
			}
			pause = failurePause
			outbound.Sleep(ctx, storeRetryPause)
		}
		if n > 0 {
			notify(d.deliveries)
		}
		if woken = more; !woken {
			woken = outbound.Await(ctx, d.newEvents, pause) && outbound.Sleep(ctx, wakeupDelay)
		}
	}
}

// fanOutBatch makes deliveries of a batch of events; unless it was woken, only after a look
// whether any wait. When the batch fails for its own sake, each event is tried alone, and
// those that fail then are postponed. more says that others may wait.
func (d *Dispatcher) fanOutBatch(ctx context.Context, woken bool, report func(error)) (events int, more bool, err error) {
	if !woken {
		if some, err := d.anyWaiting(ctx); err != nil || !some {
			return 0, false, err
		}
	}
	taken, more, err := d.fanOut(ctx, maxFanOut)
	if err == nil || len(taken) == 0 || isStoreError(err) || ctx.Err() != nil {
		return len(taken), more, err
	}
	if inbound.IsPanic(err) {
		report(err)
	}
	var tried []outbound.EventKey
	begin := d.servedTenant
	for range maxFanOut {
		d.servedTenant = begin // in the order of the batch
		taken, _, err := d.fanOut(ctx, 1, tried...)
		switch {
		case len(taken) == 0 || isStoreError(err) || ctx.Err() != nil:
			return events, false, err
		case err != nil:
			tried = append(tried, taken[0])
			until := d.postponed.add(taken[0], d.clock.Now(), inbound.IsPanic(err))
			report(fmt.Errorf("event %s of %s is postponed until %s: %w", taken[0].Event, taken[0].Tenant, until.Format(time.RFC3339), err))
		default:
			events++
		}
	}
	return events, events == maxFanOut, nil
}

// anyWaiting says whether an event waits for its deliveries to be made.
func (d *Dispatcher) anyWaiting(ctx context.Context) (some bool, err error) {
	err = d.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err := st.Webhooks.Events.PendingFanOut(ctx, 1, "", d.postponed.at(d.clock.Now())...)
		some = len(found) > 0
		return err
	})
	return some, err
}

// fanOut makes the deliveries of at most limit events that wait, in one unit of work,
// without those that are postponed or excepted. It returns those that it took, also when
// it failed with them, and whether others may wait.
func (d *Dispatcher) fanOut(ctx context.Context, limit int, except ...outbound.EventKey) (taken []outbound.EventKey, more bool, err error) {
	var served tenant.ID
	err = inbound.RecoverPanic("fan out events", func() error {
		return d.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
			now := d.clock.Now()
			taken, served = nil, d.servedTenant
			waiting, err := st.Webhooks.Events.PendingFanOut(ctx, limit, d.servedTenant, append(d.postponed.at(now), except...)...)
			if err != nil || len(waiting) == 0 {
				return err
			}
			for _, e := range waiting {
				taken = append(taken, outbound.EventKey{Tenant: e.Tenant(), Event: e.ID()})
			}
			events, err := d.insertDeliveries(ctx, st.Webhooks, waiting, now)
			if err == nil {
				more = events < len(waiting) || len(waiting) == limit
				taken, served = taken[:events], lastServed(waiting, events, more)
			}
			return err
		})
	})
	if err == nil {
		d.postponed.remove(taken)
		d.servedTenant = served
	}
	return taken, more, err
}

// lastServed is the tenant after which the next unit begins, when this one made the deliveries of so
// many of the events: the last tenant of these, or the one before it when others before it took some
// of what it gets in its turn.
func lastServed(waiting []*event.Event, events int, more bool) tenant.ID {
	last := waiting[events-1].Tenant()
	if first := waiting[0].Tenant(); !more || last == first || events < len(waiting) && waiting[events].Tenant() != last {
		return last
	}
	for waiting[events-1].Tenant() == last {
		events--
	}
	return waiting[events-1].Tenant()
}

// insertDeliveries makes the deliveries of the first events that the unit has taken, and returns of how many.
func (d *Dispatcher) insertDeliveries(ctx context.Context, st outbound.WebhookStores, waiting []*event.Event, now time.Time) (events int, err error) {
	subscribed := make(map[subscriptionKey][]*event.Endpoint)
	var made []*event.Delivery
	for _, e := range waiting {
		key := subscriptionKey{e.Tenant(), e.Type(), e.SubTenant(), e.OfChild()}
		if _, known := subscribed[key]; !known {
			if subscribed[key], err = st.Endpoints.Matching(ctx, tenant.All(key.tenant), key.eventType, key.subTenant, key.ofChild); err != nil {
				return 0, err
			}
		}
		if events > 0 && len(made)+len(subscribed[key]) > maxNewDeliveries {
			break
		}
		events++
		for _, to := range subscribed[key] {
			made = append(made, event.NewDelivery(event.DeliveryID(d.random.ID(event.DeliveryIDPrefix)), to, e, now))
		}
	}
	if err := st.Deliveries.Insert(ctx, made...); err != nil {
		return 0, err
	}
	return events, st.Events.MarkFannedOut(ctx, waiting[:events]...)
}

// subscriptionKey is what decides which endpoints want an event.
type subscriptionKey struct {
	tenant    tenant.ID
	eventType event.Type
	subTenant tenant.SubTenantID
	ofChild   bool
}
