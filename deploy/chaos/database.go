package main

import (
	"context"
	"database/sql"
	"net/url"
	"sync"
	"time"

	_ "github.com/lib/pq" // the driver

	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
)

// database is a PostgreSQL of the round's own, or a file of SQLite. What is committed
// survives every way the server is ended here; fsync would only protect from the machine's
// own end.
type database struct {
	server *pgtest.Instance // nil for SQLite
	url    string
	db     *sql.DB // nil for SQLite

	mu   sync.Mutex
	away []span // when it did not answer
}

// span is from when to when.
type span struct{ from, to time.Time }

func startDatabase(ctx context.Context) (*database, error) {
	server, err := pgtest.Launch(ctx, pgtest.Options{})
	if err != nil {
		return nil, err
	}
	const name = "chaos"
	d := &database{server: server}
	if d.url, err = databaseURL(server.URL, name); err == nil {
		err = createDatabase(ctx, server.URL, name)
	}
	if err == nil {
		d.db, err = sql.Open("postgres", d.url)
	}
	if err != nil {
		server.Stop()
		return nil, err
	}
	return d, nil
}

// stop ends the server and throws away what it kept.
func (d *database) stop() {
	if d.server == nil {
		return
	}
	_ = d.db.Close() // nothing is pending
	d.server.Stop()
}

func databaseURL(server, name string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
}

func createDatabase(ctx context.Context, server, name string) error {
	db, err := sql.Open("postgres", server)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // nothing is pending
	_, err = db.ExecContext(ctx, `CREATE DATABASE `+name)
	return err
}

// restart ends the server, as a crash does or with a shutdown, leaves it down for a
// while and starts it again.
func (d *database) restart(ctx context.Context, how pgtest.Stopping, down time.Duration) error {
	from := time.Now()
	err := d.server.Restart(ctx, how, down)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.away = append(d.away, span{from, time.Now()})
	return err
}

// stall lets everything that concerns runs wait for that long, as a disk does that
// hangs. A cut connection ends it early.
func (d *database) stall(ctx context.Context, length time.Duration) error {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // it has changed nothing
	from := time.Now()
	if _, err := tx.ExecContext(ctx, `LOCK TABLE runs IN ACCESS EXCLUSIVE MODE`); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `SELECT pg_sleep($1)`, length.Seconds())
	d.mu.Lock()
	defer d.mu.Unlock()
	d.away = append(d.away, span{from, time.Now()})
	return err
}

// awayFor says how long, between the two, the database did not answer.
func (d *database) awayFor(from, to time.Time) (sum time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.away {
		begin, end := s.from, s.to
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
	err = d.db.QueryRowContext(ctx, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid()`).Scan(&ended)
	return ended, err
}

// each runs a query and reads every row.
func (d *database) each(ctx context.Context, read func(scan func(...any) error) error, query string, args ...any) (err error) {
	rows, err := d.db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // its error is that of Err
	for rows.Next() {
		if err := read(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}
