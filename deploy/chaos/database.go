package main

import (
	"context"
	"path/filepath"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
	"github.com/sluicehq/sluice/deploy/harness"
)

// database is a PostgreSQL of the round's own, or a file of SQLite. What is committed
// survives every way the server is ended here; fsync would only protect from the machine's
// own end.
type database struct {
	*harness.Postgres // nil for SQLite
	outages
	url string
}

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
	defer d.begin()()
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
	defer d.begin()()
	_, err = tx.ExecContext(ctx, `SELECT pg_sleep($1)`, length.Seconds())
	return err
}

// cut ends every connection but its own, and returns how many there were.
func (d *database) cut(ctx context.Context) (ended int, err error) {
	err = d.DB.QueryRowContext(ctx, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid()`).Scan(&ended)
	return ended, err
}
