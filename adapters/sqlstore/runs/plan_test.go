package runs_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/plantest"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
	"github.com/sluicehq/sluice/adapters/sqlstore/runs"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// manyRuns are ten thousand of one tenant, ordinary ones of which every filter takes a
// half, and a few behind them all, in the default order, that are special in everything.
func manyRuns(series, later string) []string {
	special := `n <= 30`
	of := func(name string) string {
		return `CASE WHEN ` + special + ` THEN '` + name + `_rare' ELSE '` + name + `_' || n % 2 END`
	}
	return []string{
		`INSERT INTO tenants (id, name, status, settings, created_at, updated_at, revision) VALUES ('tenant_1', 'Acme', 'active', '{}', $1, $1, 1)`,
		`INSERT INTO runs (tenant_id, id, sub_tenant_id, workflow_id, workflow_version_id, trigger_id, trigger_name, trigger_type, entity_id, dedupe_key, holds_key, cause,
			payload, max_retries, backoff_ms, max_backoff_ms, timeout_ms, status, seq, progress, created_at, updated_at, finished_at, awaits, awaited)
		SELECT 'tenant_1', 'run_' || (n + 100000), ` + of("team") + `, ` + of("wf") + `, ` + of("wfv") + `, ` + of("trg") + `, '', '', ` + of("entity") + `, n, true, 'webhook',
			'{}', 0, 0, 0, 0, CASE WHEN ` + special + ` THEN 'failed' WHEN n % 2 = 0 THEN 'paused' ELSE 'completed' END, 3, '{}', ` + later + `, ` + later + `,
			CASE WHEN n % 2 = 0 AND n > 30 THEN NULL ELSE ` + later + ` END, '[{"event":"' || n % 10 || '"}]', '=' || (n % 10)
		FROM ` + series,
	}
}

// single is each filter of a list alone, for what is ordinary and for what is rare.
func single() map[string]run.Filter {
	filters := make(map[string]run.Filter)
	from, to := plantest.Noon.Add(20*time.Second), plantest.Noon.Add(21*time.Second)
	for which, status := range map[string]run.Status{"_rare": run.StatusFailed, "_0": run.StatusPaused, "_1": run.StatusCompleted} {
		entity, sub := "entity"+which, tenant.SubTenantID("team"+which)
		filters["status"+which] = run.Filter{Status: status}
		filters["workflow"+which] = run.Filter{Workflow: workflow.ID("wf" + which)}
		filters["version"+which] = run.Filter{Version: workflow.VersionID("wfv" + which)}
		filters["trigger"+which] = run.Filter{Trigger: trigger.ID("trg" + which)}
		filters["entity"+which], filters["sub-tenant"+which] = run.Filter{Entity: &entity}, run.Filter{SubTenant: &sub}
	}
	filters["none"], filters["from"], filters["to"], filters["from and to"] = run.Filter{}, run.Filter{From: &from}, run.Filter{To: &to}, run.Filter{From: &from, To: &to}
	return filters
}

func query(t *testing.T, offset int, order domain.Sorting) domain.Query {
	t.Helper()
	page, err := domain.NewPageRequest(20, offset)
	if err != nil {
		t.Fatal(err)
	}
	return domain.Query{PageRequest: page, Sorting: order}
}

// prepared is a statement that is prepared, and how it is run with its arguments.
func prepared(statement string, args []any) (prepare, execute string) {
	if len(args) == 0 {
		return "PREPARE it AS " + statement, "EXECUTE it"
	}
	kinds, values := make([]string, len(args)), make([]string, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case time.Time:
			kinds[i], values[i] = "timestamptz", "'"+v.Format(time.RFC3339Nano)+"'"
		case int:
			kinds[i], values[i] = "bigint", fmt.Sprint(v)
		case bool:
			kinds[i], values[i] = "boolean", fmt.Sprint(v)
		default:
			kinds[i], values[i] = "text", fmt.Sprintf("'%v'", v)
		}
	}
	return "PREPARE it (" + strings.Join(kinds, ", ") + ") AS " + statement, "EXECUTE it (" + strings.Join(values, ", ") + ")"
}

