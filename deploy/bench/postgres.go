package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"

	"github.com/lib/pq"

	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
)

// postgresSettings put off checkpoints, which would otherwise fall on one side of a
// round at random. Every guarantee of a database in production is kept.
var postgresSettings = []string{"synchronous_commit=on", "max_wal_size=8GB", "checkpoint_timeout=1h"}

// postgresServer is a PostgreSQL of the bench's own, reached through a Unix socket.
type postgresServer struct {
	*pgtest.Instance
	db *sql.DB
}

// startPostgres makes a new cluster below dir and starts a server on it.
func startPostgres(ctx context.Context, dir string) (*postgresServer, error) {
	instance, err := pgtest.Launch(ctx, pgtest.Options{
		Durable: true, Data: filepath.Join(dir, "pg"), Programs: []string{"pgbench"}, Settings: postgresSettings,
	})
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("postgres", instance.URL)
	if err != nil {
		instance.Stop()
		return nil, err
	}
	return &postgresServer{Instance: instance, db: db}, nil
}

func (p *postgresServer) version(ctx context.Context) (version string, err error) {
	err = p.db.QueryRowContext(ctx, "SHOW server_version").Scan(&version)
	return version, err
}

// settle clears up behind what was measured before, so that no row pays for another
// one's: dead rows are removed, statistics are those of the tables as they are, and
// everything is on the disk.
func (p *postgresServer) settle(ctx context.Context) error {
	for _, statement := range []string{`VACUUM (ANALYZE)`, `CHECKPOINT`} {
		if _, err := p.db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// count returns how many rows a table holds.
func (p *postgresServer) count(ctx context.Context, table string) (n int, err error) {
	err = p.db.QueryRowContext(ctx, "SELECT count(*) FROM "+table).Scan(&n)
	return n, err
}

// create makes an empty database and returns its URL.
func (p *postgresServer) create(ctx context.Context, name string) (string, error) {
	if _, err := p.db.ExecContext(ctx, `CREATE DATABASE `+pq.QuoteIdentifier(name)); err != nil {
		return "", err
	}
	u, err := url.Parse(p.URL)
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
}

// stop ends the server and throws away what it kept.
func (p *postgresServer) stop() {
	_ = p.db.Close() // nothing is pending
	p.Stop()
}
