package postgres

import (
	"io/fs"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jmoiron/sqlx"
	"github.com/pressly/goose/v3"

	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
)

// A trigger from before schedules were kept counts its interval from its creation, and
// fires from the migration on: nothing that was due before it is caught up.
func TestSchedulesFromBeforeTheyWereKeptBeginWithTheMigration(t *testing.T) {
	db, err := sqlx.Open("postgres", pgtest.Start(t).Database(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }() // nothing is pending
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		t.Fatal(err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db.DB, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		t.Fatal(err)
	}
	const before, kept = 7, 8
	if _, err := provider.UpTo(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	created := time.Date(2026, 1, 31, 9, 0, 0, 250_000_000, time.UTC)
	for _, statement := range []string{
		`INSERT INTO tenants (id, name, status, settings, created_at, updated_at, revision) VALUES ('t', 'Acme', 'active', '{}', $1, $1, 1)`,
		`INSERT INTO workflows (tenant_id, id, sub_tenant_id, name, search_text, is_active, created_at, updated_at, revision) VALUES ('t', 'w', '', 'Orders', '', true, $1, $1, 1)`,
		`INSERT INTO workflow_versions (tenant_id, id, workflow_id, sub_tenant_id, number, graph, is_active, published_at, created_at, revision) VALUES ('t', 'v', 'w', '', 1, '{}', true, $1, $1, 1)`,
		`INSERT INTO triggers (tenant_id, id, sub_tenant_id, workflow_version_id, name, search_text, type, config, is_active, created_at, updated_at, revision)
			VALUES ('t', 'scheduled', '', 'v', '', '', 'schedule', '{}', true, $1, $1, 1), ('t', 'inactive', '', 'v', '', '', 'schedule', '{}', false, $1, $1, 1),
				('t', 'webhook', '', 'v', '', '', 'webhook', '{}', true, $1, $1, 1)`,
	} {
		if _, err := db.ExecContext(t.Context(), statement, created); err != nil {
			t.Fatal(err)
		}
	}
	begun := time.Now().UTC().Truncate(time.Millisecond)
	for range 2 { // the second time after going back
		if _, err := provider.UpTo(t.Context(), kept); err != nil {
			t.Fatal(err)
		}
		var activated []time.Time
		if err := db.SelectContext(t.Context(), &activated, `SELECT activated_at FROM triggers`); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]time.Time{created, created, created}, activated, cmpopts.EquateApproxTime(0)); diff != "" {
			t.Error(diff)
		}
		var held []struct {
			Trigger   string    `db:"trigger_id"`
			DealtWith time.Time `db:"dealt_with"`
			Next      time.Time `db:"next_at"`
		}
		if err := db.SelectContext(t.Context(), &held, `SELECT trigger_id, dealt_with, next_at FROM trigger_schedules`); err != nil {
			t.Fatal(err)
		}
		if len(held) != 1 || held[0].Trigger != "scheduled" || held[0].DealtWith.Before(begun) || !held[0].Next.Equal(held[0].DealtWith) || held[0].Next.After(time.Now()) {
			t.Errorf("held are %v", held)
		}
		if _, err := provider.DownTo(t.Context(), before); err != nil {
			t.Fatal(err)
		}
	}
}
