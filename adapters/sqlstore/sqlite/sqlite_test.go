package sqlite_test

import (
	"testing"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite"
	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite/sqlitetest"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

func open(t *testing.T) *sqlstore.Store {
	t.Helper()
	return openFile(t, sqlitetest.File(t))
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
	return store
}

func TestStores(t *testing.T) {
	portstest.Stores(t, func(t *testing.T) outbound.UnitOfWork { return open(t) })
}

func TestWebhookStores(t *testing.T) {
	portstest.WebhookStores(t, func(t *testing.T) outbound.UnitOfWork { return open(t) })
}
