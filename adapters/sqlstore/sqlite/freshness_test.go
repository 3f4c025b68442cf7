package sqlite_test

import (
	"testing"

	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite/sqlitetest"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

func TestFreshness(t *testing.T) {
	portstest.Freshness(t, func(t *testing.T) []outbound.UnitOfWork {
		file := sqlitetest.File(t)
		return []outbound.UnitOfWork{openFile(t, file), openFile(t, file)}
	})
}
