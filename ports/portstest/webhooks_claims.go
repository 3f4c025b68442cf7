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

// due makes a delivery that is due some seconds after the past, which is an hour ago,
// without storing it.
func (f webhooks) due(to *event.Endpoint, e *event.Event, seconds int) event.DeliveryState {
	at := f.past.Add(time.Duration(seconds) * time.Second)
	return event.DeliveryState{
		ID: event.DeliveryID(newID("msg")), Tenant: to.Tenant(), Endpoint: to.ID(), Event: e.ID(), Type: e.Type(),
		Status: event.Pending, NextAttemptAt: &at, CreatedAt: f.past, UpdatedAt: f.past, Revision: 1,
	}
}

// future is a number of seconds for due.
const future = 3 * 60 * 60

// claim leases deliveries for an hour, without any bound but those given, unless change says
// otherwise.
func (f webhooks) claim(limit, perEndpoint int, change ...func(*outbound.DeliveryClaim)) (due []outbound.DueDelivery) {
	f.Helper()
	f.put(func(ctx context.Context, st outbound.WebhookStores) (err error) {
		due, err = st.Queue.Claim(ctx, newClaim(limit, perEndpoint, change...))
		return err
	})
	return due
}

func newClaim(limit, perEndpoint int, change ...func(*outbound.DeliveryClaim)) outbound.DeliveryClaim {
	c := outbound.DeliveryClaim{Period: time.Hour, Limit: limit, Failing: limit, PerTenant: 1000, PerEndpoint: perEndpoint}
	for _, set := range change {
		set(&c)
	}
	return c
}

// claims checks which deliveries are leased, and in which order.
func (f webhooks) claims(step string, limit, perEndpoint int, want ...event.DeliveryState) {
	f.Helper()
	f.claimed(step, f.claim(limit, perEndpoint), want...)
}

// claimsWith claims nine deliveries under bounds, and checks which.
func (f webhooks) claimsWith(step string, change func(*outbound.DeliveryClaim), want ...event.DeliveryState) {
	f.Helper()
	f.claimed(step, f.claim(9, 9, change), want...)
}

func (f webhooks) claimed(step string, due []outbound.DueDelivery, want ...event.DeliveryState) {
	f.Helper()
	var wanted, got []event.DeliveryID
	for _, s := range want {
		wanted = append(wanted, s.ID)
	}
	for _, d := range due {
		got = append(got, d.Delivery.ID())
	}
	f.sameState(wanted, got)
	if f.Failed() {
		f.Fatal(step)
	}
}

// wait is how long it is until a delivery is free.
func (f webhooks) wait() (wait time.Duration, ok bool, err error) {
	err = f.view(func(ctx context.Context, st outbound.WebhookStores) error {
		wait, ok, err = st.Queue.Next(ctx)
		return err
	})
	return wait, ok, err
}

// next checks when a delivery is free; the zero time is never.
func (f webhooks) next(step string, want time.Time) {
	f.Helper()
	before := f.dbNow()
	wait, ok, err := f.wait()
	after := f.dbNow()
	if err != nil || ok == want.IsZero() || ok && (want.Before(before.Add(wait)) || want.After(after.Add(wait))) {
		f.Errorf("%s: the next is free in %s (%v) after %s, not at %s: %v", step, wait, ok, before, want, err)
	}
}

