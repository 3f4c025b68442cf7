package postgres_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/application/batch"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

// BenchmarkTriggerInserter adds triggers from 64 goroutines at once: one unit of work
// each, and together.
func BenchmarkTriggerInserter(b *testing.B) {
	address := pgtest.Start(b).Migrated(b, migrate)
	store, err := postgres.Open(b.Context(), address, postgres.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Close() })
	random, now := system.Random{}, time.Now().UTC().Truncate(time.Millisecond)
	version := benchVersion(b, store, random, now)
	newTrigger := func() *trigger.Trigger {
		draft := trigger.Draft{Version: version.ID(), Name: "Orders", Type: trigger.Webhook, Config: benchConfig()}
		trg, err := trigger.New(trigger.ID(random.ID(trigger.IDPrefix)), version.Tenant(), trigger.References{VersionExists: true}, draft, now)
		if err != nil {
			b.Fatal(err)
		}
		return trg
	}
	inserter := sqlstore.NewTriggerInserter(store)
	b.Run("a unit each", func(b *testing.B) {
		b.SetParallelism(32)
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				trg := newTrigger()
				err := store.Do(b.Context(), func(ctx context.Context, st outbound.Stores) error { return st.Triggers.Insert(ctx, trg) })
				if err != nil {
					b.Error(err)
				}
			}
		})
	})
	b.Run("together", func(b *testing.B) {
		together := batch.New(batch.Limits{Members: 128, Running: inserter.Parallel(), MinWhenBusy: 64}, nil, inserter.Insert)
		b.SetParallelism(32)
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				e := &outbound.NewTrigger{Trigger: newTrigger()}
				if err := together.Do(b.Context(), e); err != nil || !e.Added {
					b.Errorf("added %v, %v", e.Added, err)
				}
			}
		})
	})
}

func BenchmarkMetadata(b *testing.B) {
	address := pgtest.Start(b).Migrated(b, migrate)
	store, err := postgres.Open(b.Context(), address, postgres.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Close() })
	db := connection(b, address)
	portstest.MetadataBenchmarks(b, store, func() {
		if _, err := db.ExecContext(b.Context(), `VACUUM ANALYZE workflows`); err != nil {
			b.Fatal(err)
		}
	})
}

func benchConfig() *domain.Document {
	d := domain.RestoreDocument(`{"webhookConfig":{"event":"order.created"},"rateLimit":{"maxRequests":100,"windowMs":60000}}`)
	return &d
}

func benchVersion(b *testing.B, store *sqlstore.Store, random system.Random, now time.Time) *workflow.Version {
	b.Helper()
	ten, err := tenant.New(tenant.ID(random.ID(tenant.IDPrefix)), tenant.Draft{Name: "Acme"}, now)
	if err != nil {
		b.Fatal(err)
	}
	wf, err := workflow.New(workflow.ID(random.ID(workflow.IDPrefix)), ten.ID(), "", workflow.Draft{Name: "Orders"}, now)
	if err != nil {
		b.Fatal(err)
	}
	edges := 0
	ver, err := workflow.NewVersion(workflow.VersionID(random.ID(workflow.VersionIDPrefix)), wf, 1, workflow.VersionDraft{}, func() workflow.EdgeID {
		edges++
		return workflow.EdgeID(fmt.Sprint("edge_", edges))
	}, now)
	if err != nil {
		b.Fatal(err)
	}
	err = store.Do(b.Context(), func(ctx context.Context, st outbound.Stores) error {
		if err := st.Tenants.Insert(ctx, ten); err != nil {
			return err
		}
		if err := st.Workflows.Insert(ctx, wf); err != nil {
			return err
		}
		return st.Versions.Insert(ctx, ver)
	})
	if err != nil {
		b.Fatal(err)
	}
	return ver
}
