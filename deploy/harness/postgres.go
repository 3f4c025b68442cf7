package harness

import (
	"context"
	"database/sql"
	"net/url"

	"github.com/lib/pq"

	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
)

// Postgres is a PostgreSQL server that ends with this process.
type Postgres struct {
	*pgtest.Instance
	DB *sql.DB // the database of Instance.URL
}

// StartPostgres starts a server on a new cluster.
func StartPostgres(ctx context.Context, options pgtest.Options) (*Postgres, error) {
	instance, err := pgtest.Launch(ctx, options)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("postgres", instance.URL)
	if err != nil {
		instance.Stop()
		return nil, err
	}
	return &Postgres{Instance: instance, DB: db}, nil
}

// CreateDatabase makes an empty database and returns its URL.
func (p *Postgres) CreateDatabase(ctx context.Context, name string) (string, error) {
	if _, err := p.DB.ExecContext(ctx, `CREATE DATABASE `+pq.QuoteIdentifier(name)); err != nil {
		return "", err
	}
	u, err := url.Parse(p.URL)
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
}

// Each runs a query and calls read for every row.
func (p *Postgres) Each(ctx context.Context, read func(scan func(...any) error) error, query string, args ...any) error {
	rows, err := p.DB.QueryContext(ctx, query, args...)
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

// Stop ends the server and removes its cluster.
func (p *Postgres) Stop() {
	_ = p.DB.Close() // nothing is pending
	p.Instance.Stop()
}
