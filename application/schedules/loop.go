package schedules

import (
	"context"
	"errors"
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

	// busyPause is slept while other processes deal with what is due.
	busyPause = 100 * time.Millisecond

	// unitsBehind is how many units deal at the same time with more than one of them can: while one computes, the
	// database has another to work on.
	unitsBehind = 3
)

// Run fires schedules until ctx ends.
func (s *Scheduler) Run(ctx context.Context, failed func(error)) {
	units := 1
	repeat(ctx, failed, func(ctx context.Context) (look inbound.ScheduleResult, err error) {
		look, err = s.fireTogether(ctx, units)
		if units = 1; err == nil && look.Schedules > 0 && !look.Next.IsZero() && !look.Next.After(look.Now) {
			units = unitsBehind
		}
		return look, err
	})
}

// fireTogether has several units deal with what is due, each with schedules of its own.
func (s *Scheduler) fireTogether(ctx context.Context, units int) (look inbound.ScheduleResult, err error) {
	looks, errs := make([]inbound.ScheduleResult, units), make([]error, units)
	var going sync.WaitGroup
	for i := range units {
		going.Go(func() { looks[i], errs[i] = s.FireDue(ctx, maxInstants) })
	}
	going.Wait()
	for _, one := range looks {
		one.Schedules += look.Schedules
		if look.Now.After(one.Now) {
			one.Next, one.Now = look.Next, look.Now
		}
		look = one
	}
	return look, errors.Join(errs...)
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
