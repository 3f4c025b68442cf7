package sqlite_test

import (
	"testing"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite/sqlitetest"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

func TestTriggerIntake(t *testing.T) {
	portstest.TriggerIntake(t, func(t *testing.T) (work outbound.UnitOfWork, here, there outbound.TriggerIntake) {
		file := sqlitetest.File(t)
		store, other := openFile(t, file), openFile(t, file)
		return store, sqlstore.NewTriggerIntake(store), sqlstore.NewTriggerIntake(other)
	})
}
