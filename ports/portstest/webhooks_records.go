package portstest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/ports/outbound"
)

// keysOf names deliveries.
func keysOf(all ...event.DeliveryState) (keys []outbound.DeliveryKey) {
	for _, s := range all {
		keys = append(keys, outbound.DeliveryKey{Tenant: s.Tenant, Endpoint: s.Endpoint, Delivery: s.ID})
	}
	return keys
}

// DeliveryRecords is the contract of outbound.DeliveryQueue for what became of
// deliveries.
func DeliveryRecords(t *testing.T, open OpenStore) {
	webhookCases(t, open, map[string]func(f webhooks){
		"what is held comes as it is now, with its endpoint": func(f webhooks) {
			owner, other := f.tenant().ID(), f.tenant().ID()
			full := event.RestoreEndpoint(endpointState(owner))
			f.put(func(ctx context.Context, st outbound.WebhookStores) error { return st.Endpoints.Insert(ctx, full) })
			e, foreign := f.event(owner), f.endpoint(other)
			want := []event.DeliveryState{deliveryState(full, e), deliveryState(full, e), deliveryState(foreign, f.event(other))}
			f.insert(want...)
			f.put(func(ctx context.Context, st outbound.WebhookStores) error {
				held, err := st.Queue.Hold(ctx, keysOf(want...))
				if err != nil || len(held) != len(want) {
					f.Fatalf("%d are held: %v", len(held), err)
				}
				for _, s := range want {
					i := slices.IndexFunc(held, func(h outbound.HeldDelivery) bool { return h.Delivery.ID() == s.ID })
					f.sameState(s, held[i].Delivery.State())
					if h := held[i]; h.Endpoint.ID() != s.Endpoint || s.Endpoint == full.ID() && h.Endpoint.URL() != full.URL() {
						f.Errorf("%s comes with %s", s.ID, h.Endpoint.ID())
					}
				}
				same := slices.DeleteFunc(held, func(h outbound.HeldDelivery) bool { return h.Endpoint.ID() != full.ID() })
				if len(same) != 2 || same[0].Endpoint != same[1].Endpoint {
					f.Error("deliveries to one endpoint come with different ones")
				}
				f.sameState(full.State(), same[0].Endpoint.State())
				return nil
			})
		},
		"what is gone, another tenant's or to another endpoint is not held": func(f webhooks) {
			owner, other := f.tenant().ID(), f.tenant().ID()
			to, e := f.endpoint(owner), f.event(owner)
			kept, gone := due(to, e, 0), due(f.endpoint(owner), e, 0)
			f.insert(kept, gone)
			f.put(func(ctx context.Context, st outbound.WebhookStores) error {
				return st.Endpoints.Delete(ctx, owner, gone.Endpoint)
			})
			stolen := kept
			stolen.Tenant = other
			f.put(func(ctx context.Context, st outbound.WebhookStores) error {
				held, err := st.Queue.Hold(ctx, keysOf(gone, stolen, kept))
				none, errNone := st.Queue.Hold(ctx, nil)
				if len(held) != 1 || held[0].Delivery.ID() != kept.ID || len(none) != 0 {
					f.Errorf("%d and %d are held", len(held), len(none))
				}
				return errors.Join(err, errNone, st.Queue.Record(ctx, nil, nil))
			})
		},
		"every field is recorded, and the revisions rise": func(f webhooks) {
			owner := f.tenant().ID()
			to, e := f.endpoint(owner), f.event(owner)
			var want []event.DeliveryState
			for _, s := range []event.DeliveryState{due(to, e, 0), due(to, e, 1)} {
				full := deliveryState(to, e)
				f.insert(s)
				full.ID = s.ID
				want = append(want, full)
			}
			want[1].Status, want[1].NextAttemptAt, want[1].Manual, want[1].LeasedUntil, want[1].DeliveredAt = event.Failed, nil, false, nil, nil
			changed := endpointState(owner)
			changed.ID, changed.CreatedAt = to.ID(), to.CreatedAt()
			deliveries := []*event.Delivery{event.RestoreDelivery(want[0]), event.RestoreDelivery(want[1])}
			endpoint := event.RestoreEndpoint(changed)
			f.put(func(ctx context.Context, st outbound.WebhookStores) error {
				return st.Queue.Record(ctx, deliveries, []*event.Endpoint{endpoint})
			})
			for i, s := range want {
				s.Revision = 2
				got, err := f.getDelivery(owner, s.ID)
				if err != nil || deliveries[i].Revision() != 2 {
					f.Fatalf("revision %d: %v", deliveries[i].Revision(), err)
				}
				f.sameState(s, got.State())
			}
			got, err := f.getEndpoint(owner, to.ID())
			if err != nil || endpoint.Revision() != 2 {
				f.Fatalf("revision %d: %v", endpoint.Revision(), err)
			}
			changed.Revision = 2
			f.sameState(changed, got.State())
		},
		"of several records all take effect or none": func(f webhooks) {
			owner := f.tenant().ID()
			to, e := f.endpoint(owner), f.event(owner)
			a, b := due(to, e, 0), due(to, e, 0)
			f.insert(a, b)
			fresh, stale := event.RestoreDelivery(a), event.RestoreDelivery(b)
			f.settle(b)
			fresh.Record(1, noon, event.Outcome{Status: 204})
			err := f.try(func(ctx context.Context, st outbound.WebhookStores) error {
				return st.Queue.Record(ctx, []*event.Delivery{fresh, stale}, nil)
			})
			f.wantError(err, domain.Conflict, "stale_revision")
			if got, err := f.getDelivery(owner, a.ID); err != nil || got.Status() != event.Pending || !strings.HasPrefix(string(got.ID()), "msg_") {
				f.Errorf("%+v: %v", got, err)
			}
		},
		"what could not be recorded is given back, and due again at the time": func(f webhooks) {
			owner, other := f.tenant().ID(), f.tenant().ID()
			to, e := f.endpoint(owner), f.event(owner)
			back, made, kept := due(to, e, 0), due(to, e, 0), due(to, e, 0)
			made.Attempted = 1
			f.insert(back, made, kept)
			f.claims("all are due", 10, 9, 9, back, made, kept)
			until := noon.Add(20 * time.Second)
			stolen := keysOf(kept)[0]
			stolen.Tenant = other
			f.put(func(ctx context.Context, st outbound.WebhookStores) error {
				return errors.Join(st.Queue.PutOff(ctx, keysOf(back)[0], 1, until), st.Queue.PutOff(ctx, keysOf(made)[0], 1, until), st.Queue.PutOff(ctx, stolen, 1, until))
			})
			f.next("its lease has ended", 20)
			f.claims("the others are leased", 20, 9, 9, back)
			f.settle(back)
			f.put(func(ctx context.Context, st outbound.WebhookStores) error {
				return st.Queue.PutOff(ctx, keysOf(back)[0], 2, until)
			})
			f.claims("what has ended stays", 30, 9, 9)
		},
		"units that hold the same in any order wait for one another, and nothing is lost": holdRace,
	})
}

