package postgres

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"
)

// Every claim passes over the entries that changed live runs have left in the indexes, which
// autovacuum removes once a minute: at two thousand runs a second that would be hundreds of
// thousands of them. So each process vacuums the table, which is small, after a number of changes
// of its own.
const (
	vacuumAfter = 5000 // changed rows
	vacuumPause = time.Second
	vacuumRest  = 10 // times as long as it took, at least
)

// SKIP_LOCKED leaves it to another process that is at it. INDEX_CLEANUP does not wait until many
// pages have something to remove.
const vacuumLiveRuns = `VACUUM (SKIP_LOCKED, INDEX_CLEANUP ON) live_runs`

// runsHaveGrown says whether runs take ten times the pages that they had when PostgreSQL last counted them. As long
// as they look few, every index with the tenant seems as good as the primary key, and a run is looked
// for among all of its tenant. Autovacuum counts them once a minute at most.
const (
	runsHaveGrown = `SELECT pg_relation_size(oid) / current_setting('block_size')::bigint > 10 * relpages FROM pg_class WHERE oid = 'runs'::regclass`
	analyzeRuns   = `ANALYZE (SKIP_LOCKED) runs`
)

// vacuum counts changed live runs, and vacuums their table; it has runs counted while they are new.
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

// startVacuum runs until stop is called.
func startVacuum(db *sqlx.DB) (v *vacuum, stop func()) {
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
			// Where it fails, or takes too long for the table, claims get slower until autovacuum
			// has done it.
			_, _ = db.ExecContext(ctx, vacuumLiveRuns)
			var grown bool
			if err := db.GetContext(ctx, &grown, runsHaveGrown); err == nil && grown {
				_, _ = db.ExecContext(ctx, analyzeRuns)
			}
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
