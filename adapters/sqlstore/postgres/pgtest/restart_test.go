package pgtest_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
)

func TestARestartedServerKeepsWhatWasCommittedAndNoConnection(t *testing.T) {
	for claim, how := range map[string]pgtest.Stopping{"a fast stop": pgtest.Fast, "an immediate one": pgtest.Immediate} {
		t.Run(claim, func(t *testing.T) {
			instance := launch(t, pgtest.Options{})
			db, err := sql.Open("postgres", instance.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			conn, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			if _, err := conn.ExecContext(t.Context(), `CREATE TABLE kept AS SELECT 'kept' AS name`); err != nil {
				t.Fatal(err)
			}
			if err := instance.Restart(t.Context(), how, 10*time.Millisecond); err != nil {
				t.Fatal(err)
			}
			if _, err := conn.ExecContext(t.Context(), "SELECT 1"); err == nil {
				t.Error("a connection outlived the restart")
			}
			if name := query(t, instance.URL, "SELECT name FROM kept"); name != "kept" {
				t.Errorf("the server kept %q", name)
			}
		})
	}
}
