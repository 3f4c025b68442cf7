package sqlstore_test

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/plantest"
	"github.com/sluicehq/sluice/domain/process"
	"github.com/sluicehq/sluice/domain/tenant"
)

// Of each tenant a run and a delivery are due, at noon of the suspended one and a minute later of the active one, which has
// another of each that is due an hour later.
var waitingOfTwo = []string{
	`INSERT INTO tenants (id, name, status, settings, created_at, updated_at, revision) VALUES ('tenant_1', 'Gone', 'suspended', '{}', $1, $1, 1), ('tenant_2', 'Acme', 'active', '{}', $1, $1, 1)`,
	`INSERT INTO runs (tenant_id, id, sub_tenant_id, workflow_id, workflow_version_id, trigger_id, trigger_name, trigger_type, entity_id, dedupe_key, holds_key, cause,
		payload, max_retries, backoff_ms, max_backoff_ms, timeout_ms, status, seq, progress, created_at, updated_at)
		SELECT id, 'run_' || n, '', 'wf', 'wfv', '', '', '', 'e', n, false, 'manual', '{}', 0, 0, 0, 0, 'pending', 0, '{}', created_at, created_at
		FROM tenants CROSS JOIN (SELECT 1 AS n UNION ALL SELECT 2) AS two`,
	`INSERT INTO webhook_endpoints (tenant_id, id, sub_tenant_id, url, search_text, events, is_active, secret, retired_secrets, disabled_reason, created_at, updated_at, revision)
		SELECT id, 'whk', '', 'https://example.com/', '', '[]', true, 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', '[]', '', created_at, created_at, 1 FROM tenants`,
	`INSERT INTO webhook_events (tenant_id, id, sub_tenant_id, type, happened_at, data, waits) SELECT id, 'evt', '', 'run.failed', created_at, '{}', false FROM tenants`,
}

func due(owner, number string) []string {
	return []string{
		`INSERT INTO live_runs (tenant_id, id, trigger_id, workflow_id, seq, size, due_at) VALUES ('` + owner + `', 'run_` + number + `', '', 'wf', 0, 0, $1)`,
		`INSERT INTO webhook_deliveries (tenant_id, id, endpoint_id, event_id, event_type, status, attempts, attempted, next_attempt_at, is_manual, reason, created_at, updated_at, revision)
			VALUES ('` + owner + `', 'msg_` + number + `', 'whk', 'evt', 'run.failed', 'pending', '[]', 0, $1, false, '', $1, $1, 1)`,
	}
}

// onBoth tries both databases.
func onBoth(t *testing.T, try func(t *testing.T, store *sqlstore.Store, db *sql.DB)) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) (*sqlstore.Store, *sql.DB){
		"SQLite":     plantest.SQLite,
		"PostgreSQL": func(t *testing.T) (*sqlstore.Store, *sql.DB) { return plantest.Filled(t, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, db := open(t)
			try(t, store, db)
		})
	}
}

func TestTheOldestOfAQueueIsTheOneThatAWorkerWouldTake(t *testing.T) {
	onBoth(t, func(t *testing.T, store *sqlstore.Store, db *sql.DB) {
		insert := func(at time.Time, statements ...string) {
			t.Helper()
			for _, one := range statements {
				if _, err := db.ExecContext(t.Context(), one, at); err != nil {
					t.Fatalf("%v: %s", err, one)
				}
			}
		}
		insert(plantest.Noon, waitingOfTwo[0])
		for _, one := range waitingOfTwo[1:] {
			if _, err := db.ExecContext(t.Context(), one); err != nil {
				t.Fatalf("%v: %s", err, one)
			}
		}
		want := func(after time.Duration, since *time.Time, shares ...process.Share) {
			t.Helper()
			got, err := store.Queues(t.Context(), plantest.Noon.Add(after))
			if err != nil {
				t.Fatal(err)
			}
			waiting := 0
			for _, share := range shares {
				waiting += share.Waiting
			}
			if diff := cmp.Diff([]process.Queue{
				{Name: process.RunQueue, Waiting: waiting, Since: since, Shares: shares},
				{Name: process.EventQueue},
				{Name: process.DeliveryQueue, Waiting: waiting, Since: since, Shares: shares},
			}, got); diff != "" {
				t.Errorf("after %s: %s", after, diff)
			}
		}
		want(time.Hour, nil)
		insert(plantest.Noon, due("tenant_1", "1")...)
		want(time.Hour, nil, process.Share{Tenant: "tenant_1", Waiting: 1})
		insert(plantest.Noon.Add(time.Hour), due("tenant_2", "2")...)
		want(time.Hour-time.Millisecond, nil, process.Share{Tenant: "tenant_1", Waiting: 1})
		want(time.Hour, new(plantest.Noon.Add(time.Hour)), process.Share{Tenant: "tenant_1", Waiting: 1}, process.Share{Tenant: "tenant_2", Waiting: 1})
		insert(plantest.Noon.Add(time.Minute), due("tenant_2", "1")...)
		want(2*time.Hour, new(plantest.Noon.Add(time.Minute)), process.Share{Tenant: "tenant_2", Waiting: 2}, process.Share{Tenant: "tenant_1", Waiting: 1})
	})
}

func TestEventsWaitUntilAnEndpointIsGivenThem(t *testing.T) {
	onBoth(t, func(t *testing.T, store *sqlstore.Store, db *sql.DB) {
		want := process.Queue{Name: process.EventQueue}
		for n := range process.MaxShares + 2 {
			owner, at, status := tenant.ID(fmt.Sprintf("tenant_%02d", n)), plantest.Noon.Add(time.Duration(n)*time.Minute), "active"
			if n == 0 {
				status = "suspended"
			}
			for _, one := range []string{
				`INSERT INTO tenants (id, name, status, settings, created_at, updated_at, revision) VALUES ('` + string(owner) + `', 'T', '` + status + `', '{}', $1, $1, 1)`,
				`INSERT INTO webhook_events (tenant_id, id, sub_tenant_id, type, happened_at, data, waits) VALUES ('` + string(owner) + `', 'evt_1', '', 'run.failed', $1, '{}', true)`,
				`INSERT INTO webhook_events (tenant_id, id, sub_tenant_id, type, happened_at, data, waits) VALUES ('` + string(owner) + `', 'evt_2', '', 'run.failed', $1, '{}', false)`,
			} {
				if _, err := db.ExecContext(t.Context(), one, at); err != nil {
					t.Fatalf("%v: %s", err, one)
				}
			}
			if n < process.MaxShares {
				want.Shares = append(want.Shares, process.Share{Tenant: owner, Waiting: 1})
			}
		}
		want.Waiting, want.Since = process.MaxShares+2, new(plantest.Noon.Add(time.Minute))
		got, err := store.Queues(t.Context(), plantest.Noon)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got[1]); diff != "" {
			t.Error(diff)
		}
	})
}
