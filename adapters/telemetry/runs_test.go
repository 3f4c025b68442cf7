package telemetry_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/adapters/telemetry"
	"github.com/sluicehq/sluice/application/tenants"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// openWithTenant opens an empty store, in which there is one tenant.
func openWithTenant(t *testing.T) (*sqlstore.Store, tenant.ID) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "sluice.db"), sqlite.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	if _, err := store.Migrator().Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	made, err := tenants.New(store, system.Clock{}, system.Random{}).Create(t.Context(), domain.IdempotencyKey{}, tenant.Draft{Name: "Acme"})
	if err != nil {
		t.Fatal(err)
	}
	return store, made.Tenant.ID()
}

func TestWhatHappensToRunsIsCountedOnceItIsRecorded(t *testing.T) {
	store, owner := openWithTenant(t)
	metrics := telemetry.New("test")
	work := metrics.UnitOfWork(store)
	record := func(id event.ID, kind event.Type, end error) {
		err := work.Do(t.Context(), func(ctx context.Context, st outbound.Stores) error {
			e := event.Restore(event.State{ID: id, Tenant: owner, Type: kind, At: time.Now()})
			if err := st.Webhooks.Events.AppendIfWanted(ctx, e); err != nil {
				return err
			}
			return end
		})
		if !errors.Is(err, end) {
			t.Fatal(err)
		}
	}
	record("evt_1", event.RunCompleted, nil)
	record("evt_2", event.RunFailed, errors.New("the unit does not commit"))
	record("evt_3", event.WorkflowPublished, nil)

	answer := httptest.NewRecorder()
	metrics.Handler(zerolog.New(io.Discard)).ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	for _, line := range []string{
		`sluice_run_changes_total{change="completed"} 1`, `sluice_run_changes_total{change="failed"} 0`, `sluice_run_changes_total{change="started"} 0`,
	} {
		if !strings.Contains(answer.Body.String(), line+"\n") {
			t.Errorf("no line %s in\n%s", line, answer.Body)
		}
	}
}
