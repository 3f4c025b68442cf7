package portstest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// deliveryState is a delivery with every member filled in.
func deliveryState(to *event.Endpoint, e *event.Event) event.DeliveryState {
	next, leased, delivered := noon.Add(time.Hour), noon.Add(time.Minute), noon.Add(-time.Minute)
	return event.DeliveryState{
		ID: event.DeliveryID(newID("msg")), Tenant: to.Tenant(), Endpoint: to.ID(), Event: e.ID(), Type: e.Type(), Status: event.Pending,
		Attempts: []event.Attempt{
			{Number: 21, At: noon, Duration: 1500 * time.Microsecond, Status: 503, Code: "unexpected_status", Error: `it's "so" é`, Excerpt: "<&> \\ ü\n", Manual: true},
			{Number: 22, At: noon.Add(time.Second), Duration: 15 * time.Second, Code: "timeout", Error: "late"},
		},
		Attempted: 22, NextAttemptAt: &next, Manual: true, Urgent: true, LeasedUntil: &leased, DeliveredAt: &delivered, Reason: "<why>",
		CreatedAt: noon, UpdatedAt: noon.Add(time.Second), Revision: 1,
	}
}

// insert stores a delivery as it is.
func (f webhooks) insert(all ...event.DeliveryState) {
	f.Helper()
	f.put(func(ctx context.Context, st outbound.WebhookStores) error {
		for _, s := range all {
			if err := st.Deliveries.Insert(ctx, event.RestoreDelivery(s)); err != nil {
				return err
			}
		}
		return nil
	})
}

// delivery stores a new delivery, whose first attempt is due.
func (f webhooks) delivery(to *event.Endpoint, e *event.Event) *event.Delivery {
	f.Helper()
	d := event.NewDelivery(event.DeliveryID(newID("msg")), to, e, f.past)
	f.put(func(ctx context.Context, st outbound.WebhookStores) error { return st.Deliveries.Insert(ctx, d) })
	return d
}

func (f webhooks) getDelivery(owner tenant.ID, id event.DeliveryID) (d *event.Delivery, err error) {
	err = f.view(func(ctx context.Context, st outbound.WebhookStores) error {
		d, err = st.Deliveries.Get(ctx, tenant.All(owner), id)
		return err
	})
	return d, err
}

// DeliveryRepository is the contract of outbound.DeliveryRepository, except that of
// claiming.
func DeliveryRepository(t *testing.T, open OpenStore) {
	webhookCases(t, open, map[string]func(f webhooks){
		"every field comes back, and so do those that are absent": func(f webhooks) {
			owner := f.tenant().ID()
			to, e := f.endpoint(owner), f.event(owner)
			full := deliveryState(to, e)
			f.insert(full)
			for _, want := range []event.DeliveryState{full, f.delivery(to, e).State()} {
				got, err := f.getDelivery(owner, want.ID)
				if err != nil {
					f.Fatal(err)
				}
				f.sameState(want, got.State())
			}
		},
		"an update writes every field, and a stale one is refused": func(f webhooks) {
			owner := f.tenant().ID()
			to, e := f.endpoint(owner), f.event(owner)
			d := f.delivery(to, e)
			want := deliveryState(to, e)
			want.ID, want.Status, want.CreatedAt = d.ID(), event.Failed, d.CreatedAt()
			update := func(d *event.Delivery) error {
				return f.try(func(ctx context.Context, st outbound.WebhookStores) error { return st.Deliveries.Update(ctx, d) })
			}
			changed := event.RestoreDelivery(want)
			if err := update(changed); err != nil || changed.Revision() != 2 {
				f.Fatalf("revision %d: %v", changed.Revision(), err)
			}
			f.wantError(update(d), domain.Conflict, "stale_revision")
			got, err := f.getDelivery(owner, d.ID())
			if err != nil {
				f.Fatal(err)
			}
			want.Revision = 2
			f.sameState(want, got.State())
		},
		"a delivery of another tenant is as if it did not exist": func(f webhooks) {
			owner, other := f.tenant().ID(), f.tenant().ID()
			to := f.endpoint(owner)
			d := f.delivery(to, f.event(owner))
			_, err := f.getDelivery(other, d.ID())
			f.wantError(err, domain.NotFound, "delivery_not_found")
			if errAbsent := errorOf(f.getDelivery(other, "msg_absent")); err.Error() != errAbsent.Error() {
				f.Errorf("%q differs from %q", err, errAbsent)
			}
			stolen := d.State()
			stolen.Tenant = other
			f.wantError(f.try(func(ctx context.Context, st outbound.WebhookStores) error {
				return st.Deliveries.Update(ctx, event.RestoreDelivery(stolen))
			}), domain.NotFound, "delivery_not_found")
			if got := f.deliveries(other, to.ID(), event.DeliveryFilter{}, "", 9, 0); got != " of 0" {
				f.Errorf("the other tenant sees %s", got)
			}
		},
		"a delivery joins nothing of another tenant": func(f webhooks) {
			owner, other := f.tenant().ID(), f.tenant().ID()
			to, e := f.endpoint(owner), f.event(owner)
			for claim, st := range map[string]event.DeliveryState{
				"its endpoint": deliveryState(f.endpoint(other), e), "its event": deliveryState(to, f.event(other)),
			} {
				st.Tenant = owner
				if err := f.try(func(ctx context.Context, stores outbound.WebhookStores) error {
					return stores.Deliveries.Insert(ctx, event.RestoreDelivery(st))
				}); err == nil {
					f.Errorf("%s is foreign", claim)
				}
			}
		},
		"many are added together or not at all": func(f webhooks) {
			owner := f.tenant().ID()
			to, e := f.endpoint(owner), f.event(owner)
			one, two := event.RestoreDelivery(deliveryState(to, e)), event.RestoreDelivery(deliveryState(to, e))
			err := f.try(func(ctx context.Context, st outbound.WebhookStores) error {
				return errors.Join(st.Deliveries.Insert(ctx, one, two), errOnPurpose)
			})
			if !errors.Is(err, errOnPurpose) {
				f.Fatal(err)
			}
			f.wantError(errorOf(f.getDelivery(owner, two.ID())), domain.NotFound, "delivery_not_found")
			f.put(func(ctx context.Context, st outbound.WebhookStores) error {
				return errors.Join(st.Deliveries.Insert(ctx), st.Deliveries.Insert(ctx, one, two))
			})
			if got := f.deliveries(owner, to.ID(), event.DeliveryFilter{}, "", 9, 0); !strings.HasSuffix(got, " of 2") {
				f.Error(got)
			}
		},
		"a list comes in the order asked for, a page at a time, narrowed by its filters": deliveryLists,
	})
}

