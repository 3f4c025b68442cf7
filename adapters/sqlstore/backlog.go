package sqlstore

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain/tenant"
)

// WaitingEvents counts the events of all tenants that were not handed to the endpoints
// yet.
func (s *Store) WaitingEvents(ctx context.Context) (int, error) {
	return s.count(ctx, "count waiting events", `SELECT count(*) FROM webhook_events WHERE waits`)
}

// DueDeliveries counts the deliveries of all tenants of which an attempt is due.
func (s *Store) DueDeliveries(ctx context.Context, now time.Time) (int, error) {
	return s.count(ctx, "count due deliveries", `SELECT count(*) FROM webhook_deliveries WHERE status = 'pending' AND next_attempt_at <= $1`, now)
}

// DueRuns counts the runs of all tenants that a worker could move on.
func (s *Store) DueRuns(ctx context.Context, now time.Time) (int, error) {
	return s.count(ctx, "count due runs", `SELECT (SELECT count(*) FROM live_runs f WHERE f.ready_at = f.free_at)
		+ (SELECT count(*) FROM live_runs f WHERE f.free_at IS NOT NULL AND f.ready_at IS DISTINCT FROM f.free_at AND f.free_at <= $1)`, now)
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

func (s *Store) count(ctx context.Context, what, query string, args ...any) (int, error) {
	var n []int
	if err := s.ReadPlainly(ctx, what, &n, query, args...); err != nil {
		return 0, err
	}
	return n[0], nil
}
