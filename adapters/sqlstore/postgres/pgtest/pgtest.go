// Package pgtest gives tests a real PostgreSQL: the one that TEST_DATABASE_URL
// names, or a server of their own that it starts from the binaries it finds, after
// installing them where that is possible. It never skips a test.
package pgtest

import (
	"context"
	"crypto/rand"
	"database/sql"
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
	address  string // of its maintenance database
	template templates
}

// templates holds the databases that new ones are copied from, by what made them.
type templates struct {
	mu   sync.Mutex
	name string
	err  error
}

var shared struct {
	once   sync.Once
	server *Server
	stop   func()
	err    error
}

// Main runs the tests of a package and stops the server that they started. Call it
// from TestMain.
func Main(m *testing.M) {
	code := m.Run()
	if shared.stop != nil {
		shared.stop()
	}
	os.Exit(code)
}

// Start returns the server of this process, starting it the first time. The package
// of the test must hand its TestMain to [Main].
func Start(tb testing.TB) *Server {
	tb.Helper()
	shared.once.Do(func() {
		address := os.Getenv("TEST_DATABASE_URL")
		if address == "" {
			address, shared.stop, shared.err = Launch(context.Background(), Options{})
		}
		shared.server = &Server{address: address}
	})
	if shared.err != nil {
		tb.Fatalf("no PostgreSQL for the tests: %v", shared.err)
	}
	return shared.server
}

// Database makes an empty database for one test and drops it when the test ends. It
// returns its URL.
func (s *Server) Database(tb testing.TB) string {
	tb.Helper()
	return s.create(tb, "template0")
}

// Migrated makes a database like [Server.Database], copied from one that migrate
// brought up to date once in this process.
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

func (s *Server) create(tb testing.TB, template string) string {
	tb.Helper()
	name := "test_" + suffix()
	quoted := pq.QuoteIdentifier(name)
	err := s.exec(
		`CREATE DATABASE `+quoted+` TEMPLATE `+pq.QuoteIdentifier(template),
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
	db, err := sql.Open("postgres", s.address)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // nothing is pending
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

func (s *Server) url(database string) string {
	u, err := url.Parse(s.address)
	if err != nil {
		return s.address // it was used before, so it parses
	}
	u.Path = "/" + database
	return u.String()
}

func suffix() string { return strings.ToLower(rand.Text()) }
