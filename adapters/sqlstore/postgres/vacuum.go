package postgres

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"
)

// Who looks for the next live run, or for the next entry of the audit log to seal, passes over what those before
// have left in the index, which autovacuum removes once a minute: at two thousand a second that would be hundreds of
// thousands of them. So each process vacuums these tables, which are small, after a number of changes of its own.
const (
	vacuumAfter = 5000 // changed rows
	vacuumPause = time.Second
	vacuumRest  = 10 // times as long as it took, at least
)

// SKIP_LOCKED leaves it to another process that is at it. INDEX_CLEANUP does not wait until many
// pages have something to remove.
const vacuumQueue = `VACUUM (SKIP_LOCKED, INDEX_CLEANUP ON) `

// runsHaveGrown says whether runs take ten times the pages that they had when PostgreSQL last counted them. As long
// as they look few, every index with the tenant seems as good as the primary key, and a run is looked
// for among all of its tenant. Autovacuum counts them once a minute at most.
const (
	runsHaveGrown = `SELECT pg_relation_size(oid) / current_setting('block_size')::bigint > 10 * relpages FROM pg_class WHERE oid = 'runs'::regclass`
	analyzeRuns   = `ANALYZE (SKIP_LOCKED) runs`
)

// vacuum counts changed rows of a table, and vacuums it.
type vacuum struct {
	changes atomic.Int64
	due     chan struct{}
}

// changed counts rows.
func (v *vacuum) changed(rows int) {
	if v.changes.Add(int64(rows)) < vacuumAfter {
		return
	}
	select {
	case v.due <- struct{}{}:
	default: // it is known
	}
}

// startVacuum vacuums a table until stop is called, and calls after each time.
func startVacuum(db *sqlx.DB, table string, after func(ctx context.Context)) (v *vacuum, stop func()) {
	v = &vacuum{due: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-v.due:
			}
			v.changes.Store(0)
			began := time.Now()
			// Where it fails, or takes too long for the table, looking for the next gets slower until autovacuum
			// has done it.
			_, _ = db.ExecContext(ctx, vacuumQueue+table)
			after(ctx)
			select {
			case <-ctx.Done():
			case <-time.After(max(vacuumPause, vacuumRest*time.Since(began))):
			}
		}
	})
	return v, func() {
		cancel()
		running.Wait()
	}
}

// countNewRuns returns what has runs counted while they are new.
func countNewRuns(db *sqlx.DB) func(ctx context.Context) {
	return func(ctx context.Context) {
		var grown bool
		if err := db.GetContext(ctx, &grown, runsHaveGrown); err == nil && grown {
			_, _ = db.ExecContext(ctx, analyzeRuns)
		}
	}
}
