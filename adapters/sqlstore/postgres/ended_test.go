package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// held is a database in which whoever wants something of a tenant has to wait, as on a
// disk that hangs.
func held(t *testing.T) outbound.UnitOfWork {
	t.Helper()
	store, _ := heldAt(t)
	return store
}

// heldAt also returns the address of the database.
func heldAt(t *testing.T) (outbound.UnitOfWork, string) {
	t.Helper()
	store, address := migrated(t)
	db, err := sql.Open("postgres", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	if _, err := tx.ExecContext(t.Context(), `LOCK TABLE tenants`); err != nil {
		t.Fatal(err)
	}
	return store, address
}

// Somebody who migrates, or maintains the database, is not an error of the gateway.
func TestAReadThatWaitsForALockInVainIsToBeRepeated(t *testing.T) {
	t.Parallel()
	_, address := heldAt(t)
	hasty := open(t, address+"&lock_timeout=50ms")
	look := func(ctx context.Context, st outbound.Stores) error {
		_, err := st.Tenants.Get(ctx, "tenant_1")
		return err
	}
	for name, read := range map[string]func(context.Context, func(context.Context, outbound.Stores) error) error{
		"Read": hasty.Read, "View": hasty.View,
	} {
		var e *domain.Error
		if err := read(t.Context(), look); !errors.As(err, &e) || e.Kind != domain.Unavailable || e.Code != "database_busy" || e.RetryAfter == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAUnitWhoseCallerHasGoneSaysSoWhateverTheDriverSays(t *testing.T) {
	store := held(t)
	ended := func(name string, do func(context.Context) error) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		time.AfterFunc(50*time.Millisecond, cancel)
		if err := do(ctx); !errors.Is(err, context.Canceled) || domain.KindOf(err) == domain.Unavailable {
			t.Errorf("%s: %v", name, err)
		}
	}
	ended("a read", func(ctx context.Context) error {
		return store.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
			_, err := st.Tenants.Get(ctx, "tenant_1")
			return err
		})
	})
	ended("a write", func(ctx context.Context) error {
		return store.Do(ctx, func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Delete(ctx, "tenant_1") })
	})
	ended("a commit", func(ctx context.Context) error {
		return store.Do(ctx, func(ctx context.Context, _ outbound.Stores) error {
			<-ctx.Done()
			return nil
		})
	})
}

func TestAUnitWhoseTimeIsUpIsUnavailableAndMayBeRepeated(t *testing.T) {
	store := held(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := store.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		return st.Tenants.Delete(ctx, tenant.ID("tenant_1"))
	})
	var known *domain.Error
	if !errors.As(err, &known) || known.Kind != domain.Unavailable || known.Code != "database_busy" || known.RetryAfter <= 0 || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
