package webhooks_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/postgres"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/adapters/webhook"
	"github.com/sluicehq/sluice/application/webhooks"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func migrate(address string) (err error) {
	store, err := postgres.Open(context.Background(), address, postgres.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	_, err = store.Migrator().Up(context.Background())
	return err
}

// BenchmarkDeliveries brings events to endpoints on PostgreSQL, over HTTP, to a receiver
// that answers at once: from the event to the record of its delivery.
func BenchmarkDeliveries(b *testing.B) {
	for _, endpoints := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("to %d endpoints", endpoints), func(b *testing.B) {
			store, err := postgres.Open(b.Context(), pgtest.Start(b).Migrated(b, migrate), postgres.Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = store.Close() })
			var arrived atomic.Int64
			all := make(chan struct{})
			receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				if arrived.Add(1) == int64(b.N) {
					close(all)
				}
			}))
			defer receiver.Close()
			prepareDeliveries(b, store, receiver.URL, endpoints)
			client := &http.Client{Transport: &http.Transport{MaxIdleConns: 600, MaxIdleConnsPerHost: 600}}
			dispatcher := webhooks.NewDispatcher(store, webhook.New(client, system.Clock{}, "bench"), system.Clock{}, system.Random{})
			ctx, stop := context.WithCancel(b.Context())
			ended := make(chan struct{})
			b.ResetTimer()
			began := time.Now()
			go func() {
				dispatcher.Run(ctx, func(err error) { b.Error(err); stop() })
				close(ended)
			}()
			<-all
			stop()
			<-ended
			b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "deliveries/s")
		})
	}
}

// prepareDeliveries makes events happen that take b.N deliveries, to endpoints of
// tenants that have ten each.
func prepareDeliveries(b *testing.B, store outbound.UnitOfWork, url string, endpoints int) {
	b.Helper()
	random, now := system.Random{}, system.Clock{}.Now()
	err := store.Do(b.Context(), func(ctx context.Context, st outbound.Stores) error {
		var ten *tenant.Tenant
		for i := range endpoints {
			if i%10 == 0 {
				var err error
				if ten, err = tenant.New(tenant.ID(random.ID(tenant.IDPrefix)), tenant.Draft{Name: "Acme"}, now); err != nil {
					return err
				}
				if err := st.Tenants.Insert(ctx, ten); err != nil {
					return err
				}
			}
			// Each subscribes to a segment of its own, so that an event is one delivery.
			segment := tenant.SubTenantID(fmt.Sprint("team-", i))
			to, err := event.NewEndpoint(event.EndpointID(random.ID(event.EndpointIDPrefix)), ten.ID(), event.EndpointDraft{URL: url, SubTenant: segment},
				domain.NewSigningSecret([domain.SecretEntropy]byte{1}), now)
			if err != nil {
				return err
			}
			if err := st.Webhooks.Endpoints.Insert(ctx, to); err != nil {
				return err
			}
			var happened []*event.Event
			for n := i; n < b.N; n += endpoints {
				e := event.Restore(event.State{ID: event.ID(random.ID(event.IDPrefix)), Tenant: ten.ID(), SubTenant: segment, Type: event.RunCompleted, Data: domain.RestoreDocument(`{"runId":"run_1"}`), At: now})
				happened = append(happened, e)
			}
			if err := st.Webhooks.Events.Append(ctx, happened...); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}
