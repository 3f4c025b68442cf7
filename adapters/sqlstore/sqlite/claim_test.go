package sqlite_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite"
)

func TestADatabaseHasOneClaimAtATime(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "data", "sluice.db")
	held := claim(t, file)
	_, err := sqlite.Claim(file)
	if !errors.Is(err, sqlite.ErrClaimed) {
		t.Fatalf("claimed twice: %v", err)
	}
	if want := "(process " + strconv.Itoa(os.Getpid()) + ")"; runtime.GOOS != "windows" && !strings.HasSuffix(err.Error(), want) {
		t.Errorf("the error %q does not end with %q", err, want)
	}
	store, err := sqlite.Open(t.Context(), file, sqlite.Options{Volatile: true})
	if err != nil {
		t.Fatalf("a claimed database cannot be opened: %v", err)
	}
	if err := errors.Join(store.Close(), held.Close()); err != nil {
		t.Fatal(err)
	}
	again := claim(t, file)
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestALinkLeadsToTheSameClaim(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file, link := filepath.Join(folder, "sluice.db"), filepath.Join(folder, "link.db")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	held := claim(t, link)
	defer func() { _ = held.Close() }()
	if _, err := sqlite.Claim(file); !errors.Is(err, sqlite.ErrClaimed) {
		t.Errorf("claimed under another name: %v", err)
	}
	other := claim(t, filepath.Join(folder, "other.db"))
	defer func() { _ = other.Close() }()
}

func claim(t *testing.T, file string) io.Closer {
	t.Helper()
	held, err := sqlite.Claim(file)
	if err != nil {
		t.Fatal(err)
	}
	return held
}
