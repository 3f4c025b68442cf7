package schedules

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/ports/outbound"
)

const (
	// batch is how many instants one unit deals with: enough that a statement's cost is
	// shared, few enough that several processes share ten thousand.
	batch = 500

	// longestPause bounds the sleep, so that a schedule that was changed anywhere is seen
	// long before it is late. An idle process asks the store one question a second.
	longestPause = time.Second

	// busyPause is slept while other processes deal with what is due.
	busyPause = 100 * time.Millisecond
)

// Run fires schedules until ctx ends.
func (s *Scheduler) Run(ctx context.Context, failed func(error)) {
	repeat(ctx, s.clock, failed, func(ctx context.Context) (int, time.Time, error) { return s.FireDue(ctx, batch) })
}

// repeat does a step again and again, and sleeps in between until there is something to do.
func repeat(ctx context.Context, clock outbound.Clock, failed func(error), step func(context.Context) (int, time.Time, error)) {
	for ctx.Err() == nil {
		looked, next, err := step(ctx)
		if err != nil && ctx.Err() == nil {
			failed(err)
		}
		wait := pause(clock.Now(), next, looked, err)
		if wait == 0 {
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// pause says how long to sleep after a step.
func pause(now, next time.Time, looked int, err error) time.Duration {
	switch {
	case err != nil || next.IsZero():
		return longestPause
	case next.After(now):
		return min(next.Sub(now), longestPause)
	case looked == 0:
		return busyPause
	default:
		return 0
	}
}
