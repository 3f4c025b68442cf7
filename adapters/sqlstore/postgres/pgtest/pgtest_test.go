package pgtest_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func query(t *testing.T, address, statement string) string {
	t.Helper()
	db, err := sql.Open("postgres", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var answer string
	if err := db.QueryRowContext(t.Context(), statement).Scan(&answer); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return answer
}

func TestEachTestGetsADatabaseOfItsOwnInAnOddZone(t *testing.T) {
	server := pgtest.Start(t)
	a, b := server.Database(t), server.Database(t)
	if a == b {
		t.Errorf("both tests got %s", a)
	}
	if zone := query(t, a, "SHOW timezone"); zone != "Asia/Kathmandu" {
		t.Errorf("the sessions' zone is %s", zone)
	}
	query(t, a, "WITH made AS (SELECT 1) SELECT 'x' FROM made")
}

func TestATemplateIsMigratedOnceAndCopied(t *testing.T) {
	server := pgtest.Start(t)
	runs := 0
	migrate := func(address string) error {
		runs++
		db, err := sql.Open("postgres", address)
		if err != nil {
			return err
		}
		defer func() { _ = db.Close() }()
		_, err = db.Exec("CREATE TABLE things (name text); INSERT INTO things VALUES ('copied')")
		return err
	}
	for range 2 {
		if name := query(t, server.Migrated(t, migrate), "SELECT name FROM things"); name != "copied" {
			t.Errorf("the copy holds %q", name)
		}
	}
	if runs != 1 {
		t.Errorf("migrated %d times", runs)
	}
}

func TestADatabaseIsDroppedWhenItsTestEnds(t *testing.T) {
	server := pgtest.Start(t)
	count := "SELECT count(*)::text FROM pg_database WHERE datname LIKE 'test_%'"
	outer := server.Database(t)
	before := query(t, outer, count)
	t.Run("inner", func(t *testing.T) { server.Database(t) })
	if after := query(t, outer, count); after != before {
		t.Errorf("%s databases before, %s after", before, after)
	}
}

func TestAServerLeavesNothingBehind(t *testing.T) {
	folders := func() int {
		found, err := filepath.Glob(filepath.Join(os.TempDir(), "sluice-pg-*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	pgtest.Start(t)
	stale := filepath.Join(os.TempDir(), "sluice-pg-999999999-x") // no process has this number
	if err := os.MkdirAll(filepath.Join(stale, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	address, stop, err := pgtest.Launch(t.Context(), pgtest.Options{Durable: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stale); !os.IsNotExist(err) {
		t.Errorf("the folder of a dead process was left: %v", err)
	}
	if fsync := query(t, address, "SHOW fsync"); fsync != "on" {
		t.Errorf("a durable server has fsync %s", fsync)
	}
	running := folders()
	stop()
	if left := folders(); left != running-1 {
		t.Errorf("%d folders while it ran, %d after", running, left)
	}
}