// Whatever single filter is asked for, and in whatever order without one, a page reads as
// much as there is on it, planned for its parameters and for any. Counting all that fit
// reads none of them.
func TestAPageOfRunsReadsAsMuchAsThereIsOnIt(t *testing.T) {
	t.Parallel()
	store, db := plantest.Filled(t, append(manyRuns(`generate_series(1, 10000) n`, `CAST($1 AS timestamptz) + n * interval '10 milliseconds'`),
		`INSERT INTO run_facets SELECT tenant_id, created_at, id, sub_tenant_id, workflow_id, workflow_version_id, trigger_id, entity_id FROM runs
			WHERE created_at > $1`)) // which the statement that starts runs writes along
	if _, err := db.ExecContext(t.Context(), "VACUUM ANALYZE runs, run_facets"); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		for name, f := range single() {
			orders := []domain.Sorting{{}, {Ascending: true}}
			if name == "none" {
				orders = append(orders, domain.Sorting{Field: "updatedAt"})
			}
			for _, order := range orders {
				page, count, args, err := runs.PageOfRuns(store.Runs, "tenant_1", f, query(t, 10, order))
				if err != nil {
					t.Fatal(err)
				}
				prepare, execute := prepared(page, args)
				if p := plantest.Explain(t, db, execute, prepare, `SET LOCAL plan_cache_mode = `+mode); p.Buffers == 0 || p.Buffers > 150 {
					t.Errorf("with %s, %s %+v looked at %d pages:\n%s", mode, name, order, p.Buffers, p.Text)
				}
				if order.Ascending {
					continue
				}
				prepare, execute = prepared(count, args[:len(args)-2])
				if p := plantest.Explain(t, db, execute, prepare, `SET LOCAL plan_cache_mode = `+mode); strings.Contains(p.Text, " Scan on runs ") {
					t.Errorf("with %s, %s is counted by %d pages:\n%s", mode, name, p.Buffers, p.Text)
				}
			}
		}
	}
	t.Run("and what waits for an event is found without a look at what waits for others", func(t *testing.T) {
		_, err := db.ExecContext(t.Context(), `UPDATE runs SET entity_id = 'e', awaited = CASE WHEN id > 'run_109990' THEN '=paid' ELSE '=sent' END WHERE status = 'paused'`)
		if err != nil {
			t.Fatal(err)
		}
		wantFewAwaiting(t, store, db)
	})
}

func wantFewAwaiting(t *testing.T, store *sqlstore.Store, db *sql.DB) {
	t.Helper()
	after := run.Awaiting{CreatedAt: plantest.Noon.Add(time.Second), ID: "run_100100"}
	for _, statistics := range []string{"", "ANALYZE"} {
		if _, err := db.ExecContext(t.Context(), statistics); err != nil {
			t.Fatal(err)
		}
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			for what, q := range map[string]outbound.AwaitingQuery{
				"an event": {Event: "paid"}, "further pages of an event": {Event: "paid", After: &after}, "all": {}, "further pages": {After: &after},
			} {
				q.Entity, q.Limit = "e", 20
				statement, args, err := runs.AwaitingOfRuns(store.Runs, "tenant_1", q)
				if err != nil {
					t.Fatal(err)
				}
				prepare, execute := prepared(statement, args)
				if p := plantest.Explain(t, db, execute, prepare, `SET LOCAL plan_cache_mode = `+mode); p.Buffers == 0 || p.Buffers > 100 {
					t.Errorf("after %q with %s, %s looked at %d pages:\n%s", statistics, mode, what, p.Buffers, p.Text)
				}
			}
		}
	}
}

// A plan that was made for an empty table is kept while the table grows, until PostgreSQL next counts its rows.
func TestStatusesOfRunsAreFoundByAPlanForAnEmptyTable(t *testing.T) {
	t.Parallel()
	insert := manyRuns(`generate_series(1, 10000) n`, `now()`)
	store, db := plantest.Filled(t, insert[:1])
	statement, args := runs.Statuses(store.Runs, "tenant_1", "run_105000")
	prepare, execute := prepared(statement, args)
	if p := plantest.Explain(t, db, execute, prepare, `SET LOCAL plan_cache_mode = force_generic_plan`, execute, insert[1]); !strings.Contains(p.Text, "Index Scan") || strings.Contains(p.Text, "Seq Scan") {
		t.Errorf("looked at %d pages:\n%s", p.Buffers, p.Text)
	}
}

// A page on SQLite, which says only how it would go about it: by an index that has the

// Whatever a worker does with a run looks for it by its key, planned for any and when there were few runs.
func TestRunsAreFoundByTheirKeysByPlansForFew(t *testing.T) {
	t.Parallel()
	few, many := manyRuns(`generate_series(1, 1000) n`, `CAST($1 AS timestamptz)`), manyRuns(`generate_series(1001, 10000) n`, `now()`)
	store, db := plantest.Filled(t, few)
	if _, err := db.ExecContext(t.Context(), "ANALYZE runs"); err != nil {
		t.Fatal(err)
	}
	const live = `INSERT INTO live_runs (tenant_id, id, trigger_id, workflow_id, seq, size, due_at, ready_at)
		SELECT tenant_id, id, trigger_id, workflow_id, seq, 2, created_at, created_at FROM runs ON CONFLICT DO NOTHING`
	for what, of := range map[string]func(s *runs.Store, owner, id string) (query string, args []any){
		"reading what was leased": runs.ReadLeased, "leasing": runs.Lease, "recording a step": runs.RecordStep,
	} {
		statement, args := of(store.Runs, "tenant_1", "run_100100") // which is paused
		prepare, execute := prepared(statement, args)
		settings := `SET LOCAL plan_cache_mode = force_generic_plan`
		if what != "recording a step" {
			settings += `; SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off` // as in a claim
		}
		p := plantest.Explain(t, db, execute, prepare, settings, execute, many[1], live)
		if p.Buffers == 0 || p.Buffers > 60 {
			t.Errorf("%s looked at %d pages:\n%s", what, p.Buffers, p.Text)
		}
	}
}

