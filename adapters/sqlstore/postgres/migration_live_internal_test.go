package postgres

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jmoiron/sqlx"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
)

// addRuns adds those numbered from the first to the last of one tenant, all at the same
// time, as the version before 17 does.
const addRuns = `INSERT INTO runs (tenant_id, id, sub_tenant_id, workflow_id, workflow_version_id, trigger_id, trigger_name, trigger_type, entity_id, dedupe_key, holds_key,
	cause, payload, max_retries, backoff_ms, max_backoff_ms, timeout_ms, status, seq, progress, created_at, updated_at)
	SELECT 't', 'run_' || n, '', 'w', 'v', '', '', '', 'e', '', false, 'manual', '{}', 0, 0, 0, 0, 'paused', 3, '{}', '2026-01-31 09:00Z', '2026-01-31 09:00Z'
	FROM generate_series(CAST($1 AS integer), CAST($2 AS integer)) n`

// before is a database on its way to a version, with more runs than are copied at once, and
// two processes of the newest.
func before(t *testing.T, version int64) (db *sqlx.DB, processes [2]*sqlstore.Store) {
	t.Helper()
	address := pgtest.Start(t).Database(t)
	db, provider := migrating(t, address)
	if _, err := provider.UpTo(t.Context(), version-1); err != nil {
		t.Fatal(err)
	}
	const tenant = `INSERT INTO tenants (id, name, status, settings, created_at, updated_at, revision) VALUES ('t', 'Acme', 'active', '{}', now(), now(), 1)`
	if _, err := db.ExecContext(t.Context(), tenant); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), addRuns, 1, 4500); err != nil {
		t.Fatal(err)
	}
	for i := range processes {
		store, err := Open(t.Context(), address, Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() }) // nothing is pending
		processes[i] = store
	}
	return db, processes
}

// migrate begins the migrations of a process, whose end is reported.
func migrate(t *testing.T, s *sqlstore.Store) <-chan error {
	ended := make(chan error, 1)
	go func() {
		_, err := s.Migrator().Up(t.Context())
		ended <- err
	}()
	return ended
}

// hold opens a transaction that lasts until it is let go, and sees what the statement says.
func hold(t *testing.T, db *sqlx.DB, statement string) (letGo func()) {
	t.Helper()
	tx, err := db.BeginTxx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", statement} {
		if _, err := tx.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	return func() { _ = tx.Rollback() } // it has changed nothing
}

// wantFacets compares what lists find with the runs that there are.
func wantFacets(t *testing.T, db *sqlx.DB, want int) {
	t.Helper()
	var got struct{ Runs, Listed, Both int }
	err := db.GetContext(t.Context(), &got, `SELECT count(r.id) AS runs, count(f.id) AS listed, count(*) AS both
		FROM runs r FULL JOIN run_facets f ON (f.tenant_id, f.created_at, f.id) = (r.tenant_id, r.created_at, r.id)`)
	if err != nil {
		t.Fatal(err)
	}
	if got.Runs != want || got.Listed != want || got.Both != want {
		t.Errorf("of %d runs there are %+v", want, got)
	}
}

// A backup reads a table for about three seconds, while gateways of the version before serve.
func TestGatewaysGoOnWhileAMigrationWaitsForALongReader(t *testing.T) {
	t.Parallel()
	for table, version := range map[string]int64{"runs": 17, "webhook_deliveries": 19} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			goOnWhileRead(t, table, version)
		})
	}
}

func goOnWhileRead(t *testing.T, table string, version int64) {
	db, processes := before(t, version)
	letGo := hold(t, db, `SELECT FROM `+table+` LIMIT 1`)
	go func() { // about three seconds after the migration began to wait for its end
		defer letGo()
		for waits, err := false, error(nil); !waits && err == nil; {
			waits, err = isThere(t.Context(), db, `query LIKE '%ALTER TABLE `+table+` %' AND wait_event_type = 'Lock'`)
		}
		time.Sleep(2900 * time.Millisecond)
	}()
	ended := migrate(t, processes[0])
	var longest time.Duration
	for n := 1; ; n++ {
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
			wantFacets(t, db, 4500)
			if longest < time.Second || longest > 2500*time.Millisecond {
				t.Errorf("the longest that a gateway waited was %s, not about as long as the migration asks for its lock", longest)
			}
			return
		default:
		}
		began := time.Now()
		if err := serve(t.Context(), db, n); err != nil {
			t.Fatal(err)
		}
		longest = max(longest, time.Since(began))
	}
}

