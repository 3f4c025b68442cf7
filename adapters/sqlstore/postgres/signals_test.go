package postgres_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

// signals are those of a process, which run until the test ends.
func signals(t *testing.T, store *sqlstore.Store) *sqlstore.RunSignals {
	t.Helper()
	s := sqlstore.NewRunSignals(store)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx, func(err error) { t.Log(err) }) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return s
}

func TestRunSignals(t *testing.T) {
	portstest.RunSignals(t, func(t *testing.T) (here, there outbound.RunSignals) {
		store, address := migrated(t)
		return signals(t, store), signals(t, open(t, address))
	})
}

func TestListChanges(t *testing.T) {
	portstest.ListChanges(t, func(t *testing.T) portstest.ListStore {
		store, _ := migrated(t)
		return store
	}, func(t *testing.T) (here, there portstest.ListStore) {
		store, address := migrated(t)
		other := open(t, address)
		signals(t, store)
		signals(t, other)
		return store, other
	})
}

func TestChangesOfListsMayBeLostWhenTheConnectionBreaks(t *testing.T) {
	t.Parallel()
	store, address := migrated(t)
	signals(t, store)
	r, _ := portstest.RecordLists(t, store, owner)
	lost := func() bool {
		_, n := r.Take()
		return n > 0
	}
	eventually(t, "first connection", lost)
	db := connection(t, address)
	execute(t, db, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE 'LISTEN%'`)
	eventually(t, "word that something was lost", lost)
}

// eventually waits until something is true.
func eventually(t *testing.T, what string, fn func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !fn(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("there was no %s", what)
		}
	}
}

func TestWordOfRunsMayBeLostWhenTheConnectionBreaks(t *testing.T) {
	t.Parallel()
	store, address := migrated(t)
	here, there := signals(t, store), signals(t, open(t, address))
	e, _ := portstest.RecordSignals(t, there)
	e.Eventually(t, "first connection", func() bool { return e.Lost() > 0 })
	db := connection(t, address)
	for range 2 {
		lost := e.Lost()
		execute(t, db, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE 'LISTEN%'`)
		e.Eventually(t, "word that something was lost", func() bool { return e.Lost() > lost })
		e.Eventually(t, "word after the connection broke", func() bool {
			here.Notify("run_after")
			return e.Count("run_after") > 0
		})
	}
}
