package runs_test

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/plantest"
	"github.com/sluicehq/sluice/adapters/sqlstore/runs"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
)

// runsOfMany are twenty thousand, a quarter of which has not finished, of twenty tenants of whom the first has the half.
func runsOfMany(from func(n string) string, later string) []string {
	of := `CASE WHEN n % 2 = 0 THEN 'tenant_00' ELSE 'tenant_' || substr('0' || (n / 2 % 20), -2) END`
	if !strings.Contains(later, "strftime") {
		of = strings.ReplaceAll(of, "substr('0' || (n / 2 % 20), -2)", "right('0' || (n / 2 % 20), 2)")
	}
	return []string{
		`INSERT INTO tenants (id, name, status, settings, created_at, updated_at, revision)
		SELECT 'tenant_' || substr('0' || n, length('0' || n) - 1), 'Acme', 'active', '{}', CAST($1 AS timestamptz), CAST($1 AS timestamptz), 1 FROM ` + from("19") + ` UNION ALL
		SELECT 'tenant_00', 'Acme', 'active', '{}', CAST($1 AS timestamptz), CAST($1 AS timestamptz), 1`,
		`INSERT INTO runs (tenant_id, id, sub_tenant_id, workflow_id, workflow_version_id, trigger_id, trigger_name, trigger_type, entity_id, dedupe_key, holds_key, cause,
			payload, max_retries, backoff_ms, max_backoff_ms, timeout_ms, status, seq, progress, created_at, updated_at, finished_at)
		SELECT ` + of + `, 'run_' || (n + 100000), '', 'wf', 'wfv', 'trg', '', '', 'e', n, false, 'webhook', '{}', 0, 0, 0, 0,
			CASE WHEN n % 4 = 3 THEN 'pending' WHEN n % 1000 = 0 THEN 'failed' ELSE 'completed' END, 3, '{}', ` + later + `, ` + later + `, CASE WHEN n % 4 = 3 THEN NULL ELSE ` + later + ` END
		FROM ` + from("20000"),
		`INSERT INTO live_runs (tenant_id, id, trigger_id, workflow_id, seq, size, due_at, ready_at) SELECT tenant_id, id, trigger_id, workflow_id, seq, 2, created_at, created_at FROM runs
			WHERE status = 'pending' AND created_at > $1`,
	}
}

func questionsOfAll() map[string]run.OperatorFilter {
	soon := plantest.Noon.Add(100 * time.Second)
	return map[string]run.OperatorFilter{
		"all": {}, "old ones": {Before: &soon}, "failed ones": {Status: run.StatusFailed}, "old completed ones": {Status: run.StatusCompleted, Before: &soon},
		"those of one": {Tenant: "tenant_00"}, "completed ones of one": {Tenant: "tenant_07", Status: run.StatusCompleted},
	}
}

// Of the runs of all tenants a page reads the first ones of each and no others, and counting all reads no runs, planned for its
// parameters and for any.
func TestAPageOfTheRunsOfAllTenantsReadsTheFirstOnesOfEach(t *testing.T) {
	t.Parallel()
	store, db := plantest.Filled(t, append(runsOfMany(func(n string) string { return `generate_series(1, ` + n + `) n` }, `CAST($1 AS timestamptz) + n * interval '10 milliseconds'`),
		`INSERT INTO run_facets SELECT tenant_id, created_at, id, sub_tenant_id, workflow_id, workflow_version_id, trigger_id, entity_id FROM runs WHERE created_at > $1`))
	for _, statistics := range []string{"VACUUM", "VACUUM ANALYZE"} {
		if _, err := db.ExecContext(t.Context(), statistics+" tenants, runs, run_facets, live_runs"); err != nil {
			t.Fatal(err)
		}
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			few := func(what, statement string, args []any, most int) plantest.Plan {
				t.Helper()
				prepare, execute := prepared(statement, args)
				p := plantest.Explain(t, db, execute, prepare, `SET LOCAL plan_cache_mode = `+mode)
				if p.Buffers == 0 || p.Buffers > most || strings.Contains(p.Text, "Seq Scan on runs") || strings.Contains(p.Text, "Seq Scan on run_facets") {
					t.Errorf("after %s with %s, %s looked at %d pages:\n%s", statistics, mode, what, p.Buffers, p.Text)
				}
				return p
			}
			for name, f := range questionsOfAll() {
				page, count, args, err := runs.PageOfAllRuns(store.Runs, f, query(t, 10, domain.Sorting{}))
				if err != nil {
					t.Fatal(err)
				}
				few(name, page, args, 600)
				few("the number of "+name, count, args[:len(args)-2], 600)
			}
			few("finding a run", runs.FindRun, []any{"run_105000"}, 120)
			few("the oldest one that waits", runs.OldestWaiting, []any{time.Now().UTC()}, 600)
		}
	}
}

// The same on SQLite, which says only how it would go about it.
func TestSQLiteReadsTheRunsOfAllTenantsByTheirIndexes(t *testing.T) {
	t.Parallel()
	store, db := plantest.SQLite(t)
	from := func(n string) string {
		return `(WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < ` + n + `) SELECT n FROM s)`
	}
	for _, statement := range runsOfMany(from, `strftime('%Y-%m-%d %H:%M:%f', 1795262400 + n / 100.0, 'unixepoch') || '+00:00'`) {
		if _, err := db.ExecContext(t.Context(), strings.ReplaceAll(statement, "CAST($1 AS timestamptz)", "$1"), plantest.Noon); err != nil {
			t.Fatal(err)
		}
	}
	for _, statistics := range []string{"SELECT 1", "ANALYZE"} {
		if _, err := db.ExecContext(t.Context(), statistics); err != nil {
			t.Fatal(err)
		}
		for name, f := range questionsOfAll() {
			page, count, args, err := runs.PageOfAllRuns(store.Runs, f, query(t, 10, domain.Sorting{}))
			if err != nil {
				t.Fatal(err)
			}
			index := "runs_by_creation"
			if f.Status != "" {
				index = "runs_of_status"
			}
			byIndexes(t, db, name, page, args, "f USING COVERING INDEX "+index+" (")
			byIndexes(t, db, name, page, args, "SEARCH r USING INDEX sqlite_autoindex_runs_1 (tenant_id=? AND id=?)")
			if f.Status == "" && f.Before == nil {
				index = "" // any that begins with the tenant is as good
			}
			byIndexes(t, db, "the number of "+name, count, args[:len(args)-2], "f USING COVERING INDEX "+index)
		}
		byIndexes(t, db, "finding a run", runs.FindRun, []any{"run_105000"}, "r USING INDEX sqlite_autoindex_runs_1 (tenant_id=? AND id=?)")
		byIndexes(t, db, "the oldest one that waits", runs.OldestWaiting, []any{plantest.Noon}, "f USING INDEX live_runs_ready (tenant_id=?)")
	}
}

func byIndexes(t *testing.T, db *sql.DB, what, statement string, args []any, index string) {
	t.Helper()
	text := plantest.SQLitePlan(t, db, statement, args)
	if !strings.Contains(text, index) || strings.Contains(text, "SCAN runs") || strings.Contains(text, "SCAN f") || strings.Contains(text, "SCAN r\n") || strings.Contains(text, "SCAN live_runs") {
		t.Errorf("%s is not read by %s:\n%s", what, index, text)
	}
}
