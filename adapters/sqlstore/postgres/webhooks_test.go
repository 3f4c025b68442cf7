package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// A unit that claims does not see the leases of one that has not ended yet, so it waits for
// it: else it would lease what became due meanwhile on top of them.
func TestTheBoundOfAnEndpointHoldsAgainstAClaimThatHasNotEnded(t *testing.T) {
	store, address := migrated(t)
	endpoints := make(map[event.EndpointID]*event.Endpoint)
	happened := event.Restore(event.State{ID: "evt_1", Tenant: owner, Type: event.RunFailed, At: noon})
	due := func(ctx context.Context, st outbound.Stores, id event.DeliveryID, to event.EndpointID, at time.Time) error {
		return st.Webhooks.Deliveries.Insert(ctx, event.NewDelivery(id, endpoints[to], happened, at))
	}
	err := store.Do(t.Context(), func(ctx context.Context, st outbound.Stores) error {
		ten, err := tenant.New(owner, tenant.Draft{Name: "Acme"}, noon)
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
		leased, err := st.Webhooks.Queue.Claim(ctx, outbound.DeliveryClaim{Period: time.Minute, Limit: 9, PerTenant: 9, PerEndpoint: 1})
		for _, d := range leased {
			ids = append(ids, d.Delivery.ID())
		}
		return ids, err
	}
	var second []event.DeliveryID
	var errSecond error
	ended := make(chan struct{})
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
		go func() {
			defer close(ended)
			errSecond = store.Do(t.Context(), func(ctx context.Context, st outbound.Stores) (err error) {
				second, err = claim(ctx, st)
				return err
			})
		}()
		return waitsForALock(t, address, ended)
	})
	<-ended
	if err := errors.Join(err, errSecond); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]event.DeliveryID{"msg_3"}, second); diff != "" {
		t.Errorf("claimed meanwhile: %s", diff)
	}
}

// waitsForALock returns when some unit waits for a lock of the gateway's own, or with an
// error when the unit has ended instead.
func waitsForALock(t *testing.T, address string, ended <-chan struct{}) error {
	t.Helper()
	db, err := sql.Open("postgres", address)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	for {
		select {
		case <-ended:
			return errors.New("the second unit did not wait for the first")
		default:
		}
		var waiting int
		err := db.QueryRowContext(t.Context(), `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`).Scan(&waiting)
		if err != nil || waiting > 0 {
			return err
		}
	}
}
