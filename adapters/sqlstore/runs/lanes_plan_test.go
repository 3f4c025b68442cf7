package runs_test

import (
	"strings"
	"testing"

	"github.com/sluicehq/sluice/adapters/sqlstore/plantest"
	"github.com/sluicehq/sluice/adapters/sqlstore/runs"
)

// Ten thousand runs wait in one lane, behind one that is live: neither a claim nor the end of a run
// reads them.
func TestALongLaneIsPassedOver(t *testing.T) {
	t.Parallel()
	store, db := plantest.Filled(t, []string{
		`INSERT INTO tenants (id, name, status, settings, created_at, updated_at, revision) VALUES ('tenant_1', 'Acme', 'active', '{}', $1, $1, 1)`,
		`INSERT INTO live_runs (tenant_id, id, trigger_id, workflow_id, seq, size, due_at, ready_at, lane, lane_limit, lane_seq, held)
			SELECT 'tenant_1', 'run_' || (100000 + n), 'trg_1', 'wf_1', 0, 1, CASE WHEN n = 1 THEN CAST($1 AS timestamptz) END, CASE WHEN n = 1 THEN CAST($1 AS timestamptz) END,
				'long', 2, n, n > 1 FROM generate_series(1, 10000) n`,
	})
	for _, statistics := range []string{"", "VACUUM ANALYZE live_runs"} {
		if _, err := db.ExecContext(t.Context(), statistics); err != nil {
			t.Fatal(err)
		}
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			check := func(what, statement string, args []any) {
				prepare, execute := prepared(statement, args)
				if p := plantest.Explain(t, db, execute, prepare, `SET LOCAL plan_cache_mode = `+mode); p.Buffers == 0 || p.Buffers > 60 {
					t.Errorf("after %q with %s, %s looked at %d pages:\n%s", statistics, mode, what, p.Buffers, p.Text)
				}
			}
			letGo, args := runs.LetGo(store.Runs, "tenant_1", "long")
			check("letting one go", letGo, args)
			turns, args := runs.Turns(store.Runs, plantest.Noon)
			check("looking for runs to lease", turns, args)
		}
	}
}

// The same on SQLite, by its plan.
func TestSQLiteLetsRunsGoByTheIndexOfLanes(t *testing.T) {
	t.Parallel()
	store, db := plantest.SQLite(t)
	statement, args := runs.LetGo(store.Runs, "tenant_1", "long")
	text := plantest.SQLitePlan(t, db, statement, args)
	for _, part := range []string{"n", "h", "b"} {
		if !strings.Contains(text, "SEARCH "+part+" USING INDEX live_runs_lane (tenant_id=? AND lane=? AND held=?)") &&
			!strings.Contains(text, "SEARCH "+part+" USING COVERING INDEX live_runs_lane (tenant_id=? AND lane=? AND held=?)") {
			t.Errorf("there is no search for %s:\n%s", part, text)
		}
	}
	if strings.Contains(text, "SCAN live_runs") || strings.Contains(text, "SCAN h") {
		t.Errorf("it goes through all runs:\n%s", text)
	}
}
