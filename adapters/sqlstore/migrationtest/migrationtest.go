// Package migrationtest holds the migrations of every database to the same claims.
package migrationtest

import (
	"database/sql"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jmoiron/sqlx"
	"github.com/pressly/goose/v3"

	"github.com/sluicehq/sluice/adapters/sqlstore"
)

// UpDownUp checks that going back leaves nothing, and that the schema is the same after
// that. objects selects the name of everything in the schema of the new database.
func UpDownUp(t *testing.T, db *sqlx.DB, provider *goose.Provider, objects string) {
	read := func() (names []string) {
		t.Helper()
		if err := db.SelectContext(t.Context(), &names, objects); err != nil {
			t.Fatal(err)
		}
		slices.Sort(names)
		return names
	}
	up := func() []string {
		t.Helper()
		if _, err := provider.Up(t.Context()); err != nil {
			t.Fatal(err)
		}
		return read()
	}
	if _, err := provider.GetDBVersion(t.Context()); err != nil { // makes the table of versions
		t.Fatal(err)
	}
	empty, whole := read(), up()
	if len(whole) < 100 {
		t.Errorf("there are only %v", whole)
	}
	if _, err := provider.DownTo(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(empty, read()); diff != "" {
		t.Errorf("going back leaves %s", diff)
	}
	if diff := cmp.Diff(whole, up()); diff != "" {
		t.Error(diff)
	}
}

// CountsLater checks that counting is not said to begin before gateways of the release before, which do not count, have had a whole day to end.
func CountsLater(t *testing.T, db *sqlx.DB, provider *goose.Provider) {
	if _, err := provider.UpTo(t.Context(), 56); err != nil {
		t.Fatal(err)
	}
	_, err := db.ExecContext(t.Context(), `INSERT INTO tenants (id, name, status, settings, created_at, updated_at, revision) VALUES ('tenant_1', 'Acme', 'active', '{}', '2026-01-01 00:00:00+00:00', '2026-01-01 00:00:00+00:00', 1)`)
	if err != nil {
		t.Fatal(err)
	}
	day := func(days int) string { return time.Now().UTC().AddDate(0, 0, days).Format(time.DateOnly) }
	earliest := day(2)
	if _, err := provider.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	var since string
	if err := db.GetContext(t.Context(), &since, `SELECT since FROM usage_turn`); err != nil || since < earliest || since > day(2) {
		t.Errorf("everything is counted from %s on, not from %s: %v", since, earliest, err)
	}
}

// KeepsWaiting checks that entries of the audit log that are not sealed wait on, in both directions, and the others stay sealed.
func KeepsWaiting(t *testing.T, db *sqlx.DB, provider *goose.Provider) {
	if _, err := provider.UpTo(t.Context(), 65); err != nil {
		t.Fatal(err)
	}
	for _, entry := range []string{`'aud_1', 1, 'h'`, `'aud_2', NULL, NULL`, `'aud_3', NULL, NULL`} {
		_, err := db.ExecContext(t.Context(), `INSERT INTO audit_entries (tenant_id, at, actor_kind, actor_id, action, target_kind, target_id, request_id, said, id, seq, hash)
			VALUES ('', '2026-01-01 00:00:00+00:00', 'key', 'key_1', 'createTrigger', 'trigger', 'trg_1', '', '[]', `+entry+`)`)
		if err != nil {
			t.Fatal(err)
		}
	}
	read := func(what string) (ids []string) {
		if err := db.SelectContext(t.Context(), &ids, what+" ORDER BY id"); err != nil {
			t.Fatal(err)
		}
		return ids
	}
	if _, err := provider.UpTo(t.Context(), 66); err != nil {
		t.Fatal(err)
	}
	found := [][]string{read(`SELECT id FROM audit_entries`), read(`SELECT id FROM audit_waiting`), read(`SELECT id FROM audit_log`)}
	if diff := cmp.Diff([][]string{{"aud_1"}, {"aud_2", "aud_3"}, {"aud_1", "aud_2", "aud_3"}}, found); diff != "" {
		t.Error(diff)
	}
	if _, err := provider.DownTo(t.Context(), 65); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"aud_2", "aud_3"}, read(`SELECT id FROM audit_entries WHERE seq IS NULL`)); diff != "" {
		t.Error(diff)
	}
}

// Unreleased checks that a database from before the first release is refused, and stays as
// it is. db and store are of the same new database.
func Unreleased(t *testing.T, db *sql.DB, store *sqlstore.Store) {
	migrator := store.Migrator()
	before, err := migrator.Pending(t.Context()) // makes the table of versions
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (25, true)`); err != nil {
		t.Fatal(err)
	}
	if _, err = migrator.Up(t.Context()); err == nil || !strings.Contains(err.Error(), "from before the first release") {
		t.Errorf("the migration ends with %v", err)
	}
	if after, err := migrator.Pending(t.Context()); err != nil || len(after) != len(before) {
		t.Errorf("%d migrations of %d are left: %v", len(after), len(before), err)
	}
}

// Concurrent checks that of several processes that migrate a new database at the same time
// each migration is applied by one, while the others wait. open is called for each process.
func Concurrent(t *testing.T, open func() *sqlstore.Store) {
	var applied [4]int
	var processes sync.WaitGroup
	for i := range applied {
		migrator := open().Migrator()
		processes.Go(func() {
			migrations, err := migrator.Up(t.Context())
			if err != nil {
				t.Error(err)
			}
			if pending, err := migrator.Pending(t.Context()); err != nil || len(pending) > 0 {
				t.Errorf("a process that is done finds pending %v, %v", pending, err)
			}
			applied[i] = len(migrations)
		})
	}
	processes.Wait()
	all, err := open().Migrator().Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if sum := applied[0] + applied[1] + applied[2] + applied[3]; sum != len(all) {
		t.Errorf("of %d migrations the processes applied %v", len(all), applied)
	}
}
