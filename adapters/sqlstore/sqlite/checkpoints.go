package sqlite

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
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

// A log of which nothing may be left is emptied, for which readers and writers have to rest for a moment: who would wait
// for longer goes on, and it is tried again.
const (
	emptyTimeout = 20 // milliseconds
	emptyPause   = time.Second
)

// emptyLog copies the write-ahead log into the database, and says whether nothing of it is left.
func emptyLog(ctx context.Context, db *sqlx.DB) bool {
	conn, err := db.Conn(ctx)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }() // which returns it
	setTimeout := func(ms int) error {
		_, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout(%d)", ms))
		return err
	}
	if setTimeout(emptyTimeout) != nil {
		return false
	}
	defer func() { _ = setTimeout(busyTimeout) }() // which needs no disk
	var busy, pages, done int
	err = conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &done)
	return err == nil && busy == 0
}

// checkpoints runs until stop is called. empty has the log emptied.
func checkpoints(file string, db *sqlx.DB) (stop, empty func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var leftover atomic.Bool
	var running sync.WaitGroup
	running.Go(func() {
		ticker := time.NewTicker(checkpointEvery)
		defer ticker.Stop()
		var changed, tried time.Time
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if now := time.Now(); leftover.Load() && now.Sub(tried) >= emptyPause {
				leftover.Store(false)
				if tried = now; !emptyLog(ctx, db) {
					leftover.Store(true)
				}
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
	stop = func() {
		cancel()
		running.Wait()
	}
	return stop, func() { leftover.Store(true) }
}
