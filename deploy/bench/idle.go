package main

import (
	"context"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
	"github.com/sluicehq/sluice/deploy/harness"
)

// idle measures what a gateway costs that nobody calls: how often it asks its
// database, its memory, its processor time. It has a PostgreSQL to itself that counts
// every statement, BEGIN and COMMIT included.
type idle struct{}

func (idle) name() string { return "idle" }

// Starting is over after startupTime; what happens every few seconds happens several
// times within idleTime.
const (
	startupTime = 3 * time.Second
	idleTime    = 20 * time.Second
)

func (idle) measure(ctx context.Context, e *env, o options) ([]figure, error) {
	server, err := harness.StartPostgres(ctx, pgtest.Options{Settings: []string{"shared_preload_libraries=pg_stat_statements"}})
	if err != nil {
		return nil, err
	}
	own := &database{server}
	defer own.Stop()
	if err := own.exec(ctx, `CREATE EXTENSION pg_stat_statements`); err != nil {
		return nil, fmt.Errorf("count statements (pg_stat_statements is part of PostgreSQL's contributed modules): %w", err)
	}
	address, err := own.CreateDatabase(ctx, "idle")
	if err != nil {
		return nil, err
	}
	g, err := harness.NewGateway("idle", e.gateway.Binary, address, e.dir)
	if err != nil {
		return nil, err
	}
	defer g.Stop()
	if err := g.StartReady(ctx); err != nil {
		return nil, err
	}
	return own.watchIdle(ctx, g.Process().PID(), o)
}

func (d *database) watchIdle(ctx context.Context, pid int, o options) ([]figure, error) {
	if !harness.Sleep(ctx, startupTime) {
		return nil, ctx.Err()
	}
	if err := d.exec(ctx, `SELECT pg_stat_statements_reset()`); err != nil {
		return nil, err
	}
	before, err := harness.ProcessorTime(pid)
	if err != nil {
		return nil, err
	}
	if !harness.Sleep(ctx, idleTime) {
		return nil, ctx.Err()
	}
	after, err := harness.ProcessorTime(pid)
	if err != nil {
		return nil, err
	}
	calls, err := d.statements(ctx, o)
	if err != nil {
		return nil, err
	}
	resident, _, err := harness.Memory(pid)
	if err != nil {
		return nil, err
	}
	return []figure{
		newFigure("idle-queries", "idle: queries a second of one gateway", "/s", 5, float64(calls)/idleTime.Seconds()).
			withDetail("%d statements in %s", calls, idleTime),
		newFigure("idle-memory", "idle: resident memory", "MB", 40, megabytes(resident)),
		newFigure("idle-processor", "idle: processor time", "ms/s", 0, milliseconds(after-before)/idleTime.Seconds()),
	}, nil
}

// statements returns how many statements the gateway ran since the reset, and shows
// the most frequent ones.
func (d *database) statements(ctx context.Context, o options) (total int, err error) {
	shown := 0
	err = d.Each(ctx, func(scan func(...any) error) error {
		var calls int
		var query string
		if err := scan(&calls, &query); err != nil {
			return err
		}
		total += calls
		if shown++; shown <= 5 {
			_, _ = fmt.Fprintf(o.verbose, "idle: %d × %.100q\n", calls, query) // progress only
		}
		return nil
	}, `SELECT calls, query FROM pg_stat_statements
		WHERE dbid = (SELECT oid FROM pg_database WHERE datname = 'idle') ORDER BY calls DESC, query`)
	return total, err
}

// peakMemory is that of the gateway that the rows before were measured on.
type peakMemory struct{}

func (peakMemory) name() string { return "loaded" }

func (peakMemory) measure(_ context.Context, e *env, _ options) ([]figure, error) {
	_, peak, err := harness.Memory(e.gateway.Process().PID())
	if err != nil {
		return nil, err
	}
	return []figure{newFigure("loaded-memory", "resident memory at its peak, under the load of the rows above", "MB", 0, megabytes(peak))}, nil
}
