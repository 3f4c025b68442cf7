package core

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/process"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Store is a database that units of work run on.
type Store struct {
	writer, reader *pool
	dialect        Dialect
	migrator       Migrator
	notices        Notices
	watchers       watchers
	events         signal
	audited        signal
	lists          Lists
	pages          pages
	writes         writeCheck
	repositories   func(*Unit) outbound.Stores
	appendUsage    string // the statement
	beforeClose    func()
	writing        chan struct{} // holds one while a unit writes, where units that write run one after another; else nil
	yielding       chan struct{} // holds one while a unit that yields writes, waits for its turn or rests after it
	prompt         atomic.Int64  // units that do not yield and had their turn
	promptBefore   int64         // how many those were when the last unit that yields ended; who is in yielding has it
	waiting        atomic.Int64  // units that wait for their turn
	allCanOpen     atomic.Bool   // no process is left that cannot read sealed values
	waits, waited  atomic.Int64  // how often units waited for that, and for how long in all, in nanoseconds

	// Level is the feature level of this process: rows that need a higher one are not claimed. It
	// is that of this version unless it is set before the store is used.
	Level process.Level

	// Cipher encrypts secrets. It is set before the store is used; nil only in tests, which then keep no secrets of the
	// kinds that 0.1.0 did not have.
	Cipher outbound.Cipher

	// AllowSlowStatements lets statements of the store take as long as they have to, until what it
	// returns is called; nil where they always may. It is set before the store is used.
	AllowSlowStatements func() (end func())

	// OnErased is called after a unit that has removed something of which nothing may be left; nil where nobody has to do
	// anything about that. It is set before the store is used.
	OnErased func()
}

var _ outbound.UnitOfWork = (*Store)(nil)

// Migrator brings the schema of a database up to date.
type Migrator interface {
	// Pending lists the migrations that are not applied yet, in order.
	Pending(ctx context.Context) ([]Migration, error)

	// Up applies the pending migrations under a lock and returns those it applied.
	// Several processes may call it at the same time.
	Up(ctx context.Context) ([]Migration, error)

	// Status lists every migration there is, in order.
	Status(ctx context.Context) ([]Migration, error)
}

// Migration is one step of the schema.
type Migration struct {
	Version   int64
	Name      string
	AppliedAt *time.Time // nil while it is pending
}

// New returns a store over two pools, which may be the same: one for units that
// write and one for units that only read. A unit hands out its repositories.
func New(writer, reader *sqlx.DB, dialect Dialect, migrator Migrator, notices Notices, repositories func(*Unit) outbound.Stores) *Store {
	s := &Store{writer: newPool(writer), dialect: dialect, migrator: migrator, notices: notices, repositories: repositories, appendUsage: dialect.appendUsage(), Level: process.Latest}
	if dialect.ForUpdate == "" {
		s.writing, s.yielding = make(chan struct{}, 1), make(chan struct{}, 1)
	}
	s.reader = s.writer
	if reader != writer {
		s.reader = newPool(reader)
	}
	return s
}

// Migrator brings the store's schema up to date.
func (s *Store) Migrator() Migrator { return s.migrator }

// Ping says whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	return s.reached(ctx, s.reader.db.PingContext(ctx))
}

// BeforeClose has something stopped that uses the connections. It is called before the
// store is used.
func (s *Store) BeforeClose(stop func()) { s.beforeClose = stop }

// Close ends all connections.
func (s *Store) Close() error {
	if s.beforeClose != nil {
		s.beforeClose()
	}
	err := s.writer.close()
	if s.reader != s.writer {
		err = errors.Join(err, s.reader.close())
	}
	return err
}

// Runs of a unit that keeps colliding, and how long it waits between two.
const (
	maxRuns  = 12
	firstGap = 2 * time.Millisecond
	maxGap   = 100 * time.Millisecond
	maxTries = 10 * time.Second // in all; a run of its own may wait for a lock for half of it
)

// Do runs fn in a transaction and commits it when fn returns nil.
func (s *Store) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	gap, begun := firstGap, time.Now()
	for run := 1; ; run++ {
		err := s.run(ctx, s.writer, nil, fn)
		if !isCollision(err) {
			return err
		}
		if run == maxRuns || time.Since(begun) > maxTries {
			return Busy(err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(gap/2 + rand.N(gap)): // spread, so that two units do not collide in step
		}
		gap = min(2*gap, maxGap)
	}
}

// View runs fn in a transaction that cannot write.
func (s *Store) View(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	err := s.run(ctx, s.reader, &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead}, fn)
	if err != nil {
		return s.mapReadError(ctx, err)
	}
	return nil
}

// Read runs fn without a transaction.
func (s *Store) Read(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	u := &Unit{pool: s.reader, store: s}
	defer func() { s.reader.prepare(ctx, u.unprepared) }()
	if err := fn(ctx, s.repositories(u)); err != nil {
		return s.mapReadError(ctx, err)
	}
	return u.failed
}

