package sqlite_test

import (
	"testing"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

func TestRunSignals(t *testing.T) {
	portstest.RunSignals(t, func(t *testing.T) (here, there outbound.RunSignals) {
		s := sqlstore.NewRunSignals(open(t))
		s.Run(t.Context(), func(err error) { t.Error(err) }) // which returns, since there is nobody to tell
		return s, nil
	})
}

func TestListChanges(t *testing.T) {
	portstest.ListChanges(t, func(t *testing.T) portstest.ListStore { return open(t) }, nil)
}
