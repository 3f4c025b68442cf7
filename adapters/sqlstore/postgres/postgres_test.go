package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/migrationtest"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
	"github.com/sluicehq/sluice/adapters/sqlstore/sealtest"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func open(t *testing.T, address string) *sqlstore.Store {
	t.Helper()
	store, err := postgres.Open(t.Context(), address, postgres.Options{MaxConnections: 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

func migrate(address string) (err error) {
	ctx := context.Background()
	store, err := postgres.Open(ctx, address, postgres.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if _, err = store.Migrator().Up(ctx); err != nil {
		return err
	}
	return sealtest.Seal(ctx, store)
}

func migrated(t *testing.T) (*sqlstore.Store, string) {
	t.Helper()
	address := pgtest.Start(t).Migrated(t, migrate)
	store := open(t, address)
	if err := sealtest.Seal(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	return store, address
}

func TestStores(t *testing.T) {
	portstest.Stores(t, func(t *testing.T) outbound.UnitOfWork {
		store, _ := migrated(t)
		return store
	})
}

func TestWebhookStores(t *testing.T) {
	portstest.WebhookStores(t, func(t *testing.T) outbound.UnitOfWork {
		store, _ := migrated(t)
		return store
	})
}

func TestUnreadableWebhooks(t *testing.T) { portstest.UnreadableWebhooks(t, damageable) }

func TestUnreadableJobs(t *testing.T) { portstest.UnreadableJobs(t, damageable) }

func TestUnreadableHistories(t *testing.T) { portstest.UnreadableHistories(t, damageable) }

func damageable(t *testing.T) portstest.DamageableStore {
	store, address := migrated(t)
	return portstest.DamageableStore{UnitOfWork: store, BadTime: `'-infinity'`, Exec: portstest.ExecSQL(t, "postgres", address)}
}

func openLevels(t *testing.T) portstest.LevelStores {
	older, address := migrated(t)
	newer := open(t, address)
	older.Level, newer.Level = 1, 2
	return portstest.LevelStores{Older: older, Newer: newer, Exec: portstest.ExecSQL(t, "postgres", address)}
}

func TestProcesses(t *testing.T) { portstest.ProcessRepository(t, openLevels) }

func TestLevels(t *testing.T) { portstest.Levels(t, openLevels) }

func TestEngines(t *testing.T) {
	portstest.Engines(t, func(t *testing.T) portstest.EngineStores {
		table, address := migrated(t)
		temporal, older := open(t, address), open(t, address)
		temporal.Runs.Begins, temporal.Runs.ServesTemporal = run.EngineTemporal, true
		older.Level = 1
		return portstest.EngineStores{Table: table, Temporal: temporal, Older: older}
	})
}

func TestSeveralProcessesMayMigrateAtOnce(t *testing.T) {
	address := pgtest.Start(t).Database(t)
	migrationtest.Concurrent(t, func() *sqlstore.Store { return open(t, address) })
}

func TestADatabaseFromBeforeTheFirstReleaseIsRefused(t *testing.T) {
	address := pgtest.Start(t).Database(t)
	db, err := sql.Open("postgres", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // nothing is pending
	migrationtest.Unreleased(t, db, open(t, address))
}

func TestALostConnectionIsUnavailableAndTheNextCallWorks(t *testing.T) {
	store, address := migrated(t)
	killer, err := sql.Open("postgres", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = killer.Close() }()
	err = store.Do(t.Context(), func(ctx context.Context, st outbound.Stores) error {
		const everyOther = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`
		if _, err := killer.ExecContext(ctx, everyOther); err != nil {
			return err
		}
		_, err := st.Tenants.Get(ctx, "tenant_absent")
		return err
	})
	var e *domain.Error
	if !errors.Is(err, domain.Unavailable) || !errors.As(err, &e) || e.RetryAfter == 0 {
		t.Errorf("the error is %v", err)
	}
	err = store.View(t.Context(), func(ctx context.Context, st outbound.Stores) error {
		_, err := st.Tenants.Get(ctx, "tenant_absent")
		return err
	})
	if !errors.Is(err, domain.NotFound) {
		t.Errorf("the next call got %v", err)
	}
}

func TestAServerThatCannotBeReachedIsNamedWithoutItsPassword(t *testing.T) {
	for _, address := range []string{
		"postgres://sluice:hunter2@127.0.0.1:1/sluice?sslmode=disable",
		"postgres://sluice:hunter2@[::1/sluice", "postgres://sluice:hunter2@/sluice?host=/nowhere&sslmode=disable",
	} {
		_, err := postgres.Open(t.Context(), address, postgres.Options{})
		if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "PostgreSQL") {
			t.Errorf("the error is %v", err)
		}
	}
}