// ReadPlainly reads all rows into dest, a pointer to a slice, outside of any unit and by a statement
// that is planned each time.
func (s *Store) ReadPlainly(ctx context.Context, what string, dest any, query string, args ...any) error {
	if err := s.reader.db.SelectContext(ctx, dest, query, args...); err != nil {
		return fmt.Errorf("%s: %w", what, s.translate(ctx, err))
	}
	return nil
}

// Statements runs fn with a unit whose statements may write, each in a transaction of its own.
func (s *Store) Statements(ctx context.Context, fn func(*Unit) error) error {
	u := &Unit{pool: s.writer, store: s, writing: true}
	defer func() { s.writer.prepare(ctx, u.unprepared) }()
	err := fn(u)
	u.publish() // where it failed, too: it may have taken effect all the same
	return s.probeOnError(ctx, err)
}

// mapReadError translates the error of a read: one that waited for a lock for too long is to
// be tried again.
func (s *Store) mapReadError(ctx context.Context, err error) error {
	if isCollision(err) {
		return Busy(err)
	}
	return s.probeOnError(ctx, err)
}

// probeOnError finds out, when nothing else says what an error means, whether the
// database can be reached at all.
func (s *Store) probeOnError(ctx context.Context, err error) error {
	if domain.KindOf(err) != domain.Internal || IsContext(err) || isCollision(err) {
		return err
	}
	if gone := s.Ping(ctx); gone != nil {
		return gone
	}
	return err
}

// awaitTurn waits until no other unit writes: first come, first served. Of those who wait for a
// connection database/sql picks any, so that some wait for very long while there are always others.
// Of the units that yield only one is in the line at a time, and while others write, too, they take no
// more than a quarter of the time. The caller ends its turn with done.
func (s *Store) awaitTurn(ctx context.Context) (done func(), err error) {
	if !outbound.IsYieldingWrite(ctx) {
		return func() { s.prompt.Add(1); <-s.writing }, s.enter(ctx, s.writing)
	}
	if err := s.enter(ctx, s.yielding); err != nil {
		return nil, err
	}
	if err := s.enter(ctx, s.writing); err != nil {
		<-s.yielding
		return nil, err
	}
	began := time.Now()
	return func() {
		took, prompt := time.Since(began), s.prompt.Load()
		others := prompt != s.promptBefore || s.waiting.Load() > 0
		s.promptBefore = prompt
		<-s.writing
		if !others {
			<-s.yielding
			return
		}
		time.AfterFunc(min(yieldRest*took, maxYieldRest), func() { <-s.yielding })
	}, nil
}

// After a unit that yields no other one writes for yieldRest times as long as it took, at most for
// maxYieldRest, where others have written since the last one or wait. Whoever waited for one
// then has done all that it has to do before the next.
const (
	yieldRest    = 3
	maxYieldRest = 300 * time.Millisecond
)

// enter waits until nobody else is in a place that holds one.
func (s *Store) enter(ctx context.Context, place chan struct{}) error {
	select {
	case place <- struct{}{}:
		return nil
	default:
	}
	if place == s.writing {
		s.waiting.Add(1)
		defer s.waiting.Add(-1)
	}
	began := time.Now()
	s.waits.Add(1)
	defer func() { s.waited.Add(int64(time.Since(began))) }()
	select {
	case place <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Store) run(ctx context.Context, p *pool, opts *sql.TxOptions, fn func(context.Context, outbound.Stores) error) error {
	if opts == nil && s.writing != nil {
		done, err := s.awaitTurn(ctx)
		if err != nil {
			return s.translate(ctx, err)
		}
		defer done()
	}
	tx, err := p.db.BeginTxx(ctx, opts)
	if err != nil {
		return s.noted(s.reached(ctx, fmt.Errorf("begin: %w", err)))
	}
	u := &Unit{pool: p, tx: tx, store: s, writing: opts == nil, followed: s.lists.followed.Load()}
	defer func() {
		_ = tx.Rollback() // without effect after the commit; else the error or panic that led here says more
		p.prepare(ctx, u.unprepared)
	}()
	if err := fn(ctx, s.repositories(u)); err != nil {
		return err
	}
	if err := u.writeUsage(ctx); err != nil {
		return err
	}
	if u.failed != nil {
		return u.failed
	}
	if err := tx.Commit(); err != nil {
		u.publish() // it may have taken effect all the same
		return s.noted(s.translate(ctx, fmt.Errorf("commit: %w", err)))
	}
	u.publish()
	return nil
}

// reached translates an error of asking for a connection, where whatever the driver
// cannot name means that there is none to be had.
func (s *Store) reached(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if err = s.translate(ctx, err); domain.KindOf(err) == domain.Internal && !IsContext(err) && !isCollision(err) {
		return Unavailable(err)
	}
	return err
}

// translate says what an error of something that was done within ctx means. Once that has
// ended, this is what it means, whatever a driver calls it: a statement that was
// cancelled, a transaction that is over. That the time was up is the database's doing.
func (s *Store) translate(ctx context.Context, err error) error {
	ended := ctx.Err()
	if ended != nil && !errors.Is(err, ended) {
		err = fmt.Errorf("%w: %w", ended, err)
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return Busy(err)
	case IsContext(err):
		return err
	default:
		return s.dialect.Translate(err)
	}
}
