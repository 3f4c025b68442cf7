package main

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
	"github.com/sluicehq/sluice/deploy/process"
)

// idle measures what a gateway costs that nobody calls: how often it asks its
// database, its memory, its processor time. It has a PostgreSQL to itself that counts
// every statement, BEGIN and COMMIT included.
type idle struct{}

func (idle) name() string { return "idle" }

// Bounds of the measurement: starting is over after idleSettles, and what happens
// every few seconds happens several times within idleFor.
const (
	idleSettles = 3 * time.Second
	idleFor     = 20 * time.Second
)

func (idle) take(ctx context.Context, st *stage, o options) ([]figure, error) {
	server, err := pgtest.Launch(ctx, pgtest.Options{Settings: []string{"shared_preload_libraries=pg_stat_statements"}})
	if err != nil {
		return nil, err
	}
	defer server.Stop()
	db, err := sql.Open("postgres", server.URL)
	if err != nil {
		return nil, err
	}
	own := &postgresServer{Instance: server, db: db}
	defer func() { _ = db.Close() }() // nothing is pending
	if _, err := db.ExecContext(ctx, `CREATE EXTENSION pg_stat_statements`); err != nil {
		return nil, fmt.Errorf("count statements (pg_stat_statements is part of PostgreSQL's contributed modules): %w", err)
	}
	address, err := own.create(ctx, "idle")
	if err != nil {
		return nil, err
	}
	g, err := startGateway(ctx, st.gateway.binary, address, filepath.Join(st.dir, "idle.log"))
	if err != nil {
		return nil, err
	}
	defer g.stop()
	return own.watchIdle(ctx, g, o)
}

func (p *postgresServer) watchIdle(ctx context.Context, g *gateway, o options) ([]figure, error) {
	if err := pause(ctx, idleSettles); err != nil {
		return nil, err
	}
	if _, err := p.db.ExecContext(ctx, `SELECT pg_stat_statements_reset()`); err != nil {
		return nil, err
	}
	before, err := processorTime(g.cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	if err := pause(ctx, idleFor); err != nil {
		return nil, err
	}
	after, err := processorTime(g.cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	calls, err := p.statements(ctx, o)
	if err != nil {
		return nil, err
	}
	resident, _, err := process.Memory(g.cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	return []figure{
		newFigure("idle-queries", "idle: queries a second of one gateway", "/s", 5, float64(calls)/idleFor.Seconds()).
			because("%d statements in %s", calls, idleFor),
		newFigure("idle-memory", "idle: resident memory", "MB", 40, megabytes(resident)),
		newFigure("idle-processor", "idle: processor time", "ms/s", 0, milliseconds(after-before)/idleFor.Seconds()),
	}, nil
}

// statements returns how many statements the gateway ran since the reset, and shows
// the most frequent ones.
func (p *postgresServer) statements(ctx context.Context, o options) (total int, err error) {
	rows, err := p.db.QueryContext(ctx, `SELECT calls, query FROM pg_stat_statements
		WHERE dbid = (SELECT oid FROM pg_database WHERE datname = 'idle') ORDER BY calls DESC, query`)
	if err != nil {
		return 0, err
	}
	defer func() { _ = rows.Close() }() // closed by the last Next already
	for shown := 0; rows.Next(); shown++ {
		var calls int
		var query string
		if err := rows.Scan(&calls, &query); err != nil {
			return 0, err
		}
		total += calls
		if shown < 5 {
			_, _ = fmt.Fprintf(o.verbose, "idle: %d × %.100q\n", calls, query) // progress only
		}
	}
	return total, rows.Err()
}

// loaded is the memory of the gateway that the rows before were measured on.
type loaded struct{}

func (loaded) name() string { return "loaded" }

func (loaded) take(_ context.Context, st *stage, _ options) ([]figure, error) {
	_, peak, err := process.Memory(st.gateway.cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	return []figure{newFigure("loaded-memory", "resident memory at its peak, under the load of the rows above", "MB", 0, megabytes(peak))}, nil
}
