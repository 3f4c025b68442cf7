package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

func open(t *testing.T) *sqlstore.Store {
	t.Helper()
	return openFile(t, filepath.Join(t.TempDir(), "sluice.db"))
}

// openFile opens the database in a file, as each of several processes may.
func openFile(t *testing.T, file string) *sqlstore.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), file, sqlite.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := store.Migrator().Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	return store
}

func TestStores(t *testing.T) {
	portstest.Stores(t, func(t *testing.T) outbound.UnitOfWork { return open(t) })
}

func TestWebhookStores(t *testing.T) {
	portstest.WebhookStores(t, func(t *testing.T) outbound.UnitOfWork { return open(t) })
}
