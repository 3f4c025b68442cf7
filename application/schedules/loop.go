package schedules

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/sluicehq/sluice/ports/inbound"
)

const (
	// maxInstants is how many instants one unit deals with: enough that a statement's cost is
	// shared, few enough that several processes share ten thousand.
	maxInstants = 500

	// maxPause bounds the sleep, so that a schedule that was changed anywhere is seen
	// long before it is late. An idle process asks the store one question a second.
	maxPause = time.Second

	// busyPause is slept while others deal with what is due.
	busyPause = 100 * time.Millisecond
)

// Run fires schedules until ctx ends.
func (s *Scheduler) Run(ctx context.Context, failed func(error)) {
	units := 1
	repeat(ctx, failed, func(ctx context.Context) (result inbound.ScheduleResult, err error) {
		result, err = s.fireUnits(ctx, units, failed)
		if units = 1; err == nil && result.Schedules >= maxInstants && !result.Next.IsZero() && !result.Next.After(result.Now) {
			units = s.backlogUnits
		}
		return result, err
	})
}

// fireUnits has units deal with what is due at the same time, each with schedules of its own. All failures but the
// one that it returns are handed to failed.
func (s *Scheduler) fireUnits(ctx context.Context, units int, failed func(error)) (result inbound.ScheduleResult, err error) {
	results, errs := make([]inbound.ScheduleResult, units), make([]error, units)
	var firing sync.WaitGroup
	for i := range units {
		firing.Go(func() { results[i], errs[i] = s.FireDue(ctx, maxInstants) })
	}
	firing.Wait()
	for _, failure := range errs {
		if err != nil && failure != nil && ctx.Err() == nil {
			failed(failure)
		}
		err = cmp.Or(err, failure)
	}
	return together(results), err
}

// together is what units have done at the same time: what is due next is as the last of them saw it.
func together(results []inbound.ScheduleResult) (all inbound.ScheduleResult) {
	for _, one := range results {
		all.Schedules += one.Schedules
		if one.Now.After(all.Now) {
			all.Next, all.Now = one.Next, one.Now
		}
	}
	return all
}

// repeat does a step again and again, and sleeps in between until there is something to do.
func repeat(ctx context.Context, failed func(error), step func(context.Context) (inbound.ScheduleResult, error)) {
	for ctx.Err() == nil {
		look, err := step(ctx)
		if err != nil && ctx.Err() == nil {
			failed(err)
		}
		wait := pause(look, err)
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

// pause says how long to sleep after a look. Where some schedules failed and others were
// dealt with, these do not wait.
func pause(look inbound.ScheduleResult, err error) time.Duration {
	switch {
	case err != nil && look.Schedules == 0 || look.Next.IsZero():
		return maxPause
	case look.Next.After(look.Now):
		return min(look.Next.Sub(look.Now), maxPause)
	case look.Schedules == 0:
		return busyPause
	default:
		return 0
	}
}
