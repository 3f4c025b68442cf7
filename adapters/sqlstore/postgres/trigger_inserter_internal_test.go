package postgres

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Nobody may take an insert for one that had no effect because the database did not say
// which of a batch it added.
func TestAnIntakeThatCannotSeeWhatWasAddedSaysSo(t *testing.T) {
	t.Parallel()
	db, provider := migrating(t, pgtest.Start(t).Database(t))
	if _, err := provider.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	broken := dialect
	broken.AddedTriggers = func([]sqlstore.TriggerEntry) (string, []any) { return `SELECT CAST(1 / 0 AS text)`, nil }
	store := sqlstore.New(db, db, broken, nil, nil)
	version := storedVersion(t, store)
	inserter := sqlstore.NewTriggerInserter(store)
	var all []*outbound.NewTrigger
	for i := range 40 {
		draft := trigger.Draft{Version: version.ID(), Name: "Orders", Type: trigger.Webhook, Config: new(domain.Document)}
		if i%4 == 0 {
			draft.Version = "wfv_absent"
		}
		trg, err := trigger.New(trigger.ID(fmt.Sprintf("trg_%d", i)), version.Tenant(), trigger.References{VersionExists: true}, draft, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, &outbound.NewTrigger{Trigger: trg})
	}
	err := inserter.Insert(t.Context(), all)
	var there int
	if err := db.GetContext(t.Context(), &there, `SELECT count(*) FROM triggers`); err != nil {
		t.Error(err)
	}
	if there != 30 || domain.KindOf(err) != domain.Unavailable {
		t.Errorf("%d were added, and the error is %v", there, err)
	}
}

func storedVersion(t *testing.T, store *sqlstore.Store) *workflow.Version {
	t.Helper()
	now := time.Now()
	ten, err := tenant.New("tenant_1", tenant.Draft{Name: "Acme"}, now)
	if err != nil {
		t.Fatal(err)
	}
	wf, err := workflow.New("wf_1", ten.ID(), "", workflow.Draft{Name: "Orders"}, now)
	if err != nil {
		t.Fatal(err)
	}
	ver, err := workflow.NewVersion("wfv_1", wf, 1, workflow.VersionDraft{}, func() workflow.EdgeID { return "edge_1" }, now)
	if err != nil {
		t.Fatal(err)
	}
	err = store.Do(t.Context(), func(ctx context.Context, st outbound.Stores) error {
		if err := st.Tenants.Insert(ctx, ten); err != nil {
			return err
		}
		if err := st.Workflows.Insert(ctx, wf); err != nil {
			return err
		}
		return st.Versions.Insert(ctx, ver)
	})
	if err != nil {
		t.Fatal(err)
	}
	return ver
}
