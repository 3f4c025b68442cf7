package core

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/sluicehq/sluice/domain"
)

// codeReadOnly is the code of errors of a database that answers, but refuses writes.
const codeReadOnly = "database_read_only"

// DiskFull is the error of a database that has no room left.
func DiskFull(cause error) *domain.Error {
	return refusal("The database refuses writes, because its disk is full. Nothing was changed. Try again later.").Because(cause)
}

// ReadOnly is the error of a database that is a standby, or whose files cannot be written.
func ReadOnly(cause error) *domain.Error {
	return refusal("The database refuses writes, because it is read-only. Nothing was changed. Try again later.").Because(readOnlyCause{cause})
}

func refusal(message string) *domain.Error {
	e := domain.Fail(domain.Unavailable, codeReadOnly, "%s", message)
	e.RetryAfter = writeCheckEvery
	return e
}

// readOnlyCause marks what a transaction that only reads says of a write as well.
type readOnlyCause struct{ error }

func (c readOnlyCause) Unwrap() error { return c.error }

func isReadOnly(err error) bool {
	var e *domain.Error
	return errors.As(err, &e) && e.Code == codeReadOnly
}

const (
	// writeCheckEvery is how long the result of a test write stands.
	writeCheckEvery = 10 * time.Second

	// writeCheckTimeout is how long a test write may take. One that takes longer says that
	// the database is busy, and nothing about its disk.
	writeCheckTimeout = time.Second

	// writeCheckSize is how many bytes a test write has: more than is likely to be left
	// over in what a full disk has set aside already.
	writeCheckSize = 8 << 10
)

// writeCheck remembers whether the database refuses writes. The zero value is ready.
type writeCheck struct {
	mu      sync.Mutex
	refused error         // the last refusal, nil when writes were taken since
	at      time.Time     // of the last refusal or test write
	trying  chan struct{} // closed when the test write that is under way has ended; nil for none
}

// note remembers a result.
func (c *writeCheck) note(refused error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused, c.at = refused, time.Now()
}

// last is the last result.
func (c *writeCheck) last() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refused
}

// begin returns what is closed when the test write has ended that is due, which it begins
// unless it is under way already; nil when none is due.
func (c *writeCheck) begin(try func()) (ended <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.at.IsZero() && time.Since(c.at) < writeCheckEvery {
		return nil
	}
	if c.trying == nil {
		trying := make(chan struct{})
		c.trying = trying
		go func() {
			defer func() {
				c.mu.Lock()
				c.trying = nil
				c.mu.Unlock()
				close(trying)
			}()
			try()
		}()
	}
	return c.trying
}

// Writable returns [DiskFull] or [ReadOnly] while the database refuses writes. It remembers
// a refusal that any unit has met, and otherwise tries a write, at most one in a few
// seconds: a disk that has become full is noticed although nobody writes, and so is one
// that has room again. Whether the database can be reached is not its question, nor
// whether it is busy; see [Store.Ping].
func (s *Store) Writable(ctx context.Context) error {
	ended := s.writes.begin(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeCheckTimeout)
		defer cancel()
		if s.tryWrite(ctx) == nil {
			s.writes.note(nil)
		}
	})
	if ended != nil {
		timer := time.NewTimer(writeCheckTimeout) // a driver may wait for longer than the context says
		defer timer.Stop()
		select {
		case <-ended:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return s.writes.last()
}

// noted remembers an error that says that the database refuses writes, and returns it.
func (s *Store) noted(err error) error {
	if isReadOnly(err) {
		s.writes.note(err)
	}
	return err
}

// translate says what an error of a statement means.
func (u *Unit) translate(ctx context.Context, err error) error {
	err = u.store.translate(ctx, err)
	if cause := (readOnlyCause{}); !u.writing && errors.As(err, &cause) { // the transaction is, not the database
		return fmt.Errorf("%w: %w", errReadOnly, cause.error)
	}
	return u.store.noted(err)
}

// tryWrite adds a row and removes it, each by a statement of its own: a transaction would
// be asked for as one that writes, whatever the database permits by default. The table
// holds no tenant's records, no unit knows the key, and a row that a crash leaves is swept.
func (s *Store) tryWrite(ctx context.Context) error {
	u := &Unit{pool: s.writer, store: s, writing: true}
	defer func() { s.writer.prepare(ctx, u.unprepared) }()
	const scope = "test write"
	key, filler := strconv.FormatUint(rand.Uint64(), 36), make([]byte, writeCheckSize)
	for i := range filler { // what can be compressed takes little room
		filler[i] = byte(rand.Uint32())
	}
	_, err := u.Exec(ctx, "try a write", `INSERT INTO operator_outcomes (scope, key, fingerprint, answer, created_at) VALUES ($1, $2, '', $3, $4)`,
		scope, key, filler, time.Now().UTC())
	if err != nil {
		return err
	}
	_, err = u.Exec(ctx, "undo the test write", `DELETE FROM operator_outcomes WHERE scope = $1 AND key = $2`, scope, key)
	return err
}
