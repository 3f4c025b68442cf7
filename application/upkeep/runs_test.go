package upkeep_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite"
	"github.com/sluicehq/sluice/application/upkeep"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

// Three tenants, more than fit a unit of work, of which one keeps its runs for a week.
// Each has runs that finished 6, 8, 29 and 31 days ago, and one that still goes on.
func TestFinishedRunsAreKeptAsLongAsTheirTenantSays(t *testing.T) {
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "sluice.db"), sqlite.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() }) // nothing is pending
	if _, err := store.Migrator().Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	clock := &portstest.ManualClock{}
	clock.Set(noon)
	const tenants, each = 120, 5 // of the latter 300 of the first tenant's runs are old
	name := func(i int) tenant.ID { return tenant.ID(fmt.Sprintf("tenant_%03d", i)) }
	err = store.Do(t.Context(), func(ctx context.Context, st outbound.Stores) error {
		for i := range tenants {
			state := tenant.State{ID: name(i), Name: "Acme", Status: tenant.Active, Settings: tenant.Settings{Language: tenant.English}, CreatedAt: noon, Revision: 1}
			if week := 7; i == 1 {
				state.Settings.RunRetentionDays = &week
			}
			if err := st.Tenants.Insert(ctx, tenant.Restore(state)); err != nil {
				return err
			}
			ages := []int{6, 8, 29, 31, -1}
			if i == 0 {
				for range 299 {
					ages = append(ages, 40)
				}
			}
			var all []*run.Run
			for n, days := range ages {
				id, of := run.ID(fmt.Sprintf("run_%d_%d", i, n)), workflow.ID("wf_short")
				if n == 0 {
					of = "wf_long"
				}
				s := run.State{Origin: run.Origin{ID: id, Tenant: name(i), Workflow: of, CreatedAt: noon.AddDate(0, 0, -50)}, Status: run.StatusRunning, UpdatedAt: noon}
				if at := noon.Add(-time.Duration(days) * 24 * time.Hour); days > 0 {
					s.Status, s.FinishedAt = run.StatusCompleted, &at
				}
				all = append(all, run.Restore(s))
			}
			if _, err := st.Runs.Runs.Start(ctx, all...); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	service := upkeep.New(store, nil, clock, nil)
	for _, want := range []int{299 + tenants + 2, 0} {
		if removed, err := service.SweepRuns(t.Context()); removed != want || err != nil {
			t.Errorf("%d runs were removed, not %d: %v", removed, want, err)
		}
	}
	left := func(want map[int]int) {
		t.Helper()
		for i, want := range want {
			err := store.Read(t.Context(), func(ctx context.Context, st outbound.Stores) error {
				found, err := st.Runs.Runs.List(ctx, tenant.All(name(i)), run.Filter{}, domain.Query{})
				if found.Total != want {
					t.Errorf("tenant %d has %d runs left, not %d of %d", i, found.Total, want, each)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}
	}
	left(map[int]int{0: 4, 1: 2, 2: 4, tenants - 1: 4})
	store.RunDays = 10 // for those that have no number of their own
	if removed, err := service.SweepRuns(t.Context()); removed != tenants-1 || err != nil {
		t.Errorf("of ten days %d runs were removed: %v", removed, err)
	}
	left(map[int]int{0: 3, 1: 2, 2: 3, tenants - 1: 3})
	days := 5 // of a workflow of the last tenant, whose runs those are that have none of their own in the others
	err = store.Do(t.Context(), func(ctx context.Context, st outbound.Stores) error {
		return st.Workflows.Insert(ctx, workflow.Restore(workflow.State{ID: "wf_short", Tenant: name(tenants - 1), Name: "Short", RunDays: &days, Revision: 1}))
	})
	if err != nil {
		t.Fatal(err)
	}
	if removed, err := service.SweepRuns(t.Context()); removed != 1 || err != nil {
		t.Errorf("of a workflow with days of its own %d runs were removed: %v", removed, err)
	}
	left(map[int]int{0: 3, 1: 2, 2: 3, tenants - 1: 2})
}
