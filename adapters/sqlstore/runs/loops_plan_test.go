package runs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/adapters/sqlstore/plantest"
	"github.com/sluicehq/sluice/adapters/sqlstore/runs"
	"github.com/sluicehq/sluice/domain/run"
)

// Items are read by their keys, a page as much as another, also of a tenant that statistics do not
// know yet: a loop has thousands of runs within seconds.
func TestItemsThatHaveEndedAreFoundWithoutReadingAllRunsOfTheirTenant(t *testing.T) {
	t.Parallel()
	store, db := plantest.Filled(t, manyRuns(`generate_series(1, 10000) n`, `CAST($1 AS timestamptz) + n * interval '10 milliseconds'`))
	const first = run.ID("run_01h2xcejqtf2nbrexx3vqjhp41")
	for _, statement := range []string{
		"ANALYZE",
		`INSERT INTO tenants (id, name, status, settings, created_at, updated_at, revision) VALUES ('tenant_2', 'Other', 'active', '{}', now(), now(), 1)`,
		`UPDATE runs SET tenant_id = 'tenant_2', status = 'completed', finished_at = now() WHERE id > 'run_100100'`,
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	const items = 512
	names := make([]string, items)
	for i := range names {
		names[i] = fmt.Sprintf("(%d, '%s')", 100_101+i, first.Item(i))
	}
	if _, err := db.ExecContext(t.Context(), `UPDATE runs SET id = v.id FROM (VALUES `+strings.Join(names, ", ")+`) AS v (n, id) WHERE runs.id = 'run_' || v.n`); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		statement, args := runs.EndedItems(store.Runs, "tenant_2", first, items)
		prepare, execute := prepared(statement, args)
		p := plantest.Explain(t, db, execute, prepare, `SET LOCAL plan_cache_mode = `+mode)
		if p.Buffers < items || p.Buffers > 6*items {
			t.Errorf("with %s, %d items took %d pages:\n%s", mode, items, p.Buffers, p.Text)
		}
	}
}
