package postgres

import (
	"context"
	"database/sql"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pressly/goose/v3/lock"

	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
)

func TestSessionsAreBoundedUnlessTheOperatorSaysOtherwiseOrTheyMigrate(t *testing.T) {
	address := pgtest.Start(t).Database(t)
	for added, want := range map[string][]string{
		"": {"5s 30s", "0 0", "5s 30s"},
		"&lock_timeout=7s&idle_in_transaction_session_timeout=9s": {"7s 9s", "0 0", "7s 9s"},
	} {
		dsn, err := dataSource(address + added)
		if err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("postgres", dsn)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		locker, err := lock.NewPostgresSessionLocker()
		if err != nil {
			t.Fatal(err)
		}
		session := &migrationLocker{SessionLocker: locker}
		var got []string
		for _, next := range []func(context.Context, *sql.Conn) error{
			func(context.Context, *sql.Conn) error { return nil }, session.SessionLock, session.SessionUnlock,
		} {
			if err := next(t.Context(), conn); err != nil {
				t.Fatal(err)
			}
			var bounds string
			const both = `SELECT current_setting('lock_timeout') || ' ' || current_setting('idle_in_transaction_session_timeout')`
			if err := conn.QueryRowContext(t.Context(), both).Scan(&bounds); err != nil {
				t.Fatal(err)
			}
			got = append(got, bounds)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(added, diff)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}
