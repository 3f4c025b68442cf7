package postgres_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// A database may have been made for a language, in whose order "a" stands before "B".
func TestTenantsAreSortedByTheBytesOfTheirNamesWhateverTheDatabasesLanguage(t *testing.T) {
	t.Parallel()
	store, address := migrated(t)
	db, err := sqlx.Open("postgres", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // nothing is pending
	var languages []string
	if err := db.SelectContext(t.Context(), &languages, `SELECT quote_ident(collname) FROM pg_collation WHERE collname IN ('en-x-icu', 'en_US.utf8', 'en_US')`); err != nil {
		t.Fatal(err)
	}
	if len(languages) == 0 {
		t.Fatal("this PostgreSQL knows the order of no language; the tests need one that was built with ICU, as the packages are")
	}
	if _, err := db.ExecContext(t.Context(), `ALTER TABLE tenants ALTER COLUMN name TYPE text COLLATE `+languages[0]); err != nil {
		t.Fatal(err)
	}
	err = store.Do(t.Context(), func(ctx context.Context, st outbound.Stores) error {
		for _, name := range []string{"a", "B", "é", "f"} {
			ten, err := tenant.New(tenant.ID("tenant_"+name), tenant.Draft{Name: name}, noon)
			if err != nil {
				return err
			}
			if err := st.Tenants.Insert(ctx, ten); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	err = store.View(t.Context(), func(ctx context.Context, st outbound.Stores) error {
		found, err := st.Tenants.List(ctx, tenant.Filter{}, domain.Query{Sorting: domain.Sorting{Field: "name", Ascending: true}})
		var names []string
		for _, ten := range found.Items {
			names = append(names, ten.Name())
		}
		if got := strings.Join(names, " "); got != "B a f é" {
			t.Errorf("the order is %s", got)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestASecondCommandOfTheOperatorIsToldThatTheFirstIsRunning(t *testing.T) {
	t.Parallel()
	store, _ := migrated(t)
	idempotency := domain.IdempotencyKey{Scope: "POST /things", Key: "k", Answer: func(any) ([]byte, error) { return []byte("made"), nil }}
	claim := func(ctx context.Context, st outbound.Stores) error {
		return st.OperatorIdempotency.Claim(ctx, idempotency, noon)
	}
	err := store.Do(t.Context(), func(ctx context.Context, st outbound.Stores) error {
		if err := claim(ctx, st); err != nil {
			return err
		}
		var e *domain.Error
		if err := store.Do(t.Context(), claim); !errors.As(err, &e) || e.Code != "idempotency_in_progress" {
			t.Errorf("the second one got %v", err)
		}
		return st.OperatorIdempotency.Record(ctx, idempotency, nil, noon)
	})
	if err != nil {
		t.Fatal(err)
	}
	var replay *domain.Replay
	if err := store.Do(t.Context(), claim); !errors.As(err, &replay) {
		t.Errorf("the repeat got %v", err)
	}
}