// serve looks for deliveries, reads a run, removes one and adds another, as gateways do: a
// unit for each.
func serve(ctx context.Context, db *sqlx.DB, n int) error {
	if _, err := db.ExecContext(ctx, `SELECT FROM webhook_deliveries LIMIT 1`); err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, `SELECT FROM runs WHERE tenant_id = 't' AND id = 'run_4500'`); err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, `DELETE FROM runs WHERE tenant_id = 't' AND id = 'run_' || CAST($1 AS text)`, n); err != nil {
		return err
	}
	_, err := db.ExecContext(ctx, addRuns, 4500+n, 4500+n)
	return err
}

// An index that is built beside what goes on waits for all who may not see it: one that
// waited for the migrations' lock in a statement, which would be such a one, would keep
// the lock from getting free.
func TestAProcessThatWaitsForTheMigrationsOfAnotherDoesNotHoldThemUp(t *testing.T) {
	t.Parallel()
	db, processes := before(t, 17)
	letGo := hold(t, db, `SELECT FROM tenants`)
	defer letGo()
	first := migrate(t, processes[0])
	await(t, db, `query LIKE 'CREATE INDEX CONCURRENTLY%' AND wait_event_type = 'Lock'`)
	second := migrate(t, processes[1])
	await(t, db, `query LIKE 'SELECT pg_try_advisory_lock%' AND state = 'idle'`)
	letGo()
	for _, ended := range []<-chan error{first, second} {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	wantFacets(t, db, 4500)
}

// What an interruption leaves, such as half an index, is in nobody's way.
func TestAMigrationThatWasInterruptedIsRepeated(t *testing.T) {
	t.Parallel()
	for version, c := range map[int64]struct{ held, interrupted string }{
		16: {"tenants", "CREATE INDEX CONCURRENTLY trigger_schedules_turns"},
		17: {"tenants", "CREATE INDEX CONCURRENTLY IF NOT EXISTS runs_awaiting"},
		19: {"tenants", "CREATE INDEX CONCURRENTLY webhook_deliveries_urgent"},
		20: {"runs", "DROP INDEX CONCURRENTLY IF EXISTS runs_free"},
	} {
		t.Run(strconv.FormatInt(version, 10), func(t *testing.T) {
			t.Parallel()
			repeatInterrupted(t, version, c.held, c.interrupted)
		})
	}
}

func repeatInterrupted(t *testing.T, version int64, held, interrupted string) {
	db, processes := before(t, version)
	letGo := hold(t, db, `SELECT FROM `+held)
	defer letGo()
	first := migrate(t, processes[0])
	await(t, db, `query LIKE '`+interrupted+`%' AND wait_event_type = 'Lock'`)
	var at string
	if err := db.GetContext(t.Context(), &at, `SELECT CAST(clock_timestamp() AS text) FROM pg_stat_activity
		WHERE datname = current_database() AND query LIKE '`+interrupted+`%' AND pg_cancel_backend(pid)`); err != nil {
		t.Fatal(err)
	}
	await(t, db, `query LIKE '`+interrupted+`%' AND wait_event_type = 'Lock' AND query_start > '`+at+`'`) // once more
	letGo()
	if err := <-first; err != nil {
		t.Error(err)
	}
	wantFacets(t, db, 4500)
	var broken []string
	if err := db.SelectContext(t.Context(), &broken, `SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid`); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string(nil), broken); diff != "" {
		t.Error(diff)
	}
}

// await waits until a session of the database is in a state.
func await(t *testing.T, db *sqlx.DB, state string) {
	t.Helper()
	for range 100 {
		found, err := isThere(t.Context(), db, state)
		if err != nil {
			t.Fatal(err)
		}
		if found {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("no session came to " + state)
}

// isThere says whether another session of the database is in a state.
func isThere(ctx context.Context, db *sqlx.DB, state string) (found bool, err error) {
	err = db.GetContext(ctx, &found, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND `+state+`)`)
	return found, err
}
