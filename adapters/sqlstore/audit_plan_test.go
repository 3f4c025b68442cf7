package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/plantest"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/audit"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// auditEntries is how long the log is.
const auditEntries = 20_000

// fillLog writes a sealed log of tenant_1, an entry a second.
func fillLog(t *testing.T, store *sqlstore.Store, db *sql.DB) {
	t.Helper()
	const batch = 1000
	for first := 1; first <= auditEntries; first += batch {
		all := make([]audit.Entry, batch)
		for i := range all {
			n := first + i
			all[i] = audit.Entry{
				ID: audit.ID(fmt.Sprintf("aud_%09d", n)), Tenant: "tenant_1", At: plantest.Noon.Add(time.Duration(n) * time.Second), ActorKind: audit.ByKey, ActorID: fmt.Sprint("key_", n%50),
				Action: fmt.Sprint("action_", n%40), Target: audit.Target{Kind: "trigger", ID: fmt.Sprint("trg_", n%500)}, RequestID: fmt.Sprint("req_", n),
			}
		}
		if err := store.Do(t.Context(), func(ctx context.Context, st outbound.Stores) error { return st.Audit.Log.Append(ctx, all...) }); err != nil {
			t.Fatal(err)
		}
	}
	for _, statement := range []string{
		`INSERT INTO audit_entries SELECT tenant_id, id, at, actor_kind, actor_id, action, target_kind, target_id, request_id, said, CAST(substr(id, 5) AS bigint), '' FROM audit_waiting`,
		`DELETE FROM audit_waiting`,
		fmt.Sprintf(`INSERT INTO audit_heads (tenant_id, seq, hash, pruned_seq, pruned_hash) VALUES ('tenant_1', %d, '', 0, '')`, auditEntries),
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

// auditFilters are the single filters with the index that answers each.
func auditFilters() map[string]audit.Filter {
	from := plantest.Noon.Add(auditEntries / 2 * time.Second)
	return map[string]audit.Filter{
		"audit_entries_by_time": {}, "audit_entries_of_actor": {Actor: "key_7"}, "audit_entries_of_action": {Action: "action_7"}, "audit_entries_of_target": {Target: "trg_7"},
		"audit_entries_by_time (at": {From: &from}, "audit_entries_of_action (at": {Action: "action_7", To: &from},
	}
}

func pageOfLog(t *testing.T, f audit.Filter, offset int) (page, count string, args []any) {
	t.Helper()
	bounds, err := domain.NewPageRequest(20, offset)
	if err != nil {
		t.Fatal(err)
	}
	page, count, args, err = sqlstore.PageOfAuditLog("tenant_1", f, domain.Query{PageRequest: bounds})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Replace(page, "("+count+") AS total", "0 AS total", 1), count, args
}

// prepared is a statement that is prepared, and how it is run with its arguments.
func prepared(statement string, args []any) (prepare, execute string) {
	kinds, values := make([]string, len(args)), make([]string, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case time.Time:
			kinds[i], values[i] = "timestamptz", "'"+v.Format(time.RFC3339Nano)+"'"
		case int:
			kinds[i], values[i] = "bigint", fmt.Sprint(v)
		default:
			kinds[i], values[i] = "text", fmt.Sprintf("'%v'", v)
		}
	}
	return "PREPARE it (" + strings.Join(kinds, ", ") + ") AS " + statement, "EXECUTE it (" + strings.Join(values, ", ") + ")"
}

func TestAPageOfTheAuditLogReadsAsMuchAsThereIsOnIt(t *testing.T) {
	t.Parallel()
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		store, db := plantest.Filled(t, nil)
		fillLog(t, store, db)
		if _, err := db.ExecContext(t.Context(), "VACUUM ANALYZE audit_entries, audit_waiting, audit_heads"); err != nil {
			t.Fatal(err)
		}
		for name, f := range auditFilters() {
			for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
				page, count, args := pageOfLog(t, f, 10)
				prepare, execute := prepared(page, args)
				p := plantest.Explain(t, db, execute, prepare, `SET LOCAL plan_cache_mode = `+mode)
				if p.Buffers == 0 || p.Buffers > 60 {
					t.Errorf("with %s, %s looked at %d pages:\n%s", mode, name, p.Buffers, p.Text)
				}
				prepare, execute = prepared(count, args[:len(args)-2])
				c := plantest.Explain(t, db, execute, prepare, `SET LOCAL plan_cache_mode = `+mode)
				if whole := f == (audit.Filter{}); strings.Contains(c.Text, " Scan on audit_entries") || whole && c.Buffers > 20 {
					t.Errorf("with %s, %s is counted by %d pages:\n%s", mode, name, c.Buffers, c.Text)
				}
				t.Logf("with %s, %s: a page takes %s and counting %s", mode, name, p.Took, c.Took)
			}
		}
	})
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		store, db := plantest.SQLite(t)
		fillLog(t, store, db)
		for name, f := range auditFilters() {
			index, _, _ := strings.Cut(name, " ")
			page, count, args := pageOfLog(t, f, 10)
			if plan := plantest.SQLitePlan(t, db, page, args); !strings.Contains(plan, "USING INDEX "+index+" ") || strings.Contains(plan, "TEMP B-TREE") {
				t.Errorf("%s is read by\n%s", name, plan)
			}
			if index = "COVERING INDEX " + index; f == (audit.Filter{}) {
				index = "COVERING INDEX sqlite_autoindex_audit_waiting_1"
			}
			if plan := plantest.SQLitePlan(t, db, count, args[:len(args)-2]); !strings.Contains(plan, "USING "+index+" ") {
				t.Errorf("%s is counted by\n%s", name, plan)
			}
		}
	})
}

