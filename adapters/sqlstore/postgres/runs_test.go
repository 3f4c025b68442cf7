package postgres_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/sqlstore/postgres"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

// startRuns stores n runs, run_0 and so on, of one tenant.
func startRuns(t testing.TB, store outbound.UnitOfWork, n int) {
	t.Helper()
	runs := make([]*run.Run, n)
	for i := range runs {
		runs[i] = run.New(run.ID(fmt.Sprint("run_", i)), run.Start{Tenant: owner, Workflow: "wf_1", Version: "wfv_1", Cause: run.CauseManual}, noon)
	}
	err := store.Do(t.Context(), func(ctx context.Context, st outbound.Stores) error {
		ten, err := tenant.New(owner, tenant.Draft{Name: "Acme"}, noon)
		if err != nil {
			return err
		}
		if err = st.Tenants.Insert(ctx, ten); err != nil {
			return err
		}
		_, err = st.Runs.Runs.Start(ctx, runs...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// claimed claims runs for an hour and names them.
func claimed(ctx context.Context, st outbound.Stores) (ids []run.ID, err error) {
	leased, err := st.Runs.Queue.Claim(ctx, outbound.RunClaim{Worker: "worker", Period: time.Hour, Limit: 9, PerTenant: 9})
	for _, l := range leased {
		ids = append(ids, l.Run.ID())
	}
	return ids, err
}

func TestARunThatSomebodyIsChangingIsLeftOutWithoutWaiting(t *testing.T) {
	t.Parallel()
	store, _ := migrated(t)
	startRuns(t, store, 3)
	err := within(t, store, func(ctx context.Context, st outbound.Stores) error {
		if _, err := st.Runs.Runs.Get(ctx, tenant.All(owner), "run_1"); err != nil {
			return err
		}
		return within(t, store, func(ctx context.Context, st outbound.Stores) error {
			got, err := claimed(ctx, st)
			if diff := cmp.Diff([]run.ID{"run_0", "run_2"}, got); err == nil && diff != "" {
				t.Error(diff)
			}
			return err
		})
	})
	if err != nil {
		t.Error(err)
	}
}

// A process that is stopped in the middle of a claim, and keeps its connection, does not
// stop the others for long.
func TestAClaimThatHangsIsGivenUp(t *testing.T) {
	t.Parallel()
	store, _ := migrated(t)
	startRuns(t, store, 1)
	var next error
	hung := within(t, store, func(ctx context.Context, st outbound.Stores) error {
		if got, err := claimed(ctx, st); len(got) != 1 || err != nil {
			return fmt.Errorf("claimed %v: %w", got, err)
		}
		patient, cancel := context.WithTimeout(t.Context(), 6*time.Second) // less than the unit around it, which does nothing
		defer cancel()
		next = store.Do(patient, func(ctx context.Context, st outbound.Stores) error {
			got, err := claimed(ctx, st)
			if diff := cmp.Diff([]run.ID{"run_0"}, got); err == nil && diff != "" {
				t.Error(diff)
			}
			return err
		})
		return nil
	})
	if hung == nil || next != nil {
		t.Errorf("the claim that hung ended with %v, the next one with %v", hung, next)
	}
}

func BenchmarkRuns(b *testing.B) {
	portstest.RunBenchmarks(b, func(b *testing.B) outbound.UnitOfWork {
		store, err := postgres.Open(b.Context(), pgtest.Start(b).Migrated(b, migrate), postgres.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = store.Close() })
		return store
	})
}

// Who holds a run, for whatever reason, keeps no other lease of the same worker from
// being renewed, and does not end the lease on that run.
func TestALockedRunKeepsNoOtherLeaseFromBeingRenewed(t *testing.T) {
	t.Parallel()
	store, _ := migrated(t)
	startRuns(t, store, 3)
	var leases []outbound.RunLease
	renewed := func(what string, skipped ...run.ID) {
		t.Helper()
		got := make(map[run.ID]bool)
		err := within(t, store, func(ctx context.Context, st outbound.Stores) error {
			good, err := st.Runs.Queue.Renew(ctx, leases, 2*time.Hour)
			for _, l := range good {
				got[l.Run] = l.Skipped
			}
			return err
		})
		want := map[run.ID]bool{"run_0": false, "run_1": false, "run_2": false}
		for _, id := range skipped {
			want[id] = true
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Error(what, err, diff)
		}
	}
	err := within(t, store, func(ctx context.Context, st outbound.Stores) error {
		leased, err := st.Runs.Queue.Claim(ctx, outbound.RunClaim{Worker: "worker", Period: time.Hour, Limit: 9, PerTenant: 9})
		for _, l := range leased {
			leases = append(leases, l.Lease)
		}
		return err
	})
	if err != nil || len(leases) != 3 {
		t.Fatal(leases, err)
	}
	err = within(t, store, func(ctx context.Context, st outbound.Stores) error {
		if _, err := st.Runs.Runs.Get(ctx, tenant.All(owner), "run_1"); err != nil {
			return err
		}
		renewed("while it is locked", "run_1")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := within(t, store, func(ctx context.Context, st outbound.Stores) error {
		at, ok, err := st.Runs.Queue.Next(ctx, time.Time{})
		now, errNow := st.Runs.Queue.Now(ctx)
		if left := at.Sub(now); !ok || left > time.Hour || left < 50*time.Minute {
			t.Errorf("the lease that was left out ends in %s (%v)", left, ok)
		}
		return errors.Join(err, errNow)
	}); err != nil {
		t.Error(err)
	}
	renewed("when it is free again")
}

// A run that cannot be read is leased to nobody and is put off, and the others are leased.
func TestARunThatCannotBeReadIsPostponedAndTheOthersAreLeased(t *testing.T) {
	t.Parallel()
	store, address := migrated(t)
	startRuns(t, store, 3)
	db, err := sql.Open("postgres", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }() // nothing is pending
	if _, err := db.ExecContext(t.Context(), `UPDATE runs SET progress = '{' WHERE id = 'run_0'`); err != nil {
		t.Fatal(err)
	}
	var at time.Time
	claim := func(want map[run.ID]bool) {
		t.Helper()
		got := make(map[run.ID]bool) // whether it can be read
		err := within(t, store, func(ctx context.Context, st outbound.Stores) error {
			leased, err := st.Runs.Queue.Claim(ctx, outbound.RunClaim{Worker: "worker", Period: time.Hour, Limit: 9, PerTenant: 9})
			for _, l := range leased {
				got[l.Lease.Run] = l.Unreadable == nil && l.Run != nil
				at = l.At
			}
			return err
		})
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Error(err, diff)
		}
	}
	claim(map[run.ID]bool{"run_0": false, "run_1": true, "run_2": true})
	claim(map[run.ID]bool{})
	if err := within(t, store, func(ctx context.Context, st outbound.Stores) error {
		next, ok, err := st.Runs.Queue.Next(ctx, time.Time{})
		if !ok || !next.Equal(at.Add(outbound.UnreadableWait)) {
			t.Errorf("it is looked at again at %s (%v), not a minute after %s", next, ok, at)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}

// A unit that meets a lock that nobody gives back is repeated a few times, and says then
// that the database is busy.
func TestAUnitThatWaitsForALockInVainGivesUp(t *testing.T) {
	t.Parallel()
	store, address := migrated(t)
	startRuns(t, store, 1)
	hasty := open(t, address+"&lock_timeout=50ms")
	tries := 0
	err := within(t, store, func(ctx context.Context, st outbound.Stores) error {
		if _, err := st.Runs.Runs.Get(ctx, tenant.All(owner), "run_0"); err != nil {
			return err
		}
		err := within(t, hasty, func(ctx context.Context, st outbound.Stores) error {
			tries++
			_, err := st.Runs.Runs.Get(ctx, tenant.All(owner), "run_0")
			return err
		})
		var e *domain.Error
		if !errors.As(err, &e) || e.Code != "database_busy" || ctx.Err() != nil || tries < 2 {
			t.Errorf("after %d tries: %v", tries, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// Nothing refers to what a run leaves in other tables: a trigger of the schema removes it.
func TestADeletedRunLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	for claim, deletion := range map[string]string{"by itself": `DELETE FROM runs`, "with its tenant": `DELETE FROM tenants`} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			store, address := migrated(t)
			startRuns(t, store, 2)
			db, err := sql.Open("postgres", address)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }() // nothing is pending
			if _, err := db.ExecContext(t.Context(), `UPDATE runs SET outputs = 1`); err != nil {
				t.Fatal(err)
			}
			left := make(map[string]int)
			for _, table := range []string{"live_runs", "run_facets", "run_history", "run_outputs"} {
				if content, ok := map[string]string{"run_history": "1, '[]'", "run_outputs": "'node_1', '1'"}[table]; ok {
					if _, err := db.ExecContext(t.Context(), `INSERT INTO `+table+` SELECT tenant_id, id, `+content+` FROM runs`); err != nil {
						t.Fatal(err)
					}
				}
				left[table] = count(t, db, table)
			}
			if diff := cmp.Diff(map[string]int{"live_runs": 2, "run_facets": 2, "run_history": 2, "run_outputs": 2}, left); diff != "" {
				t.Error(diff)
			}
			if _, err := db.ExecContext(t.Context(), deletion); err != nil {
				t.Fatal(err)
			}
			for table := range left {
				left[table] = count(t, db, table)
			}
			if diff := cmp.Diff(map[string]int{"live_runs": 0, "run_facets": 0, "run_history": 0, "run_outputs": 0}, left); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func count(t *testing.T, db *sql.DB, table string) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), `SELECT count(*) FROM `+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestARunIsReadWholeWhileItBeginsALoop(t *testing.T) {
	t.Parallel()
	store, url := migrated(t)
	startRuns(t, store, 1)
	db, err := sql.Open("postgres", url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }() // nothing is pending
	read := make(chan error, 1)
	get := func(ctx context.Context, st outbound.Stores) error {
		r, err := st.Runs.Runs.Get(ctx, tenant.All(owner), "run_0")
		if err == nil && r.Payload() == nil {
			err = errors.New("the run has no payload")
		}
		return err
	}
	err = within(t, store, func(ctx context.Context, st outbound.Stores) error {
		r, err := st.Runs.Runs.Get(ctx, tenant.All(owner), "run_0")
		if err != nil {
			return err
		}
		go func() { read <- within(t, store, get) }()
		for waiting := 0; waiting == 0; {
			const locks = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
			if err := db.QueryRowContext(ctx, locks).Scan(&waiting); err != nil {
				return err
			}
		}
		return st.Runs.Loops.Begin(ctx, r, run.LoopStart{Node: "each", Items: []json.RawMessage{json.RawMessage(`1`)}, Concurrency: 1}, "run_item")
	})
	if err := errors.Join(err, <-read); err != nil {
		t.Error(err)
	}
}
