package sqlite_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite/sqlitetest"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

func TestRead(t *testing.T) {
	portstest.Read(t, func(t *testing.T) outbound.UnitOfWork { return open(t) })
}

func TestChanges(t *testing.T) {
	portstest.Changes(t, func(t *testing.T) (here, there portstest.ChangingStore) {
		file := sqlitetest.File(t)
		return openSealed(t, file), openSealed(t, file)
	})
}

func TestFollowingLeavesNothingBehind(t *testing.T) {
	store := open(t)
	before := goleak.IgnoreCurrent()
	for range 5 {
		_, stop := portstest.StartWatch(t, store)
		stop()
	}
	goleak.VerifyNone(t, before)
}

// Only the newest notices are kept, so that who comes back to more than those must not
// trust what it was told.
func TestMoreChangesThanAreKeptAreNotMissed(t *testing.T) {
	file := sqlitetest.File(t)
	here, there := openFile(t, file), openFile(t, file)
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	ids := []tenant.ID{"tenant_first", "tenant_other"}
	for _, id := range ids {
		write(t, there, func(ctx context.Context, st outbound.Stores) error {
			ten, err := tenant.New(id, tenant.Draft{Name: "Acme"}, noon)
			if err != nil {
				return err
			}
			return st.Tenants.Insert(ctx, ten)
		})
	}
	w, _ := portstest.StartWatch(t, here)
	renewed := w.ReliabilityReports()
	write(t, there, func(ctx context.Context, st outbound.Stores) error { // one transaction, so that it is seen at once
		for i, id := range ids {
			ten, err := st.Tenants.Get(ctx, id)
			if err != nil {
				return err
			}
			for range 1 + 1100*i {
				ten.Suspend(noon)
				if err := st.Tenants.Update(ctx, ten); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if !w.Await(10*time.Second, func() bool { return w.Count(ids[0]) > 0 || w.ReliabilityReports() > renewed }) {
		t.Error("a change that is not kept any more was neither told nor was everything in doubt")
	}
}

func write(t *testing.T, store outbound.UnitOfWork, fn func(context.Context, outbound.Stores) error) {
	t.Helper()
	if err := store.Do(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}
