package postgres_test

import (
	"testing"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

func TestTriggerInserter(t *testing.T) {
	portstest.TriggerInserter(t, func(t *testing.T) (work outbound.UnitOfWork, here, there outbound.TriggerInserter) {
		store, address := migrated(t)
		return store, sqlstore.NewTriggerInserter(store), sqlstore.NewTriggerInserter(open(t, address))
	})
}

// A driver sends a statement again whose answer was lost with its connection; the database
// refuses it then, for it had its effect.
func TestATriggerThatIsThereAlreadyWasAdded(t *testing.T) {
	portstest.ReinsertedTriggers(t, func(t *testing.T) (work outbound.UnitOfWork, here, there outbound.TriggerInserter) {
		store, _ := migrated(t)
		return store, sqlstore.NewTriggerInserter(store), sqlstore.NewTriggerInserter(store)
	})
}
