package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/pressly/goose/v3/lock"
)

// How long a session may do nothing in a transaction, and how long it waits for a lock
// (PostgreSQL manual, "Client Connection Defaults").
const (
	idleTimeout = "idle_in_transaction_session_timeout"
	lockTimeout = "lock_timeout"
)

// migrationLocker lets migrations wait as long as they have to: for the lock on a table
// that is in use, and for nothing to be written to it.
type migrationLocker struct {
	lock.SessionLocker
	answers *answerTimeout // nil for none
	resume  func()         // while the lock is held
}

// SessionLock lifts the bounds of the session that migrations run in.
func (l *migrationLocker) SessionLock(ctx context.Context, conn *sql.Conn) error {
	if err := l.SessionLocker.SessionLock(ctx, conn); err != nil {
		return err
	}
	if l.answers != nil {
		l.resume = l.answers.suspend()
	}
	if _, err := conn.ExecContext(ctx, "SET "+lockTimeout+" = 0; SET "+idleTimeout+" = 0"); err != nil {
		return errors.Join(fmt.Errorf("lift the bounds of the session: %w", err), l.SessionUnlock(context.WithoutCancel(ctx), conn))
	}
	return nil
}

// SessionUnlock gives the session the bounds back that it was opened with.
func (l *migrationLocker) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	if l.resume != nil {
		l.resume()
		l.resume = nil
	}
	_, err := conn.ExecContext(ctx, "RESET "+lockTimeout+"; RESET "+idleTimeout)
	return errors.Join(err, l.SessionLocker.SessionUnlock(ctx, conn))
}