// deliveries lists the reasons of a page, which name the deliveries, and the total.
func (f webhooks) deliveries(owner tenant.ID, of event.EndpointID, filter event.DeliveryFilter, order string, limit, offset int) (line string) {
	f.Helper()
	err := f.view(func(ctx context.Context, st outbound.WebhookStores) error {
		found, err := st.Deliveries.List(ctx, tenant.All(owner), of, filter, f.query(order, limit, offset))
		var names []string
		for _, d := range found.Items {
			names = append(names, d.Reason())
		}
		line = fmt.Sprintf("%s of %d", strings.Join(names, " "), found.Total)
		return err
	})
	if err != nil {
		f.Error(err)
	}
	return line
}

func deliveryLists(f webhooks) {
	owner := f.tenant().ID()
	to, e, later := f.endpoint(owner), f.event(owner), f.event(owner)
	f.insert(deliveryState(f.endpoint(owner), e))
	for i, name := range []string{"a", "b", "c"} {
		st := deliveryState(to, e)
		st.Reason, st.CreatedAt, st.UpdatedAt = name, noon.Add(time.Duration(i/2)*time.Minute), noon.Add(-time.Duration(i)*time.Minute)
		if name == "b" {
			st.Status, st.NextAttemptAt, st.Type, st.Event = event.Failed, nil, event.RunPaused, later.ID()
		}
		f.insert(st)
	}
	from := noon.Add(time.Minute)
	for claim, c := range map[string]struct {
		filter        event.DeliveryFilter
		order         string
		limit, offset int
		want          string
	}{
		"the newest first, ties by id": {event.DeliveryFilter{}, "", 9, 0, "c b a of 3"},
		"by creation":                  {event.DeliveryFilter{}, "createdAt", 9, 0, "a b c of 3"},
		"the latest change first":      {event.DeliveryFilter{}, "-updatedAt", 9, 0, "a b c of 3"},
		"the last page":                {event.DeliveryFilter{}, "createdAt", 2, 2, "c of 3"},
		"past the end":                 {event.DeliveryFilter{}, "createdAt", 2, 4, " of 3"},
		"a status":                     {event.DeliveryFilter{Status: event.Pending}, "createdAt", 9, 0, "a c of 2"},
		"a type":                       {event.DeliveryFilter{Type: event.RunPaused}, "createdAt", 9, 0, "b of 1"},
		"an event":                     {event.DeliveryFilter{Event: e.ID()}, "createdAt", 9, 0, "a c of 2"},
		"from then on":                 {event.DeliveryFilter{From: &from}, "createdAt", 9, 0, "c of 1"},
		"before":                       {event.DeliveryFilter{To: &from}, "createdAt", 9, 0, "a b of 2"},
		"all at the same time":         {event.DeliveryFilter{Status: event.Failed, Type: event.RunPaused, Event: later.ID(), From: &noon, To: &from}, "", 9, 0, "b of 1"},
		"what one does not permit":     {event.DeliveryFilter{Status: event.Failed, Type: event.RunFailed}, "", 9, 0, " of 0"},
	} {
		if got := f.deliveries(owner, to.ID(), c.filter, c.order, c.limit, c.offset); got != c.want {
			f.Errorf("%s: %q, not %q", claim, got, c.want)
		}
	}
	if got := f.deliveries(owner, "whk_absent", event.DeliveryFilter{}, "", 9, 0); got != " of 0" {
		f.Errorf("an endpoint that does not exist has %s", got)
	}
}
