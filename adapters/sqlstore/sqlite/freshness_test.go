package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

func TestFreshness(t *testing.T) {
	portstest.Freshness(t, func(t *testing.T) []outbound.UnitOfWork {
		file := filepath.Join(t.TempDir(), "sluice.db")
		return []outbound.UnitOfWork{openFile(t, file), openFile(t, file)}
	})
}
