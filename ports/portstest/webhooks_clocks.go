package portstest

import (
	"context"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/ports/outbound"
)

// DeliveryClocks is the contract of the repositories of deliveries for the clocks of
// processes: whatever they say, the database's decides what is due, and until when it is
// leased.
func DeliveryClocks(t *testing.T, open OpenStore) {
	webhookCases(t, open, map[string]func(f webhooks){
		"a lease begins now and ends after its period": func(f webhooks) {
			owner := f.tenant().ID()
			d := f.due(f.endpoint(owner), f.event(owner), 0)
			f.insert(d)
			before := f.dbNow()
			f.claimsWith("its time is over at once", func(c *outbound.DeliveryClaim) { c.Period = 0 }, d)
			due := f.claim(9, 9)
			f.claimed("so it is leased again", due, d)
			if at := due[0].At; at.Before(before) || at.After(f.dbNow()) || !due[0].Delivery.State().LeasedUntil.Equal(at.Add(time.Hour)) {
				f.Errorf("claimed at %s: %+v", at, due[0].Delivery.State())
			}
			f.claims("it is leased", 9, 9)
		},
		"what is new or asked for is due at once although the clock of who says so is ahead": func(f webhooks) {
			owner := f.tenant().ID()
			to, e := f.endpoint(owner), f.event(owner)
			updated, recorded := f.due(to, e, future), f.due(to, e, future)
			f.insert(updated, recorded)
			ahead := f.dbNow().Add(time.Hour)
			fresh := event.NewDelivery(event.DeliveryID(newID("msg")), to, e, ahead)
			redelivered := func(s event.DeliveryState) *event.Delivery {
				d := event.RestoreDelivery(s)
				d.Redeliver(true, ahead)
				return d
			}
			for what, write := range map[string]func(ctx context.Context, st outbound.WebhookStores) error{
				"inserted": func(ctx context.Context, st outbound.WebhookStores) error { return st.Deliveries.Insert(ctx, fresh) },
				"updated": func(ctx context.Context, st outbound.WebhookStores) error {
					return st.Deliveries.Update(ctx, redelivered(updated))
				},
				"recorded": func(ctx context.Context, st outbound.WebhookStores) error {
					return st.Queue.Record(ctx, []*event.Delivery{redelivered(recorded)}, nil)
				},
			} {
				f.put(write)
				if wait, ok, err := f.wait(); err != nil || !ok || wait > 0 {
					f.Errorf("%s: the next is free in %s (%v): %v", what, wait, ok, err)
				}
				if n := len(f.claim(9, 9)); n != 1 {
					f.Errorf("%s: %d were leased", what, n)
				}
			}
		},
		"what is due later stays so": func(f webhooks) {
			owner := f.tenant().ID()
			d := f.due(f.endpoint(owner), f.event(owner), future)
			f.insert(d)
			f.put(func(ctx context.Context, st outbound.WebhookStores) error {
				return st.Deliveries.Update(ctx, event.RestoreDelivery(d))
			})
			f.claims("it is not due", 9, 9)
			f.next("it is due later", *d.NextAttemptAt)
		},
	})
}
