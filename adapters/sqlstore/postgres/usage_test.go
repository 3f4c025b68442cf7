package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/usage"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Units that record things of one tenant at the same time, and one that folds what they count, never wait for each other at
// the tables of usage: there is no row of them that two units write.
func TestWhoeverCountsUsageWaitsForNobody(t *testing.T) {
	t.Parallel()
	store, address := migrated(t)
	startRuns(t, store, 1)
	db, err := sql.Open("postgres", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	// Of other locks, such as the one that lets a table grow, nobody has one until the end of a transaction.
	const waits = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event IN ('transactionid', 'tuple') AND query LIKE '%usage_deltas%'`
	var all sync.WaitGroup
	done := make(chan struct{})
	for n := range 8 {
		all.Go(func() {
			for i := range 40 {
				err := store.Do(t.Context(), func(ctx context.Context, st outbound.Stores) error {
					id := run.ID(fmt.Sprintf("run_%d_%d", n, i))
					_, err := st.Runs.Runs.Start(ctx, run.New(id, run.Start{Tenant: owner, Workflow: "wf_1", Version: "wfv_1", Cause: run.CauseManual}, noon))
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	go func() {
		all.Wait()
		close(done)
	}()
	for samples := 0; ; samples++ {
		var waiting int
		if err := db.QueryRowContext(t.Context(), waits).Scan(&waiting); err != nil || waiting > 0 {
			t.Fatalf("%d statements that count usage wait for a lock: %v", waiting, err)
		}
		err := store.Do(t.Context(), func(ctx context.Context, st outbound.Stores) error {
			_, _, err := st.Usage.Folding.Fold(ctx, 50)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-done:
			used, err := startedOf(t, store)
			if err != nil || used != 8*40+1 || samples == 0 {
				t.Errorf("%d runs were counted, with %d samples: %v", used, samples, err)
			}
			return
		default:
		}
	}
}

// The deletion of a tenant, which may take minutes, keeps nobody from folding what others used, nor from noting what is kept of them.
func TestFoldingUsageWaitsForNoDeletion(t *testing.T) {
	t.Parallel()
	store, address := migrated(t)
	startRuns(t, store, 1)
	db, err := sql.Open("postgres", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	deletion, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = deletion.Rollback() }()
	const another = `INSERT INTO tenants (id, name, status, settings, created_at, updated_at, revision) VALUES ('tenant_2', 'b', 'active', '{}', now(), now(), 1);
		INSERT INTO usage_deltas (tenant_id, day, removed, runs_started) VALUES ('tenant_2', '2026-11-27', false, 1), ('tenant_gone', '2026-11-27', false, 1)`
	if _, err := db.ExecContext(t.Context(), another); err != nil {
		t.Fatal(err)
	}
	if _, err := deletion.ExecContext(t.Context(), `SELECT FROM tenants WHERE id = $1 FOR UPDATE`, owner); err != nil { // as a deletion begins
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // that of whoever waits for the deletion
	defer cancel()
	err = store.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		_, of, err := st.Usage.Folding.Fold(ctx, 50)
		if diff := cmp.Diff([]tenant.ID{"tenant_2", "tenant_gone"}, of); diff != "" {
			t.Errorf("counts are folded of other tenants: %s", diff)
		}
		reached := usage.Threshold{Tenant: owner, Month: "2026-11-01", Budget: tenant.BudgetNames()[0], Limit: 1, Percent: 80}
		first, err2 := st.Usage.Budgets.Announce(ctx, reached)
		if len(first) != 0 {
			t.Errorf("who is being deleted is told of %v", first)
		}
		return errors.Join(err, err2, st.Usage.Folding.NoteKept(ctx, "2026-11-27", noon))
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := count(t, db, "usage_deltas"); n != 1 {
		t.Errorf("%d counts are left of who is being deleted", n)
	}
}

// The gateway's own bound on what is kept is more than PostgreSQL takes a parameter for unless it is told.
func TestWhatIsUsedIsReadWithTheBoundOfTheGateway(t *testing.T) {
	t.Parallel()
	store, _ := migrated(t)
	store.BytesKept = 10 << 30
	startRuns(t, store, 1)
	err := store.View(t.Context(), func(ctx context.Context, st outbound.Stores) error {
		found, err := st.Usage.Budgets.Standings(ctx, "2026-11-01", owner)
		if err == nil && (len(found) != 1 || found[0].Budgets.BytesKept != 10<<30) {
			t.Errorf("the standings are %+v", found)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// startedOf is how many runs of the tenant were counted.
func startedOf(t *testing.T, store outbound.UnitOfWork) (started int64, err error) {
	t.Helper()
	err = store.View(t.Context(), func(ctx context.Context, st outbound.Stores) error {
		found, err := st.Usage.Log.Days(ctx, owner, "1970-01-01", "9999-01-01")
		for _, d := range found {
			started += d.Counts.Started
		}
		return err
	})
	return started, err
}
