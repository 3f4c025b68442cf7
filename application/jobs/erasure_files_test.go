package jobs_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/sealtest"
	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite"
	"github.com/sluicehq/sluice/application/fixture"
)

// What was not encrypted is nowhere in the files either, among them the write-ahead log, once that was emptied.
func TestNothingIsLeftInTheFilesOfSQLite(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	store, err := sqlite.Open(t.Context(), filepath.Join(folder, "sluice.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() }) // nothing is pending
	if _, err := store.Migrator().Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := sealtest.Seal(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	d := newEnv(fixture.New(t, store))
	holds := func() (files []string) {
		all, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range all {
			content, err := os.ReadFile(filepath.Join(folder, file.Name()))
			if err == nil && bytes.Contains(content, []byte(name[:6])) {
				files = append(files, file.Name())
			}
		}
		return files
	}
	for subject, draft := range subjects() {
		d.fillFor(subject)
		if len(holds()) == 0 {
			t.Error("before, it is in no file")
		}
		d.erase(d.Raw, draft)
		for deadline := time.Now().Add(20 * time.Second); len(holds()) > 0; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("of %s something is left in %v", subject, holds())
			}
		}
	}
}
