package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/migrationtest"
	"github.com/sluicehq/sluice/adapters/sqlstore/sealtest"
	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite"
	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite/sqlitetest"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

func open(t *testing.T) *sqlstore.Store {
	t.Helper()
	store := openFile(t, sqlitetest.File(t))
	if err := sealtest.Seal(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	return store
}

// openFile opens the database in a file, as each of several processes may.
func openFile(t *testing.T, file string) *sqlstore.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), file, sqlite.Options{Volatile: true})
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

// openSealed opens a database that is up to date, and encrypts secrets.
func openSealed(t *testing.T, file string) *sqlstore.Store {
	t.Helper()
	store := openFile(t, file)
	if err := sealtest.Seal(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	return store
}

func TestSeveralProcessesMayMigrateAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sluice.db")
	migrationtest.Concurrent(t, func() *sqlstore.Store { return openFile(t, file) })
}

func TestADatabaseFromBeforeTheFirstReleaseIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sluice.db")
	store := openFile(t, file)
	db, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // nothing is pending
	migrationtest.Unreleased(t, db, store)
}

func TestStores(t *testing.T) {
	portstest.Stores(t, func(t *testing.T) outbound.UnitOfWork { return open(t) })
}

func TestWebhookStores(t *testing.T) {
	portstest.WebhookStores(t, func(t *testing.T) outbound.UnitOfWork { return open(t) })
}

func openLevels(t *testing.T) portstest.LevelStores {
	file := sqlitetest.File(t)
	older, newer := openFile(t, file), openFile(t, file)
	older.Level, newer.Level = 1, 2
	return portstest.LevelStores{Older: older, Newer: newer, Exec: execSQL(t, file)}
}

func execSQL(t *testing.T, file string) func(statement string) error {
	t.Helper()
	return portstest.ExecSQL(t, "sqlite", file+"?_pragma=busy_timeout(10000)")
}

func TestProcesses(t *testing.T) { portstest.ProcessRepository(t, openLevels) }

func TestLevels(t *testing.T) { portstest.Levels(t, openLevels) }

func TestEngines(t *testing.T) {
	portstest.Engines(t, func(t *testing.T) portstest.EngineStores {
		file := sqlitetest.File(t)
		table, temporal, older := openFile(t, file), openFile(t, file), openFile(t, file)
		temporal.Runs.Begins, temporal.Runs.ServesTemporal = run.EngineTemporal, true
		older.Level = 1
		return portstest.EngineStores{Table: table, Temporal: temporal, Older: older}
	})
}

func TestUnreadableWebhooks(t *testing.T) { portstest.UnreadableWebhooks(t, damageable) }

func TestUnreadableJobs(t *testing.T) { portstest.UnreadableJobs(t, damageable) }

func TestUnreadableHistories(t *testing.T) { portstest.UnreadableHistories(t, damageable) }

func damageable(t *testing.T) portstest.DamageableStore {
	file := sqlitetest.File(t)
	return portstest.DamageableStore{UnitOfWork: openFile(t, file), BadTime: `'0000'`, Exec: execSQL(t, file)}
}
