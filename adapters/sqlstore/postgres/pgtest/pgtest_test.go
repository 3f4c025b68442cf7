package pgtest_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
)

// launcherVariable makes this test binary launch a server and wait to be killed.
const launcherVariable = "PGTEST_LAUNCHER"

func TestMain(m *testing.M) {
	if os.Getenv(launcherVariable) != "" {
		launchAndWait()
	}
	pgtest.Main(m)
}

func launchAndWait() {
	instance, err := pgtest.Launch(context.Background(), pgtest.Options{InMemory: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(instance.URL)
	select {}
}

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
	for _, address := range []string{a, b} {
		if zone := query(t, address, "SHOW timezone"); zone != "Asia/Kathmandu" {
			t.Errorf("the sessions' zone is %s", zone)
		}
		if tables := query(t, address, "SELECT count(*)::text FROM pg_tables WHERE schemaname = 'public'"); tables != "0" {
			t.Errorf("a new database holds %s tables", tables)
		}
	}
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
	outer := server.Database(t)
	var inner string
	known := func() string {
		return query(t, outer, fmt.Sprintf("SELECT count(*)::text FROM pg_database WHERE datname = '%s'", inner))
	}
	t.Run("inner", func(t *testing.T) {
		u, err := url.Parse(server.Database(t))
		if err != nil {
			t.Fatal(err)
		}
		inner = strings.TrimPrefix(u.Path, "/")
		if known() != "1" {
			t.Errorf("%s is not there while its test runs", inner)
		}
	})
	if known() != "0" {
		t.Errorf("%s is still there after its test", inner)
	}
}

// folders lists the servers' folders of one process. Other test processes have
// theirs at the same time.
func folders(t *testing.T, pid int) (found []string) {
	t.Helper()
	for _, root := range []string{os.TempDir(), "/dev/shm"} {
		in, err := filepath.Glob(filepath.Join(root, fmt.Sprintf("sluice-pg-%d-*", pid)))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, in...)
	}
	return found
}

func launch(t *testing.T, opts pgtest.Options) *pgtest.Instance {
	t.Helper()
	instance, err := pgtest.Launch(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(instance.Stop)
	return instance
}

func TestAStoppedServerLeavesNothingBehind(t *testing.T) {
	before := len(folders(t, os.Getpid()))
	parent, err := os.MkdirTemp("", "pgtest-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(parent) })
	if err := os.Chmod(parent, 0o711); err != nil { // PostgreSQL may run as another user
		t.Fatal(err)
	}
	data := filepath.Join(parent, "data")
	instance := launch(t, pgtest.Options{Data: data})
	if held := query(t, instance.URL, "SHOW data_directory"); held != data {
		t.Errorf("the cluster is in %s, not in %s", held, data)
	}
	if now := len(folders(t, os.Getpid())); now != before+1 {
		t.Errorf("%d folders before, %d while it runs", before, now)
	}
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
	instance.Stop()
	if _, err := conn.ExecContext(t.Context(), "SELECT 1"); err == nil {
		t.Error("the server still answers")
	}
	if left := len(folders(t, os.Getpid())); left != before {
		t.Errorf("%d folders before, %d after", before, left)
	}
	if _, err := os.Stat(data); !os.IsNotExist(err) {
		t.Errorf("the cluster was left: %v", err)
	}
}

func TestAServerIsMadeToOrder(t *testing.T) {
	for claim, c := range map[string]struct {
		opts  pgtest.Options
		fsync string
		level string
	}{
		"a server for tests does not wait for the disk":     {pgtest.Options{}, "off", "replica"},
		"a durable server does":                             {pgtest.Options{Durable: true}, "on", "replica"},
		"settings are added to, and win over, the server's": {pgtest.Options{Durable: true, Settings: []string{"fsync=off", "wal_level=logical"}}, "off", "logical"},
	} {
		t.Run(claim, func(t *testing.T) {
			instance := launch(t, c.opts)
			if fsync, level := query(t, instance.URL, "SHOW fsync"), query(t, instance.URL, "SHOW wal_level"); fsync != c.fsync || level != c.level {
				t.Errorf("fsync %s, wal_level %s; want %s, %s", fsync, level, c.fsync, c.level)
			}
			if network := query(t, instance.URL, "SHOW listen_addresses"); network != "" {
				t.Errorf("the server listens on %s", network)
			}
			if _, err := os.Stat(filepath.Join(instance.Programs, "initdb")); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAServerStartsBelowAFolderTooDeepForASocket(t *testing.T) {
	deep, err := os.MkdirTemp("", strings.Repeat("d", 90))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(deep) })
	t.Setenv("TMPDIR", deep)
	if one := query(t, launch(t, pgtest.Options{}).URL, "SELECT 1"); one != "1" {
		t.Errorf("SELECT 1 is %s", one)
	}
}

func TestAServerThatCannotStartSaysWhy(t *testing.T) {
	before := len(folders(t, os.Getpid()))
	_, err := pgtest.Launch(t.Context(), pgtest.Options{Settings: []string{"no_such_setting=1"}})
	if err == nil || !strings.Contains(err.Error(), "no_such_setting") {
		t.Errorf("the error does not name the setting: %v", err)
	}
	if left := len(folders(t, os.Getpid())); left != before {
		t.Errorf("%d folders before, %d after", before, left)
	}
}

func TestAFolderWithoutTheProgramsIsRefused(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PG_BIN", dir)
	_, err := pgtest.Launch(t.Context(), pgtest.Options{Programs: []string{"pgbench"}})
	want := "PG_BIN names " + dir + ", which does not hold initdb, postgres, pgbench"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
