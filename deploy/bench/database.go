package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
	"github.com/sluicehq/sluice/deploy/harness"
)

// postgresSettings put off checkpoints, which would otherwise fall on one side of a
// round at random. Every guarantee of a database in production is kept.
var postgresSettings = []string{"synchronous_commit=on", "max_wal_size=8GB", "checkpoint_timeout=1h"}

// database is a durable PostgreSQL of the bench's own, reached through a Unix socket.
type database struct{ *harness.Postgres }

func startDatabase(ctx context.Context, dir string) (*database, error) {
	server, err := harness.StartPostgres(ctx, pgtest.Options{
		Durable: true, Data: filepath.Join(dir, "pg"), Programs: []string{"pgbench"}, Settings: postgresSettings,
	})
	return &database{server}, err
}

func (d *database) version(ctx context.Context) (version string, err error) {
	err = d.DB.QueryRowContext(ctx, "SHOW server_version").Scan(&version)
	return version, err
}

// vacuum cleans up after what was measured before, so that no row pays for another: it
// removes dead rows, computes statistics and writes everything to the disk.
func (d *database) vacuum(ctx context.Context) error {
	return d.exec(ctx, `VACUUM (ANALYZE)`, `CHECKPOINT`)
}

func (d *database) exec(ctx context.Context, statements ...string) error {
	for _, statement := range statements {
		if _, err := d.DB.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// count returns how many rows a table holds.
func (d *database) count(ctx context.Context, table string) (n int, err error) {
	err = d.DB.QueryRowContext(ctx, "SELECT count(*) FROM "+table).Scan(&n)
	return n, err
}

// countRuns returns how many runs a tenant has, and how many of them have not ended.
func (d *database) countRuns(ctx context.Context, tenantID string) (all, open int, err error) {
	err = d.DB.QueryRowContext(ctx, `SELECT count(*), count(*) FILTER (WHERE finished_at IS NULL) FROM runs WHERE tenant_id = $1`,
		tenantID).Scan(&all, &open)
	return all, open, err
}

// runsTimeout bounds how long runs may take to end after the load did.
const runsTimeout = 2 * time.Minute

// awaitRuns waits until all runs of a tenant have ended and returns how many there are.
// One that did not complete is an error.
func (d *database) awaitRuns(ctx context.Context, tenantID string) (all int, err error) {
	if err := d.awaitEnds(ctx, tenantID); err != nil {
		return 0, err
	}
	return d.countCompleted(ctx, tenantID)
}

// awaitEnds waits until all runs of a tenant have ended. It reads live runs only: counting all, over and over, would slow
// down what is measured.
func (d *database) awaitEnds(ctx context.Context, tenantID string) error {
	ctx, cancel := context.WithTimeout(ctx, runsTimeout)
	defer cancel()
	for {
		var open bool
		if err := d.DB.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM live_runs WHERE tenant_id = $1)`, tenantID).Scan(&open); err != nil || !open {
			return err
		}
		if !harness.Sleep(ctx, 5*time.Millisecond) {
			all, open, err := d.countRuns(context.WithoutCancel(ctx), tenantID)
			return errors.Join(fmt.Errorf("%d of %d runs have not ended %s after the load: %w", open, all, runsTimeout, ctx.Err()), err)
		}
	}
}

// countCompleted counts the runs of a tenant. One that did not complete is an error.
func (d *database) countCompleted(ctx context.Context, tenantID string) (all int, err error) {
	var ended string
	err = d.DB.QueryRowContext(ctx, `SELECT count(*), coalesce(string_agg(DISTINCT status || ' ' || coalesce(failure_message, ''), '; ')
		FILTER (WHERE status <> 'completed'), '') FROM runs WHERE tenant_id = $1`, tenantID).Scan(&all, &ended)
	if err == nil && ended != "" {
		err = fmt.Errorf("not every run was completed: %s", ended)
	}
	return all, err
}
