package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres"
	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite"
	"github.com/sluicehq/sluice/domain"
)

// connectTimeout bounds how long the first connection to a database may take.
const connectTimeout = 15 * time.Second

// databasePatience is how long a gateway that serves waits for PostgreSQL to answer a statement:
// longer than those take that somebody waits for, and not so long that requests pile up
// behind a database that hangs. Migrations, deletions of records to which others belong,
// and what the operator does by the command line take as long as they have to.
const databasePatience = time.Minute

// database is a database URL that was understood: exactly one member is set.
type database struct {
	sqliteFile  string
	postgresURL string
}

var errDatabaseURL = errors.New("not a database URL")

func databaseOf(address string) (database, error) {
	if file, ok := strings.CutPrefix(address, "sqlite:"); ok {
		if file = strings.TrimPrefix(file, "//"); file == "" || strings.Contains(file, "?") {
			return database{}, errDatabaseURL
		}
		return database{sqliteFile: file}, nil
	}
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") {
		return database{}, errDatabaseURL
	}
	return database{postgresURL: address}, nil
}

// String names the database without its credentials.
func (d database) String() string {
	if d.sqliteFile != "" {
		return "SQLite " + d.sqliteFile
	}
	u, err := url.Parse(d.postgresURL)
	if err != nil {
		return "PostgreSQL"
	}
	return strings.TrimSpace("PostgreSQL " + u.Host + u.Path)
}

// open opens the store that the configuration names, for statements that may take as
// long as they have to.
func (c config) open(ctx context.Context) (*sqlstore.Store, error) { return c.openWith(ctx, 0) }

func (c config) openWith(ctx context.Context, patience time.Duration) (*sqlstore.Store, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	db, err := databaseOf(c.DatabaseURL)
	switch {
	case err != nil:
		return nil, err
	case db.sqliteFile != "":
		return sqlite.Open(ctx, db.sqliteFile, sqlite.Options{})
	default:
		return postgres.Open(ctx, db.postgresURL, postgres.Options{MaxConnections: c.DatabasePool, Patience: patience})
	}
}

// claim makes this process the only one that serves from a SQLite file, until release is
// closed or the process ends. Two would each fire schedules and move runs on as if there
// were no other, and know nothing of what the other one changes. With PostgreSQL there is
// nothing to claim.
func (c config) claim() (release io.Closer, err error) {
	db, err := databaseOf(c.DatabaseURL)
	if err != nil || db.sqliteFile == "" {
		return io.NopCloser(nil), err
	}
	if release, err = sqlite.Claim(db.sqliteFile); errors.Is(err, sqlite.ErrClaimed) {
		return nil, fmt.Errorf("%s: %w; stop that one first, name a database of its own for this one (SLUICE_DATABASE_URL), or use PostgreSQL, which several share", db, err)
	}
	return release, err
}

// openToServe opens the store for a process that serves from it. closer closes it, and
// then lets another process serve from it.
func (c config) openToServe(ctx context.Context) (store *sqlstore.Store, closer io.Closer, err error) {
	claim, err := c.claim()
	if err != nil {
		return nil, nil, err
	}
	if store, err = c.openWith(ctx, databasePatience); err != nil {
		return nil, nil, errors.Join(err, claim.Close())
	}
	return store, served{store, claim}, nil
}

// served is a store with the claim on it.
type served struct{ store, claim io.Closer }

// Close closes both.
func (s served) Close() error { return errors.Join(s.store.Close(), s.claim.Close()) }

// openMigrated opens the store for a command that needs the schema of this version. It
// makes no database: a path that is mistyped would otherwise name a second, empty one.
func (c config) openMigrated(ctx context.Context) (*sqlstore.Store, error) {
	if db, err := databaseOf(c.DatabaseURL); err == nil && db.sqliteFile != "" {
		if _, err := os.Stat(db.sqliteFile); errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("there is no database at %s (SLUICE_DATABASE_URL); sluice serve and sluice migrate up make one", db.sqliteFile)
		}
	}
	store, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	if err := upToDate(ctx, store); err != nil {
		_ = store.Close() // the first error says more
		return nil, err
	}
	return store, nil
}

// upToDate reports migrations that are still to be applied.
func upToDate(ctx context.Context, store *sqlstore.Store) error {
	pending, err := store.Migrator().Pending(ctx)
	if err != nil {
		return err
	}
	if len(pending) == 0 {
		return nil
	}
	names := make([]string, len(pending))
	for i, m := range pending {
		names[i] = m.Name
	}
	return fmt.Errorf("the database lacks %d migration(s): %s; apply them with: sluice migrate up", len(pending), strings.Join(names, ", "))
}

// canServe asks whether the database answers, and whether it takes writes.
func canServe(store *sqlstore.Store) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := store.Ping(ctx); err != nil {
			return notReady(err)
		}
		return store.Writable(ctx)
	}
}

// ready says whether the gateway can serve: whether the database answers, or what else is
// wrong with it. Its schema
// is up to date, or the gateway would not have started, and migrations only ever go
// forward. To look at the schema here would take the lock of the migrations with every
// probe, and make the gateways not ready that serve while another one migrates.
//
// The driver waits for a database that hangs whatever becomes of the context. So who asks
// is told in time that there is no answer, and those who ask meanwhile share the question.
func ready(check func(context.Context) error) func(context.Context) error {
	var mu sync.Mutex
	var last *question
	return func(ctx context.Context) error {
		mu.Lock()
		if last == nil || last.old() {
			last = ask(context.WithoutCancel(ctx), check)
		}
		shared := last
		mu.Unlock()
		ctx, cancel := context.WithTimeoutCause(ctx, readyWithin, errNoAnswer)
		defer cancel()
		select {
		case <-shared.answered:
			return shared.err
		case <-ctx.Done():
			return notReady(context.Cause(ctx))
		}
	}
}

// question is whether the database answers.
type question struct {
	asked    time.Time
	answered chan struct{} // closed then
	err      error         // once it is answered
}

func ask(ctx context.Context, check func(context.Context) error) *question {
	q := &question{asked: time.Now(), answered: make(chan struct{})}
	go func() {
		defer close(q.answered)
		ctx, cancel := context.WithTimeout(ctx, readyWithin)
		defer cancel()
		q.err = check(ctx)
	}()
	return q
}

// old says whether to ask anew: it was answered, or its connection may be the only one
// that is dead.
func (q *question) old() bool {
	select {
	case <-q.answered:
		return true
	default:
		return time.Since(q.asked) >= readyWithin
	}
}

// readyWithin is how long the database may take to answer that it does.
const readyWithin = 2 * time.Second

var errNoAnswer = errors.New("the database does not answer")

func notReady(cause error) error {
	e := domain.Fail(domain.Unavailable, "not_ready", "The gateway cannot serve requests at the moment.")
	e.RetryAfter = time.Second
	return e.Because(cause)
}
