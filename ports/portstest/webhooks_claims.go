package portstest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// due makes a delivery that is due some seconds after noon, without storing it.
func due(to *event.Endpoint, e *event.Event, seconds int) event.DeliveryState {
	at := noon.Add(time.Duration(seconds) * time.Second)
	return event.DeliveryState{
		ID: event.DeliveryID(newID("msg")), Tenant: to.Tenant(), Endpoint: to.ID(), Event: e.ID(), Type: e.Type(),
		Status: event.Pending, NextAttemptAt: &at, CreatedAt: noon, UpdatedAt: noon, Revision: 1,
	}
}

// claim lends deliveries for a minute, some seconds after noon.
func (f webhooks) claim(seconds, limit, perEndpoint int, change ...func(*outbound.DeliveryClaim)) (lent []outbound.DueDelivery) {
	f.Helper()
	f.put(func(ctx context.Context, st outbound.WebhookStores) (err error) {
		lent, err = st.Queue.Claim(ctx, claimAt(seconds, limit, perEndpoint, change...))
		return err
	})
	return lent
}

// claimAt is a claim without any bound but those given, unless change says otherwise.
func claimAt(seconds, limit, perEndpoint int, change ...func(*outbound.DeliveryClaim)) outbound.DeliveryClaim {
	now := noon.Add(time.Duration(seconds) * time.Second)
	c := outbound.DeliveryClaim{Now: now, Until: now.Add(time.Minute), Limit: limit, Failing: limit, PerTenant: 1000, PerEndpoint: perEndpoint}
	for _, set := range change {
		set(&c)
	}
	return c
}

// claims checks which deliveries are lent, and in which order.
func (f webhooks) claims(step string, seconds, limit, perEndpoint int, want ...event.DeliveryState) {
	f.Helper()
	var wanted, got []event.DeliveryID
	for _, s := range want {
		wanted = append(wanted, s.ID)
	}
	for _, d := range f.claim(seconds, limit, perEndpoint) {
		got = append(got, d.Delivery.ID())
	}
	f.sameState(wanted, got)
	if f.Failed() {
		f.Fatal(step)
	}
}

// lends claims nine deliveries ten seconds after noon under bounds, and checks which.
func (f webhooks) lends(step string, change func(*outbound.DeliveryClaim), want ...event.DeliveryState) {
	f.Helper()
	var wanted, got []event.DeliveryID
	for _, s := range want {
		wanted = append(wanted, s.ID)
	}
	for _, d := range f.claim(10, 9, 9, change) {
		got = append(got, d.Delivery.ID())
	}
	f.sameState(wanted, got)
	if f.Failed() {
		f.Fatal(step)
	}
}

// next checks when a delivery is due; a negative number of seconds is never.
func (f webhooks) next(step string, seconds int) {
	f.Helper()
	err := f.look(func(ctx context.Context, st outbound.WebhookStores) error {
		at, ok, err := st.Queue.Next(ctx)
		if want := noon.Add(time.Duration(seconds) * time.Second); ok != (seconds >= 0) || ok && !at.Equal(want) {
			f.Errorf("%s: the next is at %s (%v), not %s", step, at, ok, want)
		}
		return err
	})
	if err != nil {
		f.Error(err)
	}
}

