package portstest

import (
	"context"
	"errors"
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
		"what could not be recorded is due again after as long as it has been there": postponed,
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

func postponed(f webhooks) {
	owner, other := f.tenant().ID(), f.tenant().ID()
	to, e := f.endpoint(owner), f.event(owner)
	back, made, kept := f.due(to, e, 0), f.due(to, e, 0), f.due(to, e, 0)
	made.Attempted = 1
	f.insert(back, made, kept)
	f.claims("all are due", 9, 9, back, made, kept)
	stolen := keysOf(kept)[0]
	stolen.Tenant = other
	postpone := func(attempt int, since time.Time, of ...outbound.DeliveryKey) (before, after time.Time) {
		f.Helper()
		before = f.dbNow()
		f.put(func(ctx context.Context, st outbound.WebhookStores) (err error) {
			for _, key := range of {
				err = errors.Join(err, st.Queue.Postpone(ctx, key, attempt, since))
			}
			return err
		})
		return before, f.dbNow()
	}
	for _, since := range []time.Time{f.dbNow(), f.dbNow().Add(-10 * time.Minute), f.dbNow().Add(-48 * time.Hour)} {
		before, after := postpone(1, since, keysOf(back)[0], keysOf(made)[0], stolen)
		got, err := f.getDelivery(owner, back.ID)
		if err != nil {
			f.Fatal(err)
		}
		if at := *got.NextAttemptAt(); at.Before(outbound.RetryAt(since, before)) || at.After(outbound.RetryAt(since, after)) || got.State().LeasedUntil != nil {
			f.Errorf("what has been there since %s is due at %s: %+v", since, at, got.State())
		}
		f.claims("the others are leased", 9, 9)
	}
	f.settle(back)
	postpone(2, f.dbNow(), keysOf(back)[0])
	if got, err := f.getDelivery(owner, back.ID); err != nil || got.NextAttemptAt() != nil {
		f.Errorf("what has ended is due again: %+v, %v", got.State(), err)
	}
}
