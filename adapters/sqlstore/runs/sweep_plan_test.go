package runs_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/plantest"
	"github.com/sluicehq/sluice/adapters/sqlstore/runs"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Of a hundred thousand runs a sweep reads those that it removes, and looks at no others.
func TestASweepReadsWhatItRemoves(t *testing.T) {
	t.Parallel()
	store, db := plantest.Filled(t, append(manyRuns(`generate_series(1, 100000) n`, `CAST($1 AS timestamptz) + n * interval '10 milliseconds'`),
		`INSERT INTO run_facets SELECT tenant_id, created_at, id, sub_tenant_id, workflow_id, workflow_version_id, trigger_id, entity_id FROM runs WHERE created_at > $1`,
		`INSERT INTO workflows (tenant_id, id, sub_tenant_id, name, search_text, is_active, created_at, updated_at, revision, run_retention_days)
			SELECT 'tenant_1', 'wf_' || n, '', n, '', true, $1, $1, 1, CASE WHEN n % 1000 = 0 THEN 7 END FROM generate_series(1, 100000) n`))
	if _, err := db.ExecContext(t.Context(), "VACUUM ANALYZE"); err != nil {
		t.Fatal(err)
	}
	q := outbound.RunSweep{Tenant: "tenant_1", From: plantest.Noon, Before: plantest.Noon.Add(100 * time.Second), Limit: 20}
	ofWorkflow := q
	ofWorkflow.Workflow = "wf_1"
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		for what, q := range map[string]outbound.RunSweep{"all runs": q, "those of a workflow": ofWorkflow} {
			statement, args := runs.Sweep(store.Runs, q)
			prepare, execute := prepared(statement, args)
			if p := plantest.Explain(t, db, execute, prepare, `SET LOCAL plan_cache_mode = `+mode); p.Buffers == 0 || p.Buffers > 1000 || strings.Contains(p.Text, "Seq Scan on runs") {
				t.Errorf("with %s, sweeping %s looked at %d pages:\n%s", mode, what, p.Buffers, p.Text)
			}
		}
		prepare, execute := prepared(runs.KeptShorter, []any{"", "", 500})
		if p := plantest.Explain(t, db, execute, prepare, `SET LOCAL plan_cache_mode = `+mode); p.Buffers == 0 || p.Buffers > 200 {
			t.Errorf("with %s, finding workflows looked at %d pages:\n%s", mode, p.Buffers, p.Text)
		}
	}
}

// The same on SQLite, by its plan.
func TestSQLiteSweepsByIndexes(t *testing.T) {
	t.Parallel()
	store, db := plantest.SQLite(t)
	for of, index := range map[workflow.ID]string{"": "runs_finished", "wf_1": "runs_of_workflow"} {
		q := outbound.RunSweep{Tenant: "tenant_1", From: plantest.Noon, Before: plantest.Noon.Add(time.Hour), Limit: 20}
		q.Workflow = of
		statement, args := runs.Sweep(store.Runs, q)
		text := plantest.SQLitePlan(t, db, statement, args)
		if !strings.Contains(text, "SEARCH runs USING INDEX "+index+" (") || strings.Contains(text, "SCAN runs") || strings.Contains(text, "TEMP B-TREE") {
			t.Errorf("runs of workflow %q are not found by %s:\n%s", of, index, text)
		}
	}
	if text := plantest.SQLitePlan(t, db, runs.KeptShorter, []any{"", "", 500}); !strings.Contains(text, "INDEX workflows_kept_shorter") {
		t.Errorf("workflows are found otherwise:\n%s", text)
	}
}
