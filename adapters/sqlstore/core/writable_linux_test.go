package core_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/adapters/sqlstore/plantest"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite"
	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite/sqlitetest"
)

// smallDisk is a file system of its own with little room, and how to fill it up and to make
// room again. To mount one takes a right that not every account has; the tests that need
// none stand in writable_test.go.
func smallDisk(t *testing.T, size string) (folder string, fill, release func()) {
	t.Helper()
	folder = t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size="+size+",mode=777"); err != nil {
		if errors.Is(err, syscall.EPERM) {
			t.Skip("this account may not mount a file system")
		}
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	filler := filepath.Join(folder, "filler")
	fill = func() {
		t.Helper()
		file, err := os.OpenFile(filler, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = file.Write(make([]byte, 4096))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		_ = file.Close()
	}
	release = func() {
		t.Helper()
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
	}
	return folder, fill, release
}

func TestSQLiteOnADiskThatIsReallyFull(t *testing.T) {
	t.Parallel()
	folder, fill, release := smallDisk(t, "8m")
	content, err := os.ReadFile(sqlitetest.File(t))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "sluice.db")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.Open(t.Context(), file, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	wantRefusalsWhile(t, store, fill, release)
}

// Only a table is on that disk: a server that cannot write its log ends.
func TestPostgreSQLOnADiskThatIsReallyFull(t *testing.T) {
	t.Parallel()
	folder, fill, release := smallDisk(t, "2m")
	instance, err := pgtest.Launch(t.Context(), pgtest.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(instance.Stop)
	if err := plantest.Migrate(instance.URL); err != nil {
		t.Fatal(err)
	}
	store, err := postgres.Open(t.Context(), instance.URL, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	var data string
	db := core.WriterOf(store.Store)
	if err := db.GetContext(t.Context(), &data, "SHOW data_directory"); err != nil {
		t.Fatal(err)
	}
	about, err := os.Stat(data)
	if err != nil {
		t.Fatal(err)
	}
	owner := about.Sys().(*syscall.Stat_t)
	for above := folder; above != os.TempDir(); above = filepath.Dir(above) { // the server passes through
		if err := os.Chmod(above, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(folder, int(owner.Uid), int(owner.Gid)); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		fmt.Sprintf("CREATE TABLESPACE small LOCATION '%s'", folder),
		"ALTER TABLE operator_outcomes SET TABLESPACE small", "ALTER TABLE tenants SET TABLESPACE small",
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	wantRefusalsWhile(t, store, fill, release)
}
