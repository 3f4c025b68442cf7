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
	"github.com/sluicehq/sluice/domain/tenant"
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
				held, err := st.Queue.Lock(ctx, keysOf(want...))
				if err != nil || len(held) != len(want) {
					f.Fatalf("%d are held: %v", len(held), err)
				}
				for _, s := range want {
					i := slices.IndexFunc(held, func(h outbound.LockedDelivery) bool { return h.Delivery.ID() == s.ID })
					f.sameState(s, held[i].Delivery.State())
					if h := held[i]; h.Endpoint.ID() != s.Endpoint || s.Endpoint == full.ID() && h.Endpoint.URL() != full.URL() {
						f.Errorf("%s comes with %s", s.ID, h.Endpoint.ID())
					}
				}
				same := slices.DeleteFunc(held, func(h outbound.LockedDelivery) bool { return h.Endpoint.ID() != full.ID() })
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
			kept, gone := f.due(to, e, 0), f.due(f.endpoint(owner), e, 0)
			f.insert(kept, gone)
			f.put(func(ctx context.Context, st outbound.WebhookStores) error {
				return st.Endpoints.Delete(ctx, tenant.All(owner), gone.Endpoint)
			})
			stolen := kept
			stolen.Tenant = other
			f.put(func(ctx context.Context, st outbound.WebhookStores) error {
				held, err := st.Queue.Lock(ctx, keysOf(gone, stolen, kept))
				none, errNone := st.Queue.Lock(ctx, nil)
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
			for _, s := range []event.DeliveryState{f.due(to, e, 0), f.due(to, e, 1)} {
				full := deliveryState(to, e)
				f.insert(s)
				full.ID, full.CreatedAt = s.ID, s.CreatedAt
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
			a, b := f.due(to, e, 0), f.due(to, e, 0)
			f.insert(a, b)
			fresh, stale := event.RestoreDelivery(a), event.RestoreDelivery(b)
			f.settle(b)
			fresh.Record(1, noon, event.AttemptResult{Status: 204})
			err := f.try(func(ctx context.Context, st outbound.WebhookStores) error {
				return st.Queue.Record(ctx, []*event.Delivery{fresh, stale}, nil)
			})
			f.wantError(err, domain.Conflict, "stale_revision")
			if got, err := f.getDelivery(owner, a.ID); err != nil || got.Status() != event.Pending || !strings.HasPrefix(string(got.ID()), "msg_") {
				f.Errorf("%+v: %v", got, err)
			}
		},
		"units that hold the same in any order wait for one another, and nothing is lost": lockRace,
	})
}

func lockRace(f webhooks) {
	const units, rounds = 4, 6
	owner := f.tenant().ID()
	e := f.event(owner)
	var all []event.DeliveryState
	for range 3 {
		to := f.endpoint(owner)
		all = append(all, f.due(to, e, 0), f.due(to, e, 0))
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
					held, err := st.Queue.Lock(ctx, keysOf(mine...))
					var deliveries []*event.Delivery
					for _, h := range held {
						h.Delivery.Record(h.Delivery.NextAttempt(), noon, event.AttemptResult{Status: 500})
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
