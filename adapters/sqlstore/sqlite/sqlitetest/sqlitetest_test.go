package sqlitetest_test

import (
	"context"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite/sqlitetest"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

func TestEachTestGetsAnEmptyDatabaseThatIsUpToDate(t *testing.T) {
	t.Parallel()
	for range 2 {
		store := sqlitetest.Open(t)
		if pending, err := store.Migrator().Pending(t.Context()); err != nil || len(pending) > 0 {
			t.Errorf("pending: %v, %v", pending, err)
		}
		err := store.Do(t.Context(), func(ctx context.Context, st outbound.Stores) error {
			made, err := tenant.New("tenant_1", tenant.Draft{Name: "Acme"}, time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
			if err != nil {
				return err
			}
			return st.Tenants.Insert(ctx, made) // which the second database would refuse if it were the first
		})
		if err != nil {
			t.Error(err)
		}
	}
}
