// Package sqlitetest gives tests empty SQLite databases that are up to date. To migrate
// one takes longer than most tests, above all under the race detector, so that it is done
// once in a process.
package sqlitetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/sealtest"
	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite"
)

// volatile are the options of databases that need not survive a power cut.
var volatile = sqlite.Options{Volatile: true}

// empty is the file of an empty database.
var empty = sync.OnceValues(func() (file []byte, err error) {
	folder, err := os.MkdirTemp("", "sqlitetest-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	path := filepath.Join(folder, "empty.db")
	store, err := sqlite.Open(context.Background(), path, volatile)
	if err != nil {
		return nil, err
	}
	if _, err = store.Migrator().Up(context.Background()); err == nil {
		err = sealtest.Seal(context.Background(), store)
	}
	if err = errors.Join(err, store.Close()); err != nil { // closing it writes everything to the one file
		return nil, err
	}
	return os.ReadFile(path)
})

// File returns the path of a database of the test's own, which is removed when the test
// ends.
func File(tb testing.TB) string {
	tb.Helper()
	file, err := empty()
	if err != nil {
		tb.Fatalf("make an empty database: %v", err)
	}
	path := filepath.Join(tb.TempDir(), "sluice.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// Open opens a database of the test's own, which is closed when the test ends; the test
// may do so before. It does not survive a power cut.
func Open(tb testing.TB) *sqlstore.Store {
	tb.Helper()
	store, err := sqlite.Open(tb.Context(), File(tb), volatile)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := store.Close(); err != nil {
			tb.Error(err)
		}
	})
	if err := sealtest.Seal(tb.Context(), store); err != nil {
		tb.Fatal(err)
	}
	return store
}
