package postgres_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/sqlstore/postgres"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
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
		ten, err := tenant.New(owner, "Acme", tenant.English, noon)
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
	lent, err := st.Runs.Queue.Claim(ctx, outbound.RunClaim{Worker: "worker", Period: time.Hour, Limit: 9, PerTenant: 9})
	for _, l := range lent {
		ids = append(ids, l.Run.ID())
	}
	return ids, err
}

func TestARunThatSomebodyIsChangingIsLeftOutWithoutWaiting(t *testing.T) {
	t.Parallel()
	store, _ := migrated(t)
	startRuns(t, store, 3)
	err := within(t, store, func(ctx context.Context, st outbound.Stores) error {
		if _, err := st.Runs.Runs.Get(ctx, owner, "run_1"); err != nil {
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
