package main

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// rewinder makes the schedules believe, again and again, that nobody has looked at them
// for longer and longer: as if every gateway had been away since then. What was dealt
// with before comes up once more each time, and must stay as it is.
type rewinder struct {
	mu       sync.Mutex
	earliest map[string]time.Time // of each tenant: every instant from then on is to be dealt with
}

func newRewinder(tenants []*tenant) *rewinder {
	r := &rewinder{earliest: make(map[string]time.Time)}
	for _, t := range tenants {
		r.earliest[t.id] = time.Now().UTC().Truncate(time.Minute).Add(time.Minute)
	}
	return r
}

// Bounds of rewinding: within the time that is looked back at most.
const (
	rewindEvery = 4 * time.Second
	maxRewind   = 20 * time.Hour
)

// run rewinds until ctx ends.
func (r *rewinder) run(ctx context.Context, e *env) {
	began := time.Now()
	for first := true; first || harness.Sleep(ctx, rewindEvery); first = false {
		t := e.tenants[e.random.intN(len(e.tenants))]
		r.mu.Lock()
		to := r.earliest[t.id].Add(-time.Duration(2+e.random.intN(8)) * time.Minute)
		r.mu.Unlock()
		if began.Sub(to) > maxRewind {
			continue
		}
		// A little before the minute, so that this one is dealt with, too.
		done, err := e.database.DB.ExecContext(ctx, `UPDATE trigger_schedules SET dealt_with = $1, next_at = $1 WHERE tenant_id = $2 AND trigger_id = $3`,
			to.Add(-time.Millisecond), t.id, t.triggers["schedule"])
		if err != nil {
			continue // the database is away
		}
		if n, err := done.RowsAffected(); err == nil && n == 1 {
			r.mu.Lock()
			r.earliest[t.id] = to
			r.mu.Unlock()
		}
	}
}

// since says from when on every instant of a tenant's schedule has to be in the ledger.
func (r *rewinder) since(tenant string) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.earliest[tenant]
}

// stopSchedules lets no schedule fire any more, so that what is read after that stays as
// it is, and returns up to when each instant has to be in the ledger. What is overdue is
// dealt with first.
func (e *env) stopSchedules(ctx context.Context) (until time.Time, err error) {
	for began := time.Now(); time.Since(began) < e.settle; harness.Sleep(ctx, 200*time.Millisecond) {
		overdue := -1
		err := e.database.DB.QueryRowContext(ctx, `SELECT count(*) FROM trigger_schedules WHERE next_at < now() - interval '1 second'`).Scan(&overdue)
		if err == nil && overdue == 0 || ctx.Err() != nil {
			break
		}
	}
	until = time.Now().UTC().Add(-2 * time.Second).Truncate(time.Minute)
	for _, t := range e.tenants {
		stop := harness.Request{Method: http.MethodPatch, Path: "/triggers/" + t.triggers["schedule"], Body: map[string]any{"isActive": false}}
		if err := e.clients.call(ctx, t.key, stop, nil); err != nil {
			return until, err
		}
	}
	return until, nil
}
