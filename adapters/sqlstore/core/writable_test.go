package core_test

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/adapters/sqlstore/plantest"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite/sqlitetest"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// wantRefusal checks that an error says that the database refuses writes, and when to try
// again.
func wantRefusal(t *testing.T, what string, err error) {
	t.Helper()
	var e *domain.Error
	if !errors.As(err, &e) || e.Kind != domain.Unavailable || e.Code != "database_read_only" || e.RetryAfter <= 0 {
		t.Errorf("%s: %v", what, err)
	}
}

// addTenant writes more than a page, of text that cannot be compressed.
func addTenant(t *testing.T, store *sqlstore.Store, id tenant.ID) error {
	t.Helper()
	var name strings.Builder
	for name.Len() < 16<<10 {
		name.WriteString(rand.Text())
	}
	return store.Do(t.Context(), func(ctx context.Context, st outbound.Stores) error {
		return st.Tenants.Insert(ctx, tenant.Restore(tenant.State{ID: id, Name: name.String(), Status: tenant.Active, Revision: 1}))
	})
}

// wantRefusalsWhile checks what a store says of a database that refuses writes from some
// time on until it takes them again.
func wantRefusalsWhile(t *testing.T, store *sqlstore.Store, refuse, permit func()) {
	t.Helper()
	if err := store.Writable(t.Context()); err != nil {
		t.Fatalf("at first: %v", err)
	}
	refuse()
	if err := store.Writable(t.Context()); err != nil {
		t.Errorf("before anybody has written: %v", err)
	}
	core.AgeWriteCheck(store.Store)
	wantRefusal(t, "the test write", store.Writable(t.Context()))
	wantRefusal(t, "a unit of work", addTenant(t, store, "tenant_1"))
	if err := store.Ping(t.Context()); err != nil {
		t.Errorf("the database answers: %v", err)
	}
	if err := store.Read(t.Context(), func(ctx context.Context, st outbound.Stores) error {
		_, err := st.Tenants.Get(ctx, "tenant_1")
		return err
	}); !errors.Is(err, domain.NotFound) {
		t.Errorf("a read: %v", err)
	}
	permit()
	wantRefusal(t, "right after that", store.Writable(t.Context()))
	core.AgeWriteCheck(store.Store)
	if err := store.Writable(t.Context()); err != nil {
		t.Errorf("in the end: %v", err)
	}
	if err := addTenant(t, store, "tenant_1"); err != nil {
		t.Error(err)
	}

	refuse()
	wantRefusal(t, "a unit of work", addTenant(t, store, "tenant_2"))
	wantRefusal(t, "what the unit has met, without a test write", store.Writable(t.Context()))
	permit()
}

func pragma(t *testing.T, store *sqlstore.Store, statement string) {
	t.Helper()
	if _, err := core.WriterOf(store.Store).ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

func TestAFullDiskIsNoticedAndSoIsRoomOnIt(t *testing.T) {
	t.Parallel()
	store := sqlitetest.Open(t)
	wantRefusalsWhile(t, store,
		func() { pragma(t, store, "VACUUM"); pragma(t, store, "PRAGMA max_page_count = 1") }, // which is as many as there are
		func() { pragma(t, store, "PRAGMA max_page_count = 1000000") })
}

func TestAReadOnlyFileIsNoticed(t *testing.T) {
	t.Parallel()
	store := sqlitetest.Open(t)
	wantRefusalsWhile(t, store,
		func() { pragma(t, store, "PRAGMA query_only = 1") }, func() { pragma(t, store, "PRAGMA query_only = 0") })
}

// A standby refuses everything that writes, until it is promoted.
func TestAStandbyIsNoticed(t *testing.T) {
	t.Parallel()
	instance, err := pgtest.Launch(t.Context(), pgtest.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(instance.Stop)
	if err := plantest.Migrate(instance.URL); err != nil {
		t.Fatal(err)
	}
	store, err := postgres.Open(t.Context(), instance.URL, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	db := core.WriterOf(store.Store)
	ask := func(statement string) (answer string) {
		t.Helper()
		if err := db.GetContext(t.Context(), &answer, statement); err != nil {
			t.Fatal(err)
		}
		return answer
	}
	data := ask("SHOW data_directory")
	wantRefusalsWhile(t, store, func() {
		if err := os.WriteFile(filepath.Join(data, "standby.signal"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := instance.Restart(t.Context(), pgtest.Fast, 0); err != nil {
			t.Fatal(err)
		}
		for range 20 { // the pool gives up its dead connections
			if store.Ping(t.Context()) == nil {
				return
			}
		}
		t.Fatal("it cannot be reached any more")
	}, func() { ask("SELECT pg_promote()") })
}

func TestADatabaseThatIsReadOnlyByDefaultIsNoticed(t *testing.T) {
	t.Parallel()
	address := pgtest.Start(t).Migrated(t, plantest.Migrate)
	store, err := postgres.Open(t.Context(), address+"&default_transaction_read_only=on", postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	wantRefusal(t, "the test write", store.Writable(t.Context()))
}

// That a transaction which only reads refuses writes says nothing about the database.
func TestAWriteInAUnitThatReadsIsADefect(t *testing.T) {
	t.Parallel()
	onPostgres, _ := plantest.Filled(t, nil)
	for name, store := range map[string]*sqlstore.Store{"SQLite": sqlitetest.Open(t), "PostgreSQL": onPostgres} {
		err := store.View(t.Context(), func(ctx context.Context, st outbound.Stores) error {
			return st.Tenants.Insert(ctx, tenant.Restore(tenant.State{ID: "tenant_1", Name: "Acme", Status: tenant.Active, Revision: 1}))
		})
		if err == nil || domain.KindOf(err) != domain.Internal {
			t.Errorf("%s: %v", name, err)
		}
		if err := store.Writable(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Who asks is not held up by a database that is busy, and is not told that it refuses.
func TestABusyDatabaseRefusesNothing(t *testing.T) {
	t.Parallel()
	store := sqlitetest.Open(t)
	err := store.Do(t.Context(), func(ctx context.Context, _ outbound.Stores) error {
		ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		return errors.Join(store.Writable(ctx), ctx.Err())
	})
	if err != nil {
		t.Error(err)
	}
}

// A test write leaves nothing behind.
func TestATestWriteIsUndone(t *testing.T) {
	t.Parallel()
	onPostgres, _ := plantest.Filled(t, nil)
	for name, store := range map[string]*sqlstore.Store{"SQLite": sqlitetest.Open(t), "PostgreSQL": onPostgres} {
		if err := store.Writable(t.Context()); err != nil {
			t.Error(err)
		}
		var rows int
		if err := core.WriterOf(store.Store).GetContext(t.Context(), &rows, `SELECT count(*) FROM operator_outcomes`); err != nil || rows != 0 {
			t.Errorf("%s: %d rows are left: %v", name, rows, err)
		}
	}
}
