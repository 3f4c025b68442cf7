package sqlite

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"
)

// A commit that finds many pages in the write-ahead log copies them into the database, for
// tens of milliseconds, in which nobody else can write. So this is done next to the
// commits, on a connection of its own; only when that falls far behind does a commit do
// it, which keeps the log from growing for ever.
const (
	checkpointEvery = 100 * time.Millisecond
	checkpointPages = 1000  // the default of SQLite for commits
	commitPages     = 16384 // 64 MiB, for commits
)

// checkpoints runs until stop is called.
func checkpoints(file string, db *sqlx.DB) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		ticker := time.NewTicker(checkpointEvery)
		defer ticker.Stop()
		var changed time.Time
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			log, err := os.Stat(file + "-wal")
			if err != nil || log.ModTime().Equal(changed) {
				continue
			}
			changed = log.ModTime()
			var busy, pages, done int
			err = db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(NOOP)").Scan(&busy, &pages, &done)
			if err == nil && pages-done >= checkpointPages {
				// A failure is the next commit's to tell: it writes to the same disk.
				_, _ = db.ExecContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)")
			}
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}
