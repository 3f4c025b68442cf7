package postgres

import (
	"io/fs"
	"testing"

	"github.com/jmoiron/sqlx"
	"github.com/pressly/goose/v3"

	"github.com/sluicehq/sluice/adapters/sqlstore/migrationtest"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
)

func TestMigrationsGoBackAndForth(t *testing.T) {
	db, provider := migrating(t, pgtest.Start(t).Database(t))
	migrationtest.UpDownUp(t, db, provider, `SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
		UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace
		UNION ALL SELECT tgname FROM pg_trigger WHERE NOT tgisinternal`)
}

func TestUsageIsCountedOnceThePreviousVersionHasEnded(t *testing.T) {
	db, provider := migrating(t, pgtest.Start(t).Database(t))
	migrationtest.CountsLater(t, db, provider)
}

func TestEntriesOfTheAuditLogWaitOnAfterAMigration(t *testing.T) {
	db, provider := migrating(t, pgtest.Start(t).Database(t))
	migrationtest.KeepsWaiting(t, db, provider)
}

// migrating opens a database, and what migrates it.
func migrating(t *testing.T, address string) (*sqlx.DB, *goose.Provider) {
	t.Helper()
	db, err := sqlx.Open("postgres", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // nothing is pending
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		t.Fatal(err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db.DB, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		t.Fatal(err)
	}
	return db, provider
}
