package webhooks_test

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
	"github.com/sluicehq/sluice/adapters/sqlstore/webhooks"
	"github.com/sluicehq/sluice/ports/outbound"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// backlog fills a database with deliveries that are due: many of one tenant, to ten
// endpoints, half of which fail, and one of another tenant. Many more ended long ago.
var backlog = []string{
	`INSERT INTO tenants (id, name, status, settings, created_at, updated_at, revision)
		SELECT 'tenant_' || t, 'Acme', 'active', '{}', $1, $1, 1 FROM generate_series(1, 2) t`,
	`INSERT INTO webhook_endpoints (tenant_id, id, sub_tenant_id, url, search_text, events, is_active, secret, retired_secrets, failing_since, disabled_reason, created_at, updated_at, revision)
		SELECT 'tenant_1', 'whk_' || e, '', 'https://example.com/', '', '[]', true, 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', '[]', CASE WHEN e % 2 = 0 THEN CAST($1 AS timestamptz) END, '', $1, $1, 1
		FROM generate_series(0, 9) e
		UNION ALL SELECT 'tenant_2', 'whk_other', '', 'https://example.com/', '', '[]', true, 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', '[]', NULL, '', $1, $1, 1`,
	`INSERT INTO webhook_events (tenant_id, id, sub_tenant_id, type, happened_at, data, waits)
		SELECT 'tenant_' || t, 'evt_' || t, '', 'run.failed', $1, '{}', false FROM generate_series(1, 2) t`,
	`INSERT INTO webhook_deliveries (tenant_id, id, endpoint_id, event_id, event_type, status, attempts, attempted, next_attempt_at, is_manual, reason, created_at, updated_at, revision)
		SELECT 'tenant_1', 'msg_' || d, 'whk_' || d % 10, 'evt_1', 'run.failed', CASE WHEN d < 100000 THEN 'pending' ELSE 'delivered' END, '[]', 0,
			CASE WHEN d < 100000 THEN CAST($1 AS timestamptz) + d * interval '1 millisecond' END, false, '', $1, $1, 1 FROM generate_series(0, 149999) d
		UNION ALL SELECT 'tenant_2', 'msg_other', 'whk_other', 'evt_2', 'run.failed', 'pending', '[]', 0, CAST($1 AS timestamptz) + interval '200 seconds', false, '', $1, $1, 1`,
}

// wantPages checks how many pages the statements of a claim look at, with statistics of
// the tables and without, planned for their parameters and for any.
func wantPages(t *testing.T, store *sqlstore.Store, db *sql.DB, tenants string, most int) {
	t.Helper()
	now := plantest.Noon.Add(time.Hour).Format(time.RFC3339)
	for _, statistics := range []string{"", "ANALYZE"} {
		if _, err := db.ExecContext(t.Context(), statistics); err != nil {
			t.Fatal(err)
		}
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			setting := `SET LOCAL plan_cache_mode = ` + mode
			for what, p := range map[string]plantest.Plan{
				"owners": plantest.Explain(t, db, `EXECUTE owners (1, '`+now+`')`, `PREPARE owners (integer, timestamptz) AS `+webhooks.OwnersOfDueDeliveries(store.Webhooks), setting),
				"claim": plantest.Explain(t, db, `EXECUTE claim ('`+tenants+`', '`+now+`', 512, 128, 256, 128, 8, 1)`,
					`PREPARE claim (text, timestamptz, integer, integer, integer, integer, integer, integer) AS `+webhooks.ClaimOfDeliveries(store.Webhooks), setting),
				"next": plantest.Explain(t, db, webhooks.NextOfDeliveries(store.Webhooks, store.Level)),
			} {
				if strings.Contains(p.Text, "Seq Scan on webhook_deliveries") || strings.Contains(p.Text, "JIT:") || p.Buffers == 0 || p.Buffers > most {
					t.Errorf("after %q, %s looked at %d pages:\n%s", statistics, what, p.Buffers, p.Text)
				}
				t.Logf("after %q with %s, %s took %s for %d pages", statistics, mode, what, p.Took, p.Buffers)
			}
		}
	}
}

// retries fills a database with a thousand tenants, each with deliveries to five
// endpoints. Those of ten tenants are due, all the others much later.
var retries = []string{
	`INSERT INTO tenants (id, name, status, settings, created_at, updated_at, revision)
		SELECT 'tenant_' || t, 'Acme', 'active', '{}', $1, $1, 1 FROM generate_series(1, 1000) t`,
	`INSERT INTO webhook_endpoints (tenant_id, id, sub_tenant_id, url, search_text, events, is_active, secret, retired_secrets, failing_since, disabled_reason, created_at, updated_at, revision)
		SELECT 'tenant_' || t, 'whk_' || e, '', 'https://example.com/', '', '[]', true, 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', '[]', $1, '', $1, $1, 1
		FROM generate_series(1, 5) e, generate_series(1, 1000) t`,
	`INSERT INTO webhook_events (tenant_id, id, sub_tenant_id, type, happened_at, data, waits)
		SELECT 'tenant_' || t, 'evt_1', '', 'run.failed', $1, '{}', false FROM generate_series(1, 1000) t`,
	`INSERT INTO webhook_deliveries (tenant_id, id, endpoint_id, event_id, event_type, status, attempts, attempted, next_attempt_at, is_manual, reason, created_at, updated_at, revision)
		SELECT 'tenant_' || t, 'msg_' || e || '_' || d, 'whk_' || e, 'evt_1', 'run.failed', 'pending', '[]', 1,
			CAST($1 AS timestamptz) + CASE WHEN t % 100 = 0 THEN interval '0' ELSE interval '10 hours' END, false, '', $1, $1, 1
		FROM generate_series(1, 5) e, generate_series(1, 20) d, generate_series(1, 1000) t`,
}

// What a claim costs depends on how many tenants there are and how much is leased, and
// not on how many deliveries wait.
func TestClaimingAmongManyTenantsReadsFewDeliveries(t *testing.T) {
	store, db := plantest.Filled(t, retries)
	wantPages(t, store, db, `[{"tenant_id":"tenant_100"},{"tenant_id":"tenant_200"}]`, 5000)
}

func TestClaimingAmongManyDeliveriesReadsFewOfThem(t *testing.T) {
	store, db := plantest.Filled(t, backlog)
	wantPages(t, store, db, `[{"tenant_id":"tenant_1"},{"tenant_id":"tenant_2"}]`, 1000)
	var leased []outbound.DueDelivery
	began := time.Now()
	err := store.Do(t.Context(), func(ctx context.Context, st outbound.Stores) (err error) {
		leased, err = st.Webhooks.Queue.Claim(ctx, outbound.DeliveryClaim{
			Period: time.Minute, Limit: 512, Reserved: 128, Failing: 256, PerTenant: 128, PerEndpoint: 8,
		})
		return err
	})
	others := 0
	for _, d := range leased {
		if d.Delivery.Tenant() == "tenant_2" {
			others++
		}
	}
	if got := fmt.Sprintf("%d of %d", others, len(leased)); err != nil || got != "1 of 46" { // five endpoints get 8, five that fail one
		t.Errorf("the other tenant got %s: %v", got, err)
	}
	t.Logf("a claim with all it writes took %s", time.Since(began))
}