// DeliveryClaims is the contract of outbound.DeliveryQueue for leasing deliveries one at a
// time.
func DeliveryClaims(t *testing.T, open OpenStore) {
	webhookCases(t, open, map[string]func(f webhooks){
		"what is leased comes with its endpoint and its event, and its lease is written": func(f webhooks) {
			owner := f.tenant().ID()
			full := event.RestoreEndpoint(endpointState(owner))
			f.put(func(ctx context.Context, st outbound.WebhookStores) error { return st.Endpoints.Insert(ctx, full) })
			e := f.event(owner)
			want := deliveryState(full, e)
			want.NextAttemptAt, want.LeasedUntil = &f.past, &f.past
			f.insert(want)
			due := f.claim(9, 9)
			if len(due) != 1 {
				f.Fatalf("%d were leased", len(due))
			}
			until := due[0].At.Add(time.Hour)
			want.LeasedUntil = &until
			f.sameState(want, due[0].Delivery.State())
			f.sameState(full.State(), due[0].Endpoint.State())
			if due[0].Event.State() != e.State() {
				f.Errorf("%+v is not %+v", due[0].Event.State(), e.State())
			}
			got, err := f.getDelivery(owner, want.ID)
			if err != nil {
				f.Fatal(err)
			}
			f.sameState(want, got.State())
		},
		"only what is pending, due and not leased is leased, the most overdue first, as many as are asked for": func(f webhooks) {
			owner := f.tenant().ID()
			to, e := f.endpoint(owner), f.event(owner)
			a, b, c, tied, early := f.due(to, e, 2), f.due(to, e, 1), f.due(to, e, 3), f.due(to, e, 1), f.due(to, e, future)
			failed, delivered := f.due(to, e, 0), f.due(to, e, 0)
			failed.Status, failed.NextAttemptAt, delivered.Status, delivered.NextAttemptAt = event.Failed, nil, event.Delivered, nil
			f.insert(early, failed, delivered)
			f.claims("none is due", 9, 9)
			f.insert(a, b, c, tied)
			f.claims("the first two", 2, 9, b, tied)
			f.claims("those are leased", 1, 9, a)
			f.claims("the last", 9, 9, c)
			f.claims("all are leased", 9, 9)
		},
		"urgent ones come before the backlog of their endpoint and their tenant, within the bounds, and before nobody else's": func(f webhooks) {
			owner, other := f.tenant().ID(), f.tenant().ID()
			to, e, busy := f.endpoint(owner), f.event(owner), f.endpoint(owner)
			theirs := f.due(f.endpoint(other), f.event(other), 1)
			backlog := []event.DeliveryState{f.due(to, e, 0), f.due(to, e, 0), f.due(to, e, 1)}
			elsewhere := []event.DeliveryState{f.due(busy, e, 0), f.due(busy, e, 1)}
			urgent, second, early := f.due(to, e, 5), f.due(to, e, 6), f.due(to, e, future)
			urgent.Urgent, second.Urgent, second.Manual, early.Urgent = true, true, true, true
			f.insert(append(append(backlog, elsewhere...), theirs, second, urgent, early)...)
			f.claims("one of each endpoint", 9, 1, theirs, urgent, elsewhere[0])
			f.claims("the bound of the endpoint holds", 9, 1)
			f.claims("the next ones", 2, 2, second, elsewhere[1])
		},
		"deliveries to an endpoint that is not active are leased, too": func(f webhooks) {
			owner := f.tenant().ID()
			to := f.endpoint(owner, func(st *event.EndpointState) { st.Active = false })
			d := f.due(to, f.event(owner), 0)
			f.insert(d)
			f.claims("due", 9, 9, d)
		},
		"a unit that fails leases nothing": func(f webhooks) {
			owner := f.tenant().ID()
			d := f.due(f.endpoint(owner), f.event(owner), 0)
			f.insert(d)
			err := f.try(func(ctx context.Context, st outbound.WebhookStores) error {
				due, err := st.Queue.Claim(ctx, newClaim(9, 9))
				if len(due) != 1 {
					f.Errorf("%d were leased", len(due))
				}
				return errors.Join(err, errOnPurpose)
			})
			if !errors.Is(err, errOnPurpose) {
				f.Fatal(err)
			}
			f.claims("after the failure", 9, 9, d)
		},
		"the next is the earliest that is not leased": func(f webhooks) {
			f.next("there is none", time.Time{})
			owner := f.tenant().ID()
			to, e := f.endpoint(owner), f.event(owner)
			a, b, ended := f.due(to, e, 5), f.due(to, e, future), f.due(to, e, 0)
			ended.Status, ended.NextAttemptAt = event.Failed, nil
			f.insert(a, b, ended)
			f.next("none is leased", *a.NextAttemptAt)
			due := f.claim(9, 9)
			f.claimed("due", due, a)
			f.next("one is leased", *due[0].Delivery.State().LeasedUntil)
			f.settle(a)
			f.next("that one has ended", *b.NextAttemptAt)
			f.settle(b)
			f.next("all have ended", time.Time{})
		},
		"of many units that claim at the same time each gets others, and none more than the bound": claimRace,
	})
}

// settle ends a delivery.
func (f webhooks) settle(s event.DeliveryState) {
	f.Helper()
	f.put(func(ctx context.Context, st outbound.WebhookStores) error {
		d, err := st.Deliveries.Get(ctx, tenant.All(s.Tenant), s.ID)
		if err != nil {
			return err
		}
		d.Record(d.NextAttempt(), noon, event.AttemptResult{Status: 204})
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
			f.insert(f.due(to, e, n))
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
				due := f.claim(4, bound)
				mu.Lock()
				for _, d := range due {
					seen[d.Delivery.ID()]++
					if under[d.Endpoint.ID()]++; under[d.Endpoint.ID()] > bound {
						f.Errorf("%s has %d at the same time", d.Endpoint.ID(), under[d.Endpoint.ID()])
					}
				}
				mu.Unlock()
				for _, d := range due {
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
			f.Errorf("%s was leased %d times", id, n)
		}
	}
	if len(seen) != total {
		f.Errorf("%d of %d were leased", len(seen), total)
	}
}