func holdRace(f webhooks) {
	const units, rounds = 4, 6
	owner := f.tenant().ID()
	e := f.event(owner)
	var all []event.DeliveryState
	for range 3 {
		to := f.endpoint(owner)
		all = append(all, due(to, e, 0), due(to, e, 0))
	}
	f.insert(all...)
	var done sync.WaitGroup
	for unit := range units {
		done.Go(func() {
			mine := slices.Clone(all)
			if unit%2 == 1 {
				slices.Reverse(mine)
			}
			for range rounds {
				f.put(func(ctx context.Context, st outbound.WebhookStores) error {
					held, err := st.Queue.Hold(ctx, keysOf(mine...))
					var deliveries []*event.Delivery
					for _, h := range held {
						h.Delivery.Record(h.Delivery.NextAttempt(), noon, event.Outcome{Status: 500})
						h.Delivery.Redeliver(true, noon.Add(time.Second)) // which makes it pending again
						deliveries = append(deliveries, h.Delivery)
					}
					return errors.Join(err, st.Queue.Record(ctx, deliveries, nil))
				})
			}
		})
	}
	done.Wait()
	for _, s := range all {
		if got, err := f.getDelivery(owner, s.ID); err != nil || got.Attempted() != units*rounds || got.Revision() != units*rounds+1 {
			f.Errorf("%d attempts in revision %d: %v", got.Attempted(), got.Revision(), err)
		}
	}
}
