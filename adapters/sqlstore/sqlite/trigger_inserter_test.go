package sqlite_test

import (
	"testing"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite/sqlitetest"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

func TestTriggerInserter(t *testing.T) {
	portstest.TriggerInserter(t, func(t *testing.T) (work outbound.UnitOfWork, here, there outbound.TriggerInserter) {
		file := sqlitetest.File(t)
		store, other := openFile(t, file), openFile(t, file)
		return store, sqlstore.NewTriggerInserter(store), sqlstore.NewTriggerInserter(other)
	})
}
