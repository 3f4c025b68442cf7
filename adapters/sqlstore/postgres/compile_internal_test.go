package postgres

import (
	"database/sql"
	"testing"

	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
)

func TestStatementsAreNotCompiledUnlessTheOperatorWantsIt(t *testing.T) {
	address := pgtest.Start(t).Database(t)
	for added, want := range map[string]string{"": "off", "&jit=on": "on"} {
		dsn, err := dataSource(address + added)
		if err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("postgres", dsn)
		if err != nil {
			t.Fatal(err)
		}
		var got string
		if err := db.QueryRowContext(t.Context(), "SHOW jit").Scan(&got); err != nil || got != want {
			t.Errorf("with %q jit is %q, %v; want %q", added, got, err, want)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}
