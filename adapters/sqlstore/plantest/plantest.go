// Package plantest makes databases for tests, and says how statements run on them.
package plantest

import (
	"context"
	"database/sql"
	"errors"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite"
	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite/sqlitetest"
)

// Noon is when everything is due, which has passed.
var Noon = time.Date(2025, 11, 21, 12, 0, 0, 0, time.UTC)

// Migrate brings a database up to date.
func Migrate(address string) (err error) {
	store, err := postgres.Open(context.Background(), address, postgres.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	_, err = store.Migrator().Up(context.Background())
	return err
}

// Filled is a database that statements have filled, in which [Noon] is $1.
func Filled(t *testing.T, statements []string) (*sqlstore.Store, *sql.DB) {
	t.Helper()
	skipUnderRace(t)
	address := pgtest.Start(t).Migrated(t, Migrate)
	db, err := sql.Open("postgres", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	store, err := postgres.Open(t.Context(), address, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement, Noon); err != nil {
			t.Fatal(err)
		}
	}
	return store, db
}

// skipUnderRace leaves out, where the race detector runs (make race is -short), what asks one thing after another.
func skipUnderRace(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("plans have nothing to race for")
	}
}

// SQLite is a database of the other kind, with nothing in it.
func SQLite(t *testing.T) (*sqlstore.Store, *sql.DB) {
	t.Helper()
	skipUnderRace(t)
	file := sqlitetest.File(t)
	store, err := sqlite.Open(t.Context(), file, sqlite.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	db, err := sql.Open("sqlite", "file:"+file+"?_time_format=sqlite&_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return store, db
}

// SQLitePlan is what SQLite says of how it would run a statement.
func SQLitePlan(t *testing.T, db *sql.DB, statement string, args []any) (text string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+statement, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }() // Err says what went wrong
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		text += detail + "\n"
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return text
}

// Plan is what PostgreSQL says of how it ran a statement.
type Plan struct {
	Text    string
	Buffers int // pages of 8 KiB that it looked at
	Took    time.Duration
}

// Explain runs a statement after others.
func Explain(t *testing.T, db *sql.DB, statement string, first ...string) (p Plan) {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_, _ = tx.ExecContext(t.Context(), "DEALLOCATE ALL")
		_ = tx.Rollback() // what it held is let go
	}()
	for _, one := range first {
		if _, err := tx.ExecContext(t.Context(), one); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := tx.QueryContext(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF) "+statement)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		if found := regexp.MustCompile(`^ *Buffers: shared (?:hit=(\d+))? ?(?:read=(\d+))?`).FindStringSubmatch(line); found != nil && p.Buffers == 0 { // the outermost counts all
			for _, n := range found[1:] {
				pages, _ := strconv.Atoi(n) // empty for none
				p.Buffers += pages
			}
		}
		if found := regexp.MustCompile(`^Execution Time: ([\d.]+) ms`).FindStringSubmatch(line); found != nil {
			ms, err := strconv.ParseFloat(found[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			p.Took = time.Duration(ms * float64(time.Millisecond))
		}
		p.Text += line + "\n"
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return p
}
