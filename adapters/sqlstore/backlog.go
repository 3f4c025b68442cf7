package sqlstore

import (
	"context"
	"fmt"
	"time"
)

// WaitingEvents counts the events of all tenants that were not handed to the endpoints
// yet.
func (s *Store) WaitingEvents(ctx context.Context) (int, error) {
	return s.backlog(ctx, "count waiting events", `SELECT count(*) FROM webhook_events WHERE waits`)
}

// DueDeliveries counts the deliveries of all tenants of which an attempt is due.
func (s *Store) DueDeliveries(ctx context.Context, now time.Time) (int, error) {
	return s.backlog(ctx, "count due deliveries", `SELECT count(*) FROM webhook_deliveries WHERE status = 'pending' AND next_attempt_at <= $1`, now)
}

// DueRuns counts the runs of all tenants that a worker could move on.
func (s *Store) DueRuns(ctx context.Context, now time.Time) (int, error) {
	return s.backlog(ctx, "count due runs", `SELECT (SELECT count(*) FROM runs f WHERE `+takesTurns+`)
		+ (SELECT count(*) FROM runs f WHERE `+isTimed+` AND f.free_at <= $1)`, now)
}

func (s *Store) backlog(ctx context.Context, what, query string, args ...any) (n int, err error) {
	if err := s.reader.db.GetContext(ctx, &n, query, args...); err != nil {
		return 0, fmt.Errorf("%s: %w", what, s.translate(ctx, err))
	}
	return n, nil
}
