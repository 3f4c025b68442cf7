package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

func BenchmarkRuns(b *testing.B) { portstest.RunBenchmarks(b, openForBenchmark) }

func BenchmarkMetadata(b *testing.B) {
	portstest.MetadataBenchmarks(b, openForBenchmark(b), func() {})
}

func openForBenchmark(b *testing.B) outbound.UnitOfWork {
	store, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "sluice.db"), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Close() })
	if _, err := store.Migrator().Up(b.Context()); err != nil {
		b.Fatal(err)
	}
	return store
}