// What is sealed leaves entries in the index of what waits, for which PostgreSQL has the table vacuumed.
func TestTheStoreSaysHowMuchWasSealed(t *testing.T) {
	t.Parallel()
	store, _ := plantest.SQLite(t)
	told := 0
	store.EntriesSealed = func(rows int) { told += rows }
	err := store.Do(t.Context(), func(ctx context.Context, st outbound.Stores) error {
		for _, id := range []audit.ID{"aud_1", "aud_2", "aud_3"} {
			if err := st.Audit.Log.Append(ctx, audit.Entry{ID: id, Tenant: "tenant_1", At: plantest.Noon, ActorKind: audit.ByKey}); err != nil {
				return err
			}
		}
		head, _, err := st.Audit.Sealing.Hold(ctx, "tenant_1")
		if err != nil {
			return err
		}
		waiting, err := st.Audit.Sealing.Next(ctx, "tenant_1", 2)
		if err != nil {
			return err
		}
		head.Seal(waiting)
		return st.Audit.Sealing.Seal(ctx, head, waiting)
	})
	if err != nil || told != 2 {
		t.Errorf("it says %d: %v", told, err)
	}
}

// PostgreSQL keeps what was removed in its indexes until it has cleaned them up.
func TestTheLastPartOfALogIsPrunedAsQuicklyAsTheFirst(t *testing.T) {
	t.Parallel()
	store, db := plantest.Filled(t, nil)
	if _, err := db.ExecContext(t.Context(), `ALTER TABLE audit_entries SET (autovacuum_enabled = false)`); err != nil {
		t.Fatal(err)
	}
	fillLog(t, store, db)
	if _, err := db.ExecContext(t.Context(), "ANALYZE audit_entries"); err != nil {
		t.Fatal(err)
	}
	const batch = 200
	prune := func(behind int) int {
		prepare, execute := prepared(sqlstore.PruneChain, []any{"tenant_1", behind, behind + batch})
		p := plantest.Explain(t, db, execute, prepare)
		if !strings.Contains(p.Text, "audit_entries_sealed") {
			t.Error(p.Text)
		}
		return p.Buffers
	}
	first := prune(0)
	if _, err := db.ExecContext(t.Context(), fmt.Sprintf(`DELETE FROM audit_entries WHERE seq <= %d`, auditEntries-batch)); err != nil {
		t.Fatal(err)
	}
	if last := prune(auditEntries - batch); last > 2*first {
		t.Errorf("the last part looks at %d pages, and the first at %d", last, first)
	}
	var found []tenant.ID
	if err := store.Read(t.Context(), func(ctx context.Context, st outbound.Stores) (err error) {
		found, err = st.Audit.Chain.Aged(ctx, plantest.Noon, nil, 10)
		return err
	}); err != nil || len(found) > 0 {
		t.Error(found, err)
	}
}
