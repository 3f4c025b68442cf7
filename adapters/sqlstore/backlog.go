package sqlstore

import (
	"context"
	"math"
	"strconv"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/adapters/sqlstore/runs"
	"github.com/sluicehq/sluice/domain/process"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

var _ outbound.Queues = (*Store)(nil)

// Queues looks at each queue for itself: what moves on meanwhile may be in two of them.
func (s *Store) Queues(ctx context.Context, now time.Time) ([]process.Queue, error) {
	queues := []process.Queue{{Name: process.RunQueue}, {Name: process.EventQueue}, {Name: process.DeliveryQueue}}
	for i, asked := range []struct {
		waiting string // selects tenant_id of each entry that waits
		args    []any
		oldest  string // selects free_at of the oldest one
		of      []any
	}{
		{`SELECT f.tenant_id FROM live_runs f WHERE f.ready_at = f.free_at
			UNION ALL SELECT f.tenant_id FROM live_runs f WHERE f.free_at IS NOT NULL AND f.ready_at IS DISTINCT FROM f.free_at AND f.free_at <= $1`, []any{now}, runs.OldestWaiting, []any{now}},
		{`SELECT e.tenant_id FROM webhook_events e WHERE e.waits`, nil, `SELECT e.happened_at AS free_at FROM webhook_events e JOIN tenants t ON t.id = e.tenant_id
			WHERE e.waits AND t.status = 'active' ORDER BY e.happened_at LIMIT 1`, nil},
		{`SELECT d.tenant_id FROM webhook_deliveries d WHERE d.status = 'pending' AND d.next_attempt_at <= $1`, []any{now}, s.Webhooks.OldestDue(), []any{math.MaxInt16, now}},
	} {
		if err := s.measure(ctx, &queues[i], asked.waiting, asked.args...); err != nil {
			return nil, err
		}
		var oldest []struct {
			Tenant string       `db:"tenant_id"`
			ID     string       `db:"id"`
			FreeAt core.Instant `db:"free_at"`
		}
		if err := s.ReadPlainly(ctx, "find the oldest of the queue "+string(queues[i].Name), &oldest, asked.oldest, asked.of...); err != nil {
			return nil, err
		}
		if len(oldest) > 0 {
			queues[i].Since = &oldest[0].FreeAt.Time
		}
	}
	return queues, nil
}

// measure counts what waits.
func (s *Store) measure(ctx context.Context, q *process.Queue, waiting string, args ...any) error {
	var shares []struct {
		Tenant  tenant.ID `db:"tenant_id"`
		Waiting int       `db:"waiting"`
		All     int       `db:"all_waiting"`
	}
	err := s.ReadPlainly(ctx, "count the queue "+string(q.Name), &shares, `SELECT w.tenant_id, count(*) AS waiting, CAST(sum(count(*)) OVER () AS bigint) AS all_waiting
		FROM (`+waiting+`) AS w GROUP BY w.tenant_id ORDER BY waiting DESC, w.tenant_id LIMIT `+strconv.Itoa(process.MaxShares), args...)
	if err != nil {
		return err
	}
	for _, of := range shares {
		q.Waiting = of.All
		q.Shares = append(q.Shares, process.Share{Tenant: of.Tenant, Waiting: of.Waiting})
	}
	return nil
}

// StoredBytes says how many bytes of runs are kept for each tenant of whom any are.
func (s *Store) StoredBytes(ctx context.Context) (map[tenant.ID]int64, error) {
	var found []struct {
		Tenant string `db:"tenant_id"`
		Bytes  int64  `db:"bytes"`
	}
	err := s.ReadPlainly(ctx, "add up kept bytes", &found, `SELECT tenant_id, CAST(sum(bytes) AS bigint) AS bytes FROM tenant_storage GROUP BY tenant_id HAVING sum(bytes) <> 0`)
	if err != nil {
		return nil, err
	}
	kept := make(map[tenant.ID]int64, len(found))
	for _, row := range found {
		kept[tenant.ID(row.Tenant)] = row.Bytes
	}
	return kept, nil
}
