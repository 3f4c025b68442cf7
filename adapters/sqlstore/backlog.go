package sqlstore

import (
	"context"
	"math"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/adapters/sqlstore/runs"
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

// OldestDueRun returns since when the run of an active tenant has been free that has been for the
// longest time; nothing when none is.
func (s *Store) OldestDueRun(ctx context.Context, now time.Time) (since *time.Time, err error) {
	return s.oldest(ctx, "find the oldest due run", runs.OldestWaiting, now)
}

// OldestDueDelivery returns since when an attempt at a delivery of an active tenant has been due
// that has been for the longest time; nothing when none is.
func (s *Store) OldestDueDelivery(ctx context.Context, now time.Time) (since *time.Time, err error) {
	return s.oldest(ctx, "find the oldest due delivery", s.Webhooks.OldestDue(), math.MaxInt16, now)
}

func (s *Store) oldest(ctx context.Context, what, query string, args ...any) (*time.Time, error) {
	var found []struct {
		Tenant string       `db:"tenant_id"`
		ID     string       `db:"id"`
		FreeAt core.Instant `db:"free_at"`
	}
	if err := s.ReadPlainly(ctx, what, &found, query, args...); err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0].FreeAt.Time, nil
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
