package postgres

import (
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
)

func TestRunsAreCountedWhileTheyAreNew(t *testing.T) {
	t.Parallel()
	db, err := sqlx.Open("postgres", pgtest.Start(t).Database(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	db.MustExecContext(t.Context(), `CREATE TABLE live_runs (id text); CREATE TABLE runs (id text) WITH (autovacuum_enabled = false)`)
	v, stop := startVacuum(db, "live_runs", countNewRuns(db))
	defer stop()
	for _, rows := range []int{2000, 50_000} {
		db.MustExecContext(t.Context(), `INSERT INTO runs SELECT n::text FROM generate_series(1, $1 - (SELECT count(*) FROM runs)) n`, rows)
		v.changed(vacuumAfter)
		counted := 0
		for deadline := time.Now().Add(time.Minute); counted != rows; time.Sleep(10 * time.Millisecond) {
			if err := db.GetContext(t.Context(), &counted, `SELECT reltuples::bigint FROM pg_class WHERE oid = 'runs'::regclass`); err != nil {
				t.Fatal(err)
			}
			if time.Now().After(deadline) {
				t.Fatalf("%d runs are counted, want %d", counted, rows)
			}
		}
	}
}
