package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// A unit that claims does not see the leases of one that has not ended yet, hence leaves
// the endpoint alone: else it would lend what became due meanwhile on top of them.
func TestTheBoundOfAnEndpointHoldsAgainstAClaimThatHasNotEnded(t *testing.T) {
	store, _ := migrated(t)
	endpoints := make(map[event.EndpointID]*event.Endpoint)
	happened, err := event.New("evt_1", owner, "", event.RunFailed, domain.Document{}, noon)
	if err != nil {
		t.Fatal(err)
	}
	due := func(ctx context.Context, st outbound.Stores, id event.DeliveryID, to event.EndpointID, at time.Time) error {
		return st.Webhooks.Deliveries.Insert(ctx, event.NewDelivery(id, endpoints[to], happened, at))
	}
	err = store.Do(t.Context(), func(ctx context.Context, st outbound.Stores) error {
		ten, err := tenant.New(owner, "Acme", tenant.English, noon)
		err = errors.Join(err, st.Tenants.Insert(ctx, ten), st.Webhooks.Events.Append(ctx, happened))
		for _, id := range []event.EndpointID{"whk_1", "whk_2"} {
			endpoints[id] = event.RestoreEndpoint(event.EndpointState{
				ID: id, Tenant: owner, URL: "https://example.com/", Active: true, Secret: domain.NewSigningSecret([domain.SecretEntropy]byte{1}), Revision: 1,
			})
			err = errors.Join(err, st.Webhooks.Endpoints.Insert(ctx, endpoints[id]))
		}
		return errors.Join(err, due(ctx, st, "msg_1", "whk_1", noon))
	})
	if err != nil {
		t.Fatal(err)
	}
	claim := func(ctx context.Context, st outbound.Stores) (ids []event.DeliveryID, err error) {
		lent, err := st.Webhooks.Deliveries.Claim(ctx, outbound.DeliveryClaim{
			Now: noon.Add(time.Second), Until: noon.Add(time.Minute), Limit: 9, PerEndpoint: 1,
		})
		for _, d := range lent {
			ids = append(ids, d.Delivery.ID())
		}
		return ids, err
	}
	err = within(t, store, func(ctx context.Context, st outbound.Stores) error {
		first, err := claim(ctx, st)
		if diff := cmp.Diff([]event.DeliveryID{"msg_1"}, first); err != nil || diff != "" {
			t.Errorf("%v: %s", err, diff)
		}
		err = within(t, store, func(ctx context.Context, st outbound.Stores) error {
			return errors.Join(due(ctx, st, "msg_2", "whk_1", noon.Add(-time.Minute)), due(ctx, st, "msg_3", "whk_2", noon))
		})
		if err != nil {
			return err
		}
		return within(t, store, func(ctx context.Context, st outbound.Stores) error {
			second, err := claim(ctx, st)
			if diff := cmp.Diff([]event.DeliveryID{"msg_3"}, second); diff != "" {
				t.Errorf("claimed meanwhile: %s", diff)
			}
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}
