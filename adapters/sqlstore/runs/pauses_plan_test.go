package runs_test

import (
	"strings"
	"testing"

	"github.com/sluicehq/sluice/adapters/sqlstore/plantest"
	"github.com/sluicehq/sluice/adapters/sqlstore/runs"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
)

// manyPauses are ten thousand questions of one tenant, of which every filter takes a half, and a few behind them all, in
// the default order, that are special in everything.
func manyPauses(series string) string {
	of := func(name string) string {
		return `CASE WHEN n <= 30 THEN '` + name + `_rare' ELSE '` + name + `_' || n % 2 END`
	}
	return `INSERT INTO pauses (tenant_id, run_id, seq, id, node_id, sub_tenant_id, workflow_id, entity_id, assignee, since)
		SELECT 'tenant_1', 'run_' || (n + 100000), 1, 'pau_' || (n + 100000), 'ask', ` + of("team") + `, ` + of("wf") + `, ` + of("entity") + `, ` + of("who") + `, n FROM ` + series
}

// pauseFilters is each filter alone by the index that answers it, for what is ordinary and for what is rare.
func pauseFilters() map[string]run.PauseFilter {
	filters := map[string]run.PauseFilter{"pauses_by_creation": {}}
	for _, which := range []string{"_rare", "_0"} {
		who, entity, sub := "who"+which, "entity"+which, tenant.SubTenantID("team"+which)
		filters["pauses_of_assignee "+which] = run.PauseFilter{Assignee: &who}
		filters["pauses_of_entity "+which] = run.PauseFilter{Entity: &entity}
		filters["pauses_of_sub_tenant "+which] = run.PauseFilter{SubTenant: &sub}
		filters["pauses_of_workflow "+which] = run.PauseFilter{Workflow: workflow.ID("wf" + which)}
	}
	return filters
}

// Whatever single filter is asked for, a page of questions reads as much as there is on it, planned for its parameters and for any.
func TestAPageOfQuestionsReadsAsMuchAsThereIsOnIt(t *testing.T) {
	t.Parallel()
	_, db := plantest.Filled(t, nil)
	for _, statement := range []string{manyPauses(`generate_series(1, 10000) n`), "VACUUM ANALYZE pauses"} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		for name, f := range pauseFilters() {
			for _, ascending := range []bool{false, true} {
				page, args, err := runs.PageOfPauses("tenant_1", f, query(t, 10, domain.Sorting{Ascending: ascending}))
				if err != nil {
					t.Fatal(err)
				}
				prepare, execute := prepared(page, args)
				if p := plantest.Explain(t, db, execute, prepare, `SET LOCAL plan_cache_mode = `+mode); p.Buffers == 0 || p.Buffers > 100 {
					t.Errorf("with %s, %s looked at %d pages:\n%s", mode, name, p.Buffers, p.Text)
				}
			}
		}
	}
}

// The same on SQLite, which says only how it would go about it.
func TestSQLiteReadsPagesOfQuestionsByTheirIndexes(t *testing.T) {
	t.Parallel()
	_, db := plantest.SQLite(t)
	if _, err := db.ExecContext(t.Context(), manyPauses(`(WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 10000) SELECT n FROM s)`)); err != nil {
		t.Fatal(err)
	}
	for _, statistics := range []string{"SELECT 1", "ANALYZE"} {
		if _, err := db.ExecContext(t.Context(), statistics); err != nil {
			t.Fatal(err)
		}
		for name, f := range pauseFilters() {
			for _, ascending := range []bool{false, true} {
				page, args, err := runs.PageOfPauses("tenant_1", f, query(t, 10, domain.Sorting{Ascending: ascending}))
				if err != nil {
					t.Fatal(err)
				}
				index, _, _ := strings.Cut(name, " ")
				if text := plantest.SQLitePlan(t, db, page, args); !strings.Contains(text, "INDEX "+index+" (") || strings.Contains(text, "SCAN") || strings.Contains(text, "TEMP B-TREE") {
					t.Errorf("%s: %s is not read by its index:\n%s", statistics, name, text)
				}
			}
		}
	}
}
