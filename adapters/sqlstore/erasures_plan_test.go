package sqlstore_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/adapters/sqlstore/plantest"
)

// keptOfRuns is what is kept of hooks, events and answers, half of it another tenant's: a hundred a second. No trigger counts it.
const keptOfRuns = `SET session_replication_role = replica;
	INSERT INTO hook_deliveries (tenant_id, trigger_id, id, received_at, verdict, code, refused, runs, items, replay_of, size, sealed)
		SELECT 'tenant_' || 1 + n % 2, 'trg_' || n % 7, 'hdl_' || lpad(CAST(n AS text), 9, '0'), timestamptz '2025-11-21 12:00Z' + n * interval '10 ms', 'accepted', '', false, 'run_' || n, 0, '', 100, repeat('x', 100)
		FROM generate_series(1, 200000) n;
	INSERT INTO webhook_events (tenant_id, id, sub_tenant_id, type, happened_at, data, waits)
		SELECT 'tenant_' || 1 + n % 2, 'evt_' || lpad(CAST(n AS text), 9, '0'), '', 'run.completed', timestamptz '2025-11-21 12:00Z' + n * interval '10 ms', '{}', false FROM generate_series(1, 200000) n;
	INSERT INTO outcomes (tenant_id, scope, key, fingerprint, answer, created_at)
		SELECT 'tenant_' || 1 + n % 2, 'POST /x', 'k' || n, 'f', '{}', timestamptz '2025-11-21 12:00Z' + n * interval '10 ms' FROM generate_series(1, 200000) n;
	SET session_replication_role = DEFAULT;
	ANALYZE hook_deliveries, webhook_events, outcomes`

// lookups are the statements that look for what is about runs, with arguments, and how many pages each may look at: of what is kept of the
// tenant, a batch.
func lookups(t *testing.T, store *sqlstore.Store) map[string]lookup {
	t.Helper()
	at := plantest.Noon.Add(1000 * time.Second)
	times := make([]map[string]string, 1000)
	for i := range times {
		times[i] = map[string]string{"at": at.Add(time.Duration(i) * 20 * time.Millisecond).Format(core.TimeFormat)}
	}
	text, err := json.Marshal(times)
	if err != nil {
		t.Fatal(err)
	}
	parts := sqlstore.NextOfPart()
	return map[string]lookup{
		"deliveries since a time":    {sqlstore.NextDeliveries, []any{"tenant_1", at, "trg_1", "hdl_000100001", 1000}, "hook_deliveries_received", 400},
		"events at times":            {sqlstore.EventsAt(store), []any{string(text), "tenant_1"}, "webhook_events_by_time", 8000},
		"answers within ten seconds": {sqlstore.AnswersOf, []any{"tenant_1", at, at.Add(10 * time.Second)}, "outcomes_by_creation", 400},
		"enough answers":             {sqlstore.EnoughAnswers, []any{at, at.Add(time.Hour), 1000}, "outcomes_by_creation", 400},
		"the next deliveries":        {parts[0], []any{"tenant_1", "trg_1", "hdl_000100001", plantest.Noon, 200}, "hook_deliveries", 100},
		"the next events":            {parts[1], []any{"tenant_1", "evt_000100001", plantest.Noon, 200}, "webhook_events", 100},
		"the next answers":           {parts[2], []any{"tenant_1", "POST /x", "k5", plantest.Noon, 200}, "outcomes", 500},
	}
}

type lookup struct {
	statement string
	args      []any
	index     string // of SQLite without a name, the key's
	pages     int
}

func TestWhatIsAboutRunsIsFoundByItsTimeAndABatchAtATime(t *testing.T) {
	t.Parallel()
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		store, db := plantest.Filled(t, nil)
		if _, err := db.ExecContext(t.Context(), keptOfRuns); err != nil {
			t.Fatal(err)
		}
		for name, l := range lookups(t, store) {
			for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
				prepare, execute := prepared(l.statement, l.args)
				p := plantest.Explain(t, db, execute, prepare, `SET LOCAL plan_cache_mode = `+mode)
				if p.Buffers == 0 || p.Buffers > l.pages || strings.Contains(p.Text, "Seq Scan") || !strings.Contains(p.Text, l.index) {
					t.Errorf("with %s, %s looked at %d pages:\n%s", mode, name, p.Buffers, p.Text)
				}
				t.Logf("with %s, %s: %d pages, %s", mode, name, p.Buffers, p.Took)
			}
		}
	})
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		store, db := plantest.SQLite(t)
		for name, l := range lookups(t, store) {
			index := "USING INDEX " + l.index
			if !strings.Contains(l.index, "_by_") && !strings.Contains(l.index, "_received") {
				index = "USING INDEX sqlite_autoindex_" + l.index + "_1"
			}
			if plan := strings.ReplaceAll(plantest.SQLitePlan(t, db, l.statement, l.args), "COVERING ", ""); !strings.Contains(plan, index) && !strings.Contains(plan, "USING PRIMARY KEY") {
				t.Errorf("%s is found by\n%s", name, plan)
			}
		}
	})
}
