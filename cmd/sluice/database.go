package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres"
	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite"
)

// connectTimeout bounds how long the first connection to a database may take.
const connectTimeout = 15 * time.Second

// statementTimeout is how long a gateway that serves waits for PostgreSQL to answer a
// statement, so that requests do not pile up behind a database that hangs. Migrations,
// cascading deletions and the operator's commands take as long as they need.
const statementTimeout = time.Minute

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

// open opens the configured store, for statements that may take as long as they need.
func (c config) open(ctx context.Context) (*sqlstore.Store, error) { return c.openWith(ctx, 0) }

func (c config) openWith(ctx context.Context, timeout time.Duration) (store *sqlstore.Store, err error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	db, err := databaseOf(c.DatabaseURL)
	switch {
	case err != nil:
		return nil, err
	case db.sqliteFile != "":
		store, err = sqlite.Open(ctx, db.sqliteFile, sqlite.Options{})
	default:
		store, err = postgres.Open(ctx, db.postgresURL, postgres.Options{MaxConnections: c.DatabasePool, AnswerTimeout: timeout})
	}
	if err == nil {
		store.RunDays, store.BytesKept = c.RunRetention, int64(c.TenantStorage)
	}
	return store, err
}

// claim makes this process the only one that serves from a SQLite file, until release is
// closed or the process ends. Two would fire schedules twice and not see each other's
// changes. With PostgreSQL there is nothing to claim.
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
	if store, err = c.openWith(ctx, statementTimeout); err != nil {
		return nil, nil, errors.Join(err, claim.Close())
	}
	return store, served{store, claim}, nil
}

// served is a store with the claim on it.
type served struct{ store, claim io.Closer }

// Close closes both.
func (s served) Close() error { return errors.Join(s.store.Close(), s.claim.Close()) }

// openMigrated opens the store for a command that needs the schema of this version, and encrypts secrets.
func (c config) openMigrated(ctx context.Context) (*sqlstore.Store, error) {
	store, err := c.openUpToDate(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := c.openSecrets(ctx, store); err != nil {
		_ = store.Close() // the first error says more
		return nil, err
	}
	return store, nil
}

// openUpToDate opens the store for a command that needs the schema of this version. It
// makes no database: a path that is mistyped would otherwise name a second, empty one.
func (c config) openUpToDate(ctx context.Context) (*sqlstore.Store, error) {
	if db, err := databaseOf(c.DatabaseURL); err == nil && db.sqliteFile != "" {
		if _, err := os.Stat(db.sqliteFile); errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("there is no database at %s (SLUICE_DATABASE_URL); sluice serve and sluice migrate up make one", db.sqliteFile)
		}
	}
	store, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	if err = upToDate(ctx, store); err == nil {
		err = supportsDatabase(ctx, store)
	}
	if err != nil {
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
