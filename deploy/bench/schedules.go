package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// schedules measures how late ten thousand schedules fire that are due at one minute, by
// the recorded fires, and how long it takes until all their runs have ended.
type schedules struct{}

func (schedules) name() string { return "schedules" }

// scheduleCount schedules are made over the API before they are due, for which there is
// at least this time.
const (
	scheduleCount     = 10_000
	scheduleSetupTime = 40 * time.Second
)

func (schedules) measure(ctx context.Context, e *env, o options) ([]figure, error) {
	w, err := e.newWorkflow(ctx, "bench schedules",
		harness.Transform("due", "{ at: payload.scheduledAt }"), harness.Transform("notice", "`Due at ${input.at}`"))
	if err != nil {
		return nil, err
	}
	due := time.Now().UTC().Add(scheduleSetupTime).Truncate(time.Minute).Add(time.Minute)
	_, _ = fmt.Fprintf(o.verbose, "schedules: %d are due at %s\n", scheduleCount, due.Format(time.TimeOnly)) // progress only
	if err := e.createSchedules(ctx, w, due); err != nil {
		return nil, err
	}
	if !time.Now().Before(due) {
		return nil, errors.New("the schedules were not made before they were due; the machine is too slow for this figure")
	}
	if !harness.Sleep(ctx, time.Until(due)) {
		return nil, ctx.Err()
	}
	late, err := e.database.lateness(ctx, w.ID)
	if err != nil {
		return nil, err
	}
	all, err := e.database.awaitRuns(ctx, w.ID)
	if err != nil {
		return nil, err
	}
	if all != scheduleCount {
		return nil, fmt.Errorf("%d schedules fired, and there are %d runs", scheduleCount, all)
	}
	over := time.Since(due)
	return []figure{
		newFigure("schedules", "10,000 schedules due at one minute: the last one fired after", "s", 3, percentile(late, 1).Seconds()).
			withDetail("p50 %.2f s, p99 %.2f s after it was due; all %d runs were over after %.1f s",
				percentile(late, 0.50).Seconds(), percentile(late, 0.99).Seconds(), all, over.Seconds()),
	}, nil
}

// createSchedules makes triggers that fire at one minute of the year.
func (e *env) createSchedules(ctx context.Context, w workflow, due time.Time) error {
	cron := due.Format("4 15 2 1 *") // minute, hour, day, month
	return inParallel(scheduleCount, func(n int) error {
		_, err := harness.CreateTrigger(ctx, e.client(w.SecretKey).Post, w.WorkflowVersionID, fmt.Sprintf("Schedule %d", n), "schedule",
			map[string]any{"scheduleConfig": map[string]any{"cron": cron}})
		return err
	})
}

// lateness waits until every fire is recorded, and returns how late each was.
func (d *database) lateness(ctx context.Context, tenantID string) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, runsTimeout)
	defer cancel()
	for {
		var late []time.Duration
		err := d.Each(ctx, func(scan func(...any) error) error {
			var seconds float64
			err := scan(&seconds)
			late = append(late, time.Duration(seconds*float64(time.Second)))
			return err
		}, `SELECT extract(epoch FROM recorded_at - scheduled_at) FROM trigger_fires WHERE tenant_id = $1`, tenantID)
		if err != nil || len(late) >= scheduleCount {
			return late, err
		}
		if !harness.Sleep(ctx, 250*time.Millisecond) {
			return nil, fmt.Errorf("%d of %d schedules fired within %s: %w", len(late), scheduleCount, runsTimeout, ctx.Err())
		}
	}
}
