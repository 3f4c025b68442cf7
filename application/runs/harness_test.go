package runs_test

import (
	"testing"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
	"github.com/sluicehq/sluice/application/fixture"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// env is a gateway with what the tests of this package do with it.
type env struct{ *fixture.Env }

func newEnv(t testing.TB, store *sqlstore.Store) *env {
	t.Helper()
	return &env{fixture.New(t, store)}
}

// onEachStore runs a test on both databases.
func onEachStore(t *testing.T, test func(d *env)) {
	t.Helper()
	fixture.OnEachStore(t, func(t *testing.T, store *sqlstore.Store) { test(newEnv(t, store)) })
}