// DeliveryClaims is the contract of outbound.DeliveryQueue for lending deliveries one at a time.
func DeliveryClaims(t *testing.T, open OpenStore) {
	webhookCases(t, open, map[string]func(f webhooks){
		"what is lent comes with its endpoint and its event, and its lease is written": func(f webhooks) {
			owner := f.tenant().ID()
			full := event.RestoreEndpoint(endpointState(owner))
			f.put(func(ctx context.Context, st outbound.WebhookStores) error { return st.Endpoints.Insert(ctx, full) })
			e := f.event(owner)
			want := deliveryState(full, e)
			want.NextAttemptAt, want.LeasedUntil = &noon, &noon
			f.insert(want)
			lent := f.claim(1, 9, 9)
			if len(lent) != 1 {
				f.Fatalf("%d were lent", len(lent))
			}
			until := noon.Add(61 * time.Second)
			want.LeasedUntil = &until
			f.sameState(want, lent[0].Delivery.State())
			f.sameState(full.State(), lent[0].Endpoint.State())
			if lent[0].Event.State() != e.State() {
				f.Errorf("%+v is not %+v", lent[0].Event.State(), e.State())
			}
			got, err := f.getDelivery(owner, want.ID)
			if err != nil {
				f.Fatal(err)
			}
			f.sameState(want, got.State())
		},
		"only what is pending, due and not leased is lent, the most overdue first, as many as are asked for": func(f webhooks) {
			owner := f.tenant().ID()
			to, e := f.endpoint(owner), f.event(owner)
			a, b, c, tied := due(to, e, 2), due(to, e, 1), due(to, e, 3), due(to, e, 1)
			failed, delivered := due(to, e, 0), due(to, e, 0)
			failed.Status, failed.NextAttemptAt, delivered.Status, delivered.NextAttemptAt = event.Failed, nil, event.Delivered, nil
			f.insert(a, b, c, tied, failed, delivered)
			f.claims("none is due", 0, 9, 9)
			f.claims("the first two", 2, 2, 9, b, tied)
			f.claims("those are leased", 2, 9, 9, a)
			f.claims("the last", 3, 9, 9, c)
			f.claims("all are leased", 61, 9, 9)
			f.claims("the first leases have ended", 62, 9, 9, b, tied, a)
		},
		"urgent ones come before the backlog of their endpoint and their tenant, within the bounds, and before nobody else's": func(f webhooks) {
			owner, other := f.tenant().ID(), f.tenant().ID()
			to, e, busy := f.endpoint(owner), f.event(owner), f.endpoint(owner)
			theirs := due(f.endpoint(other), f.event(other), 1)
			backlog := []event.DeliveryState{due(to, e, 0), due(to, e, 0), due(to, e, 1)}
			elsewhere := []event.DeliveryState{due(busy, e, 0), due(busy, e, 1)}
			urgent, second, early := due(to, e, 5), due(to, e, 6), due(to, e, 11)
			urgent.Urgent, second.Urgent, second.Manual, early.Urgent = true, true, true, true
			f.insert(append(append(backlog, elsewhere...), theirs, second, urgent, early)...)
			f.claims("one of each endpoint", 10, 9, 1, theirs, urgent, elsewhere[0])
			f.claims("the bound of the endpoint holds", 10, 9, 1)
			f.claims("the next ones", 10, 2, 2, second, elsewhere[1])
			f.claims("the one that was not due", 11, 1, 3, early)
		},
		"deliveries to an endpoint that is not active are lent, too": func(f webhooks) {
			owner := f.tenant().ID()
			to := f.endpoint(owner, func(st *event.EndpointState) { st.Active = false })
			d := due(to, f.event(owner), 0)
			f.insert(d)
			f.claims("due", 0, 9, 9, d)
		},
		"a unit that fails lends nothing": func(f webhooks) {
			owner := f.tenant().ID()
			d := due(f.endpoint(owner), f.event(owner), 0)
			f.insert(d)
			err := f.try(func(ctx context.Context, st outbound.WebhookStores) error {
				lent, err := st.Queue.Claim(ctx, claimAt(0, 9, 9))
				if len(lent) != 1 {
					f.Errorf("%d were lent", len(lent))
				}
				return errors.Join(err, errOnPurpose)
			})
			if !errors.Is(err, errOnPurpose) {
				f.Fatal(err)
			}
			f.claims("after the failure", 0, 9, 9, d)
		},
		"the next is the earliest that is not leased": func(f webhooks) {
			f.next("there is none", -1)
			owner := f.tenant().ID()
			to, e := f.endpoint(owner), f.event(owner)
			a, b, ended := due(to, e, 5), due(to, e, 90), due(to, e, 0)
			ended.Status, ended.NextAttemptAt = event.Failed, nil
			f.insert(a, b, ended)
			f.next("none is leased", 5)
			f.claims("due", 10, 9, 9, a)
			f.next("one is leased for a minute", 70)
			f.settle(a)
			f.next("that one has ended", 90)
			f.settle(b)
			f.next("all have ended", -1)
		},
		"of many units that claim at the same time each gets others, and none more than the bound": claimRace,
	})
}

// settle ends a delivery.
func (f webhooks) settle(s event.DeliveryState) {
	f.Helper()
	f.put(func(ctx context.Context, st outbound.WebhookStores) error {
		d, err := st.Deliveries.Get(ctx, s.Tenant, s.ID)
		if err != nil {
			return err
		}
		d.Record(d.NextAttempt(), noon, event.Outcome{Status: 204})
		return st.Deliveries.Update(ctx, d)
	})
}

func claimRace(f webhooks) {
	const endpoints, each, units, bound = 6, 12, 6, 3
	var owner tenant.ID
	total := 0
	for i := range endpoints {
		if i%2 == 0 {
			owner = f.tenant().ID()
		}
		to, e := f.endpoint(owner), f.event(owner)
		for n := range each {
			f.insert(due(to, e, n))
			total++
		}
	}
	var mu sync.Mutex
	seen, under := make(map[event.DeliveryID]int), make(map[event.EndpointID]int)
	var done sync.WaitGroup
	for range units {
		done.Go(func() {
			for range 40 * total { // at most: a bound can leave nothing to claim for a moment
				mu.Lock()
				all := len(seen) == total
				mu.Unlock()
				if all || f.Failed() {
					return
				}
				lent := f.claim(60, 4, bound)
				mu.Lock()
				for _, d := range lent {
					seen[d.Delivery.ID()]++
					if under[d.Endpoint.ID()]++; under[d.Endpoint.ID()] > bound {
						f.Errorf("%s has %d at the same time", d.Endpoint.ID(), under[d.Endpoint.ID()])
					}
				}
				mu.Unlock()
				for _, d := range lent {
					mu.Lock() // before the store knows, since another unit may claim at once when it does
					under[d.Endpoint.ID()]--
					mu.Unlock()
					f.settle(d.Delivery.State())
				}
			}
		})
	}
	done.Wait()
	for id, n := range seen {
		if n != 1 {
			f.Errorf("%s was lent %d times", id, n)
		}
	}
	if len(seen) != total {
		f.Errorf("%d of %d were lent", len(seen), total)
	}
}
