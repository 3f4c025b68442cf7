package main

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
	"github.com/sluicehq/sluice/deploy/harness"
)

// database is a PostgreSQL of the round's own, or a file of SQLite. What is committed
// survives every way the server is ended here; fsync would only protect from the machine's
// own end.
type database struct {
	*harness.Postgres // nil for SQLite
	url               string

	mu      sync.Mutex
	outages []*span // when it did not answer; one that lasts ends at zero
}

// span is from when to when.
type span struct{ from, to time.Time }

func startPostgres(ctx context.Context) (*database, error) {
	server, err := harness.StartPostgres(ctx, pgtest.Options{})
	if err != nil {
		return nil, err
	}
	return &database{Postgres: server, url: server.URL}, nil
}

func newSQLite(dir string) *database {
	return &database{url: "sqlite:" + filepath.Join(dir, "sluice.db")}
}

// close ends the server and removes what it kept.
func (d *database) close() {
	if d.Postgres != nil {
		d.Stop()
	}
}

// restart ends the server, as a crash does or with a shutdown, leaves it down for a
// while and starts it again.
func (d *database) restart(ctx context.Context, how pgtest.Stopping, down time.Duration) error {
	defer d.beginOutage()()
	return d.Restart(ctx, how, down)
}

// stall lets everything that concerns runs wait for that long, as a disk does that
// hangs. A cut connection ends it early.
func (d *database) stall(ctx context.Context, length time.Duration) error {
	tx, err := d.DB.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // it has changed nothing
	if _, err := tx.ExecContext(ctx, `LOCK TABLE runs IN ACCESS EXCLUSIVE MODE`); err != nil {
		return err
	}
	defer d.beginOutage()()
	_, err = tx.ExecContext(ctx, `SELECT pg_sleep($1)`, length.Seconds())
	return err
}

// beginOutage notes an outage that begins now, and ends when the returned function is called.
func (d *database) beginOutage() (end func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	outage := &span{from: time.Now()}
	d.outages = append(d.outages, outage)
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		outage.to = time.Now()
	}
}

// outageBetween says how long, between the two, the database did not answer.
func (d *database) outageBetween(from, to time.Time) (sum time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.outages {
		begin, end := s.from, s.to
		if end.IsZero() {
			end = to
		}
		if begin.Before(from) {
			begin = from
		}
		if end.After(to) {
			end = to
		}
		sum += max(0, end.Sub(begin))
	}
	return sum
}

// cut ends every connection but its own, and returns how many there were.
func (d *database) cut(ctx context.Context) (ended int, err error) {
	err = d.DB.QueryRowContext(ctx, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid()`).Scan(&ended)
	return ended, err
}
