package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/plantest"
	"github.com/sluicehq/sluice/adapters/sqlstore/postgres/pgtest"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// recounted is what is kept of each tenant according to the rows themselves.
const recounted = `SELECT tenant_id, CAST(sum(bytes) AS bigint) FROM (
		SELECT tenant_id, octet_length(payload) + octet_length(progress) AS bytes FROM runs
		UNION ALL SELECT tenant_id, octet_length(output) FROM run_outputs
		UNION ALL SELECT tenant_id, octet_length(payload) FROM run_payloads
		UNION ALL SELECT tenant_id, octet_length(entries) FROM run_history
	) AS rows_of_runs GROUP BY tenant_id`

const counted = `SELECT tenant_id, CAST(sum(bytes) AS bigint) FROM tenant_storage GROUP BY tenant_id HAVING sum(bytes) <> 0`

// sums reads bytes by tenant.
func sums(t *testing.T, db *sql.DB, query string) map[string]int64 {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	all := make(map[string]int64)
	for rows.Next() {
		var owner string
		var bytes int64
		if err := rows.Scan(&owner, &bytes); err != nil {
			t.Fatal(err)
		}
		all[owner] = bytes
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// client does at random what gateways do with the runs of some tenants, which several of
// them share.
type client struct {
	*testing.T
	store *sqlstore.Store
	rnd   *rand.Rand
	name  string
	mine  []*run.Run // started and not over
	made  int
}

func (c *client) work(fn func(ctx context.Context, st outbound.Stores) error) {
	if err := c.store.Do(c.Context(), fn); err != nil {
		c.Error(err)
	}
}

func (c *client) text() string { return `"é` + strings.Repeat("x", c.rnd.IntN(4000)) + `"` }

// start starts runs of a tenant, which may share their payload.
func (c *client) start(owner tenant.ID) {
	payload := []byte(c.text())
	var runs []*run.Run
	for range 1 + c.rnd.IntN(4) {
		c.made++
		runs = append(runs, run.New(run.ID(fmt.Sprintf("run_%s_%d", c.name, c.made)), run.Start{
			Tenant: owner, Workflow: "wf_1", Version: "wfv_1", Cause: run.CauseManual, Payload: payload,
		}, plantest.Noon))
	}
	share := c.rnd.IntN(2) == 0
	c.work(func(ctx context.Context, st outbound.Stores) (err error) {
		if share {
			_, err = st.Runs.Shared.Start(ctx, outbound.PayloadID(fmt.Sprintf("pay_%s_%d", c.name, c.made)), runs...)
		} else {
			_, err = st.Runs.Runs.Start(ctx, runs...)
		}
		return err
	})
	c.mine = append(c.mine, runs...)
}

// record records a step of some runs, together or alone, with a history or without one.
func (c *client) record() {
	c.rnd.Shuffle(len(c.mine), func(a, b int) { c.mine[a], c.mine[b] = c.mine[b], c.mine[a] })
	n := min(len(c.mine), c.rnd.IntN(5))
	steps := make([]outbound.RunStep, n)
	for i, r := range c.mine[:n] {
		st := r.State()
		st.Seq++
		st.Progress = run.Progress{Nodes: []run.NodeState{{ID: "a", Status: run.NodeCompleted, Output: []byte(c.text())}}}
		if c.rnd.IntN(2) == 0 {
			st.Status, st.FinishedAt = run.StatusCompleted, &ended
		}
		steps[i] = outbound.RunStep{Run: run.Restore(st), From: r.Seq()}
		if c.rnd.IntN(4) > 0 {
			steps[i].History = []run.Entry{{Seq: st.Seq, At: plantest.Noon, Type: run.EntryNodeStarted, Node: "é", Message: c.text()}}
		}
	}
	c.work(func(ctx context.Context, st outbound.Stores) error { return st.Runs.Runs.Record(ctx, steps...) })
	left := c.mine[n:]
	for _, s := range steps {
		if !s.Run.Status().Finished() {
			left = append(left, s.Run)
		}
	}
	c.mine = left
}

// ended is when runs end.
var ended = plantest.Noon

// What is counted of each tenant is what the rows hold, whatever happens at the same time.
func TestKeptBytesAreThoseOfTheRows(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) (*sqlstore.Store, *sql.DB){
		"PostgreSQL": func(t *testing.T) (*sqlstore.Store, *sql.DB) { return plantest.Filled(t, nil) },
		"SQLite":     plantest.SQLite,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, db := open(t)
			owners := []tenant.ID{"tenant_a", "tenant_b", "tenant_c"}
			for _, id := range owners {
				ten, err := tenant.New(id, tenant.Draft{Name: "Acme"}, plantest.Noon)
				if err != nil {
					t.Fatal(err)
				}
				if err := store.Do(t.Context(), func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Insert(ctx, ten) }); err != nil {
					t.Fatal(err)
				}
			}
			var all sync.WaitGroup
			for n := range 4 {
				c := &client{T: t, store: store, rnd: rand.New(rand.NewPCG(uint64(n), 7)), name: fmt.Sprint(n)} //nolint:gosec // a sequence to repeat
				all.Go(func() {
					for range 40 {
						switch owner := owners[c.rnd.IntN(len(owners))]; c.rnd.IntN(5) {
						case 0, 1:
							c.start(owner)
						case 2, 3:
							c.record()
						default:
							c.work(func(ctx context.Context, st outbound.Stores) error {
								_, err := st.Runs.Overview.Sweep(ctx, outbound.RunSweep{Tenant: owner, Before: plantest.Noon.Add(1), Limit: 1 + c.rnd.IntN(4)})
								return err
							})
						}
					}
				})
			}
			all.Wait()
			want := sums(t, db, recounted)
			if len(want) != len(owners) {
				t.Errorf("the rows are of %d tenants", len(want))
			}
			if diff := cmp.Diff(want, sums(t, db, counted)); diff != "" {
				t.Error(diff)
			}
			kept, err := store.StoredBytes(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			shown := make(map[string]int64)
			for id, bytes := range kept {
				shown[string(id)] = bytes
			}
			if diff := cmp.Diff(want, shown); diff != "" {
				t.Errorf("for the operator: %s", diff)
			}
			if err := store.Do(t.Context(), func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Delete(ctx, owners[0]) }); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(sums(t, db, recounted), sums(t, db, counted)); diff != "" {
				t.Errorf("once a tenant is deleted: %s", diff)
			}
		})
	}
}
