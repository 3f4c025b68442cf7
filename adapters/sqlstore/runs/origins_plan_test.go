package runs_test

import (
	"strings"
	"testing"

	"github.com/sluicehq/sluice/adapters/sqlstore/plantest"
	"github.com/sluicehq/sluice/adapters/sqlstore/runs"
)

// Of five thousand unfinished runs with one origin a single entry of the index is read.
func TestOriginsOfRunsAreFoundWithoutReadingTheRuns(t *testing.T) {
	t.Parallel()
	store, db := plantest.Filled(t, manyRuns(`generate_series(1, 10000) n`, `CAST($1 AS timestamptz) + n * interval '10 milliseconds'`))
	for _, statistics := range []string{"", "ANALYZE"} {
		if _, err := db.ExecContext(t.Context(), statistics); err != nil {
			t.Fatal(err)
		}
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			check := func(what, statement string, args []any) {
				prepare, execute := prepared(statement, args)
				if p := plantest.Explain(t, db, execute, prepare, `SET LOCAL plan_cache_mode = `+mode); p.Buffers == 0 || p.Buffers > 50 {
					t.Errorf("after %q with %s, %s looked at %d pages:\n%s", statistics, mode, what, p.Buffers, p.Text)
				}
			}
			origins, args := runs.LiveOrigins(store.Runs)
			check("looking for origins", origins, args)
			unfinished, args := runs.Unfinished(store.Runs, "tenant_1", "trg_1")
			check("looking for runs of a trigger without", unfinished, args)
		}
	}
}

// The same on SQLite, by its plan.
func TestSQLiteFindsOriginsOfRunsByTheirIndex(t *testing.T) {
	t.Parallel()
	store, db := plantest.SQLite(t)
	statement, args := runs.LiveOrigins(store.Runs)
	text := plantest.SQLitePlan(t, db, statement, args)
	for _, step := range []string{
		"((workflow_id,tenant_id)>(?,?))", "(workflow_id=? AND tenant_id>?)", "(workflow_id>?)",
	} {
		if !strings.Contains(text, "SEARCH u USING COVERING INDEX live_runs_origin "+step) {
			t.Errorf("there is no search for %s:\n%s", step, text)
		}
	}
	statement, args = runs.Unfinished(store.Runs, "tenant_1", "trg_1")
	if text = plantest.SQLitePlan(t, db, statement, args); !strings.Contains(text, "USING COVERING INDEX live_runs_origin (workflow_id=? AND tenant_id=? AND trigger_id=?)") {
		t.Errorf("there is no search for a trigger:\n%s", text)
	}
}
