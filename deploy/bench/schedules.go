package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"
)

// dueTogether measures how late schedules fire of which ten thousand are due at one
// minute, by the ledger, and how long it takes until all their runs are over.
type dueTogether struct{}

func (dueTogether) name() string { return "schedules" }

// schedulesDue is how many there are; they are made over the API by as many clients,
// within the time that is left until they are due.
const (
	schedulesDue     = 10_000
	scheduleMakers   = 32
	schedulesReadyIn = 40 * time.Second
)

func (dueTogether) take(ctx context.Context, st *stage, o options) ([]figure, error) {
	f, err := st.newFlow(ctx, "bench schedules",
		transform("due", "{ at: payload.scheduledAt }"), transform("notice", "`Due at ${input.at}`"))
	if err != nil {
		return nil, err
	}
	due := time.Now().UTC().Add(schedulesReadyIn).Truncate(time.Minute).Add(time.Minute)
	_, _ = fmt.Fprintf(o.verbose, "schedules: %d are due at %s\n", schedulesDue, due.Format(time.TimeOnly)) // progress only
	if err := st.makeSchedules(ctx, f, due); err != nil {
		return nil, err
	}
	if !time.Now().Before(due) {
		return nil, errors.New("the schedules were not made before they were due; the machine is too slow for this figure")
	}
	if err := pause(ctx, time.Until(due)); err != nil {
		return nil, err
	}
	late, err := st.database.lateness(ctx, f.TenantID)
	if err != nil {
		return nil, err
	}
	all, err := st.database.drained(ctx, f.TenantID)
	if err != nil {
		return nil, err
	}
	if all != schedulesDue {
		return nil, fmt.Errorf("%d schedules fired, and there are %d runs", schedulesDue, all)
	}
	over := time.Since(due)
	return []figure{
		newFigure("schedules", "10,000 schedules due at one minute: the last one fired after", "s", 5, percentile(late, 1).Seconds()).
			because("p50 %.2f s, p99 %.2f s after it was due; all %d runs were over after %.1f s",
				percentile(late, 0.50).Seconds(), percentile(late, 0.99).Seconds(), all, over.Seconds()),
	}, nil
}

// makeSchedules makes triggers that fire at one minute of the year.
func (st *stage) makeSchedules(ctx context.Context, f flow, due time.Time) error {
	cron := due.Format("4 15 2 1 *") // minute, hour, day, month
	failed := make([]error, scheduleMakers)
	var making sync.WaitGroup
	for i := range failed {
		making.Go(func() {
			for n := i; n < schedulesDue && failed[i] == nil; n += scheduleMakers {
				var made struct{ ID string }
				failed[i] = st.create(ctx, f.SecretKey, "/triggers", map[string]any{
					"workflowVersionId": f.WorkflowVersionID, "name": fmt.Sprintf("Schedule %d", n), "type": "schedule",
					"config": map[string]any{"scheduleConfig": map[string]any{"cron": cron}},
				}, &made)
			}
		})
	}
	making.Wait()
	return errors.Join(failed...)
}

// lateness waits until the ledger holds every fire, and returns how late each was.
func (p *postgresServer) lateness(ctx context.Context, tenantID string) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	for {
		var late []float64
		rows, err := p.db.QueryContext(ctx, `SELECT extract(epoch FROM recorded_at - scheduled_at) FROM trigger_fires WHERE tenant_id = $1`, tenantID)
		if err == nil {
			late, err = readSeconds(rows)
		}
		if err != nil {
			return nil, err
		}
		if len(late) >= schedulesDue {
			all := make([]time.Duration, len(late))
			for i, seconds := range late {
				all[i] = time.Duration(seconds * float64(time.Second))
			}
			return all, nil
		}
		if err := pause(ctx, 250*time.Millisecond); err != nil {
			return nil, fmt.Errorf("%d of %d schedules fired within %s: %w", len(late), schedulesDue, drainTimeout, err)
		}
	}
}

// readSeconds reads a column of numbers to its end.
func readSeconds(rows *sql.Rows) (all []float64, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var seconds float64
		if err := rows.Scan(&seconds); err != nil {
			return nil, err
		}
		all = append(all, seconds)
	}
	return all, rows.Err()
}
