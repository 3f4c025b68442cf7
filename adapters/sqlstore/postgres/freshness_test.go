package postgres_test

import (
	"testing"

	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

func TestFreshness(t *testing.T) {
	portstest.Freshness(t, func(t *testing.T) []outbound.UnitOfWork {
		store, address := migrated(t)
		return []outbound.UnitOfWork{store, open(t, address), open(t, address)}
	})
}
