// Package pgtest gives tests a real PostgreSQL: the one that TEST_DATABASE_URL
// names, or a server of their own that it starts from the binaries it finds, after
// installing them where that is possible. It never skips a test.
package pgtest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lib/pq"
)

// sessionZone is the time zone of every session: an odd one, so that a test finds a
// time that was not turned into UTC.
const sessionZone = "Asia/Kathmandu"

// Server is a PostgreSQL server for the tests of one process.
type Server struct {
	address  url.URL // of its maintenance database
	strategy string  // clause of CREATE DATABASE
	template template
	instance *Instance // nil when somebody else runs the server
	db       *sql.DB   // of its maintenance database, which stays connected: connecting takes a third as long as making a database
}

// template is the database that new ones are copied from. It is made once.
type template struct {
	mu   sync.Mutex
	name string
	err  error
}

var shared struct {
	once   sync.Once
	server *Server
	err    error
}

// Main runs the tests of a package and then removes what is left of the server that
// they used: all of it when they started it, the template otherwise. Call it from
// TestMain.
func Main(m interface{ Run() int }) {
	code := m.Run()
	if shared.server != nil {
		if err := shared.server.close(); err != nil {
			fmt.Fprintf(os.Stderr, "pgtest: %v\n", err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

// Start returns the server of this process, starting it the first time. The package
// of the test must hand its TestMain to [Main].
func Start(tb testing.TB) *Server {
	tb.Helper()
	shared.once.Do(func() { shared.server, shared.err = connect(context.Background(), os.Getenv(AddressVariable)) })
	if shared.err != nil {
		tb.Fatalf("no PostgreSQL for the tests: %v", shared.err)
	}
	return shared.server
}

// AddressVariable is the environment variable that names a server for the tests: the
// URL of a database on it, as an account that may make databases.
const AddressVariable = "TEST_DATABASE_URL"

// connect uses the server at the given address, or launches one when it is empty.
func connect(ctx context.Context, address string) (*Server, error) {
	var s Server
	if address == "" {
		instance, err := Launch(ctx, Options{InMemory: true})
		if err != nil {
			return nil, err
		}
		s.instance, address = instance, instance.URL
	}
	u, err := url.Parse(address)
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") {
		return nil, fmt.Errorf("%s must be a URL like postgres://user:password@host:port/postgres", AddressVariable)
	}
	s.address = *u
	if s.db, err = sql.Open("postgres", address); err != nil {
		return nil, errors.Join(err, s.close())
	}
	var version int
	if err = s.db.QueryRowContext(ctx, `SELECT current_setting('server_version_num')::int`).Scan(&version); err != nil {
		return nil, errors.Join(err, s.close())
	}
	if version >= fileCopySince {
		s.strategy = " STRATEGY file_copy"
	}
	return &s, nil
}

// fileCopySince is the first version that can be told how to copy a database. Copying
// files is the faster way for small ones where nothing waits for a disk.
const fileCopySince = 150000

// close stops the server if it was started here, and drops the template otherwise.
func (s *Server) close() error {
	if s.db != nil {
		defer func() { _ = s.db.Close() }() // nothing is pending
	}
	if s.instance != nil {
		s.instance.Stop()
		return nil
	}
	if s.template.name == "" {
		return nil
	}
	return s.exec(`DROP DATABASE IF EXISTS ` + pq.QuoteIdentifier(s.template.name) + ` WITH (FORCE)`)
}

// Database makes an empty database for one test and drops it when the test ends. It
// returns its URL.
func (s *Server) Database(tb testing.TB) string {
	tb.Helper()
	return s.create(tb, "template0")
}

// Migrated makes a database like [Server.Database], copied from one that migrate
// brought up to date once in this process: the first call's, so all of a process
// have to migrate alike. Migrate must leave no connection open.
func (s *Server) Migrated(tb testing.TB, migrate func(address string) error) string {
	tb.Helper()
	s.template.mu.Lock()
	if s.template.name == "" && s.template.err == nil {
		s.template.name = "template_" + suffix()
		if s.template.err = s.exec(`CREATE DATABASE ` + pq.QuoteIdentifier(s.template.name)); s.template.err == nil {
			s.template.err = migrate(s.url(s.template.name))
		}
	}
	name, err := s.template.name, s.template.err
	s.template.mu.Unlock()
	if err != nil {
		tb.Fatalf("make the template database: %v", err)
	}
	return s.create(tb, name)
}

func (s *Server) create(tb testing.TB, from string) string {
	tb.Helper()
	name := "test_" + suffix()
	quoted := pq.QuoteIdentifier(name)
	err := s.exec(
		`CREATE DATABASE `+quoted+` TEMPLATE `+pq.QuoteIdentifier(from)+s.strategy,
		`ALTER DATABASE `+quoted+` SET timezone = `+pq.QuoteLiteral(sessionZone),
	)
	if err != nil {
		tb.Fatalf("make a database for the test: %v", err)
	}
	tb.Cleanup(func() {
		if err := s.exec(`DROP DATABASE ` + quoted + ` WITH (FORCE)`); err != nil {
			tb.Errorf("drop the database of the test: %v", err)
		}
	})
	return s.url(name)
}

// exec runs statements one after another on the maintenance database.
func (s *Server) exec(statements ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, statement := range statements {
		if _, err := s.db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

func (s *Server) url(database string) string {
	u := s.address
	u.Path = "/" + database
	return u.String()
}

func suffix() string { return strings.ToLower(rand.Text()) }
