package sqlite

import (
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/jmoiron/sqlx"
	"github.com/pressly/goose/v3"

	"github.com/sluicehq/sluice/adapters/sqlstore/migrationtest"
)

func TestMigrationsGoBackAndForth(t *testing.T) {
	db, provider := migrating(t)
	migrationtest.UpDownUp(t, db, provider, `SELECT name FROM sqlite_schema`)
}

func TestUsageIsCountedOnceThePreviousVersionHasEnded(t *testing.T) {
	db, provider := migrating(t)
	migrationtest.CountsLater(t, db, provider)
}

func TestEntriesOfTheAuditLogWaitOnAfterAMigration(t *testing.T) {
	db, provider := migrating(t)
	migrationtest.KeepsWaiting(t, db, provider)
}

// migrating opens a database, and what migrates it.
func migrating(t *testing.T) (*sqlx.DB, *goose.Provider) {
	t.Helper()
	db, err := connect(t.Context(), filepath.Join(t.TempDir(), "sluice.db"), Options{Volatile: true}, 1, "_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // nothing is pending
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		t.Fatal(err)
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db.DB, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		t.Fatal(err)
	}
	return db, provider
}