// A page on SQLite, which says only how it would go about it: by an index that has the
// order, with all that a filter says.
func TestSQLiteReadsPagesOfRunsByTheirIndexes(t *testing.T) {
	t.Parallel()
	store, db := plantest.SQLite(t)
	const series = `(WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 10000) SELECT n FROM s)`
	const later = `strftime('%Y-%m-%d %H:%M:%f', 1795262400 + n / 100.0, 'unixepoch') || '+00:00'`
	for _, statement := range manyRuns(series, later) {
		if _, err := db.ExecContext(t.Context(), statement, plantest.Noon); err != nil {
			t.Fatal(err)
		}
	}
	plans := func(what, statement string, args []any, index string) {
		t.Helper()
		text := plantest.SQLitePlan(t, db, statement, args)
		sorts := strings.Contains(text, "TEMP B-TREE") && !strings.Contains(text, "CO-ROUTINE p") // but a few of each part
		if !strings.Contains(text, "INDEX "+index+" (") || strings.Contains(text, "SCAN runs") || strings.Contains(text, "SCAN u") || sorts {
			t.Errorf("%s is not read by %s:\n%s", what, index, text)
		}
	}
	indexes := map[string]string{
		"status": "runs_of_status", "workflow": "runs_of_workflow", "version": "runs_of_version", "trigger": "runs_of_trigger", "entity": "runs_of_entity",
		"sub-tenant": "runs_of_sub_tenant", "none": "runs_by_creation", "from": "runs_by_creation", "to": "runs_by_creation", "from and to": "runs_by_creation",
	}
	for _, statistics := range []string{"SELECT 1", "ANALYZE"} {
		if _, err := db.ExecContext(t.Context(), statistics); err != nil {
			t.Fatal(err)
		}
		for name, f := range single() {
			for _, ascending := range []bool{false, true} {
				page, _, args, err := runs.PageOfRuns(store.Runs, "tenant_1", f, query(t, 10, domain.Sorting{Ascending: ascending}))
				if err != nil {
					t.Fatal(err)
				}
				kind, _, _ := strings.Cut(name, "_")
				plans(statistics+": "+name, page, args, indexes[kind])
			}
		}
		page, _, args, err := runs.PageOfRuns(store.Runs, "tenant_1", run.Filter{}, query(t, 10, domain.Sorting{Field: "updatedAt"}))
		if err != nil {
			t.Fatal(err)
		}
		plans(statistics+": by change", page, args, "runs_by_change")
		for index, q := range map[string]outbound.AwaitingQuery{"runs_awaiting": {Entity: "e", Limit: 20}, "runs_awaiting_event": {Entity: "e", Event: "paid", Limit: 20}} {
			statement, args, err := runs.AwaitingOfRuns(store.Runs, "tenant_1", q)
			if err != nil {
				t.Fatal(err)
			}
			plans(statistics+": awaiting", statement, args, index)
		}
	}
}

// A gateway that looked for work when its database was new does not read all runs for it
// when there are many, though nobody has taken statistics since.
func TestTheLookForTheNextRunIsPlannedForTheTableAsItIs(t *testing.T) {
	t.Parallel()
	store, db := plantest.Filled(t, nil)
	look := func(times int) {
		t.Helper()
		for range times {
			if err := store.Read(t.Context(), func(ctx context.Context, st outbound.Stores) error {
				_, _, err := st.Runs.Queue.Next(ctx, time.Time{})
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	look(2)
	if _, err := db.ExecContext(t.Context(), `INSERT INTO live_runs (tenant_id, id, trigger_id, workflow_id, seq, size, due_at)
		SELECT 'tenant_' || n, 'run_' || n, '', '', 0, 0, CAST($1 AS timestamptz) + n * interval '10 milliseconds' FROM generate_series(1, 10000) n`, plantest.Noon); err != nil {
		t.Fatal(err)
	}
	look(20)
	if err := store.Close(); err != nil { // a session that ends tells what it has read
		t.Fatal(err)
	}
	var whole, byIndex int
	for began := time.Now(); byIndex < 20 && whole < 20; time.Sleep(20 * time.Millisecond) {
		const scans = `SELECT seq_scan, idx_scan FROM pg_stat_user_tables WHERE relname = 'live_runs'`
		if err := db.QueryRowContext(t.Context(), scans).Scan(&whole, &byIndex); err != nil {
			t.Fatal(err)
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("of 20 looks the database counted %d scans of the table and %d of its indexes", whole, byIndex)
		}
	}
	if whole >= 20 {
		t.Errorf("20 looks read the whole table %d times", whole)
	}
}
