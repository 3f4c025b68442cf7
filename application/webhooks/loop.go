package webhooks

import (
	"context"
	"errors"
	"time"

	"github.com/sluicehq/sluice/ports/outbound"
)

const (
	// fanOutBatch is how many events one unit hands to their endpoints.
	fanOutBatch = 100

	// places is how many messages a process sends at the same time.
	places = 64

	// longestPause bounds the sleep, so that an event that happens anywhere is told soon.
	longestPause = time.Second

	// busyPause is slept while what is due cannot be sent: others are at it, or its
	// endpoint has as much as it gets at a time.
	busyPause = 100 * time.Millisecond
)

// Run brings events to endpoints until ctx ends. While there is nothing to do, each
// look costs two reads.
func (c *Courier) Run(ctx context.Context, failed func(error)) {
	var upcoming *time.Time // when the next delivery is due, where this look found none due
	run(ctx, c.clock, failed, steps{
		fanOut: func(ctx context.Context) (bool, error) {
			if waiting, err := c.waiting(ctx); err != nil || !waiting {
				return false, err
			}
			n, err := c.FanOut(ctx, fanOutBatch)
			return n == fanOutBatch, err
		},
		claim: func(ctx context.Context, limit int) ([]outbound.DueDelivery, error) {
			upcoming = nil
			at, err := c.next(ctx)
			if err != nil {
				return nil, err
			}
			if at.IsZero() || at.After(c.clock.Now()) {
				upcoming = &at
				return nil, nil
			}
			return c.claim(ctx, limit)
		},
		attempt: c.attempt,
		next: func(ctx context.Context) (time.Time, error) {
			if upcoming != nil {
				return *upcoming, nil
			}
			return c.next(ctx)
		},
	})
}

// waiting says whether an event waits to be handed to its endpoints.
func (c *Courier) waiting(ctx context.Context) (some bool, err error) {
	err = c.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err := c.of(st).Events.Waiting(ctx, 1)
		some = len(found) > 0
		return err
	})
	return some, err
}

// next finds when a delivery is due; the zero time for never.
func (c *Courier) next(ctx context.Context) (at time.Time, err error) {
	err = c.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		at, _, err = c.of(st).Deliveries.Next(ctx)
		return err
	})
	return at, err
}

// steps are what the loop is made of.
type steps struct {
	fanOut  func(ctx context.Context) (more bool, err error)
	claim   func(ctx context.Context, limit int) ([]outbound.DueDelivery, error)
	attempt func(ctx context.Context, due outbound.DueDelivery) error
	next    func(ctx context.Context) (time.Time, error)
}

// run hands events on and fills the places that are free with what is due, so that
// nobody waits for an endpoint that is slow to answer. It returns when every place is
// free again.
func run(ctx context.Context, clock outbound.Clock, failed func(error), do steps) {
	ended := make(chan error, places)
	sending := 0
	leave := func(err error) {
		sending--
		if err != nil {
			failed(err)
		}
	}
	for ctx.Err() == nil {
		wait, full, err := step(ctx, clock, places-sending, do, func(due outbound.DueDelivery) {
			sending++
			go func() { ended <- do.attempt(ctx, due) }()
		})
		if err != nil && ctx.Err() == nil {
			failed(err)
		}
		timer := time.NewTimer(wait)
		for waiting := true; waiting; {
			select {
			case <-ctx.Done():
				waiting = false
			case <-timer.C:
				waiting = false
			case err := <-ended:
				leave(err)
				waiting = !full // a place is free for what had none
			}
		}
		timer.Stop()
		for range len(ended) { // those that ended meanwhile leave their places together
			leave(<-ended)
		}
	}
	for sending > 0 {
		leave(<-ended)
	}
}

// step does what there is to do now, and says how long there is nothing more, and
// whether there may be more as soon as a place is free. Neither of its halves waits for
// the other to succeed.
func step(ctx context.Context, clock outbound.Clock, free int, do steps, send func(outbound.DueDelivery)) (wait time.Duration, full bool, err error) {
	more, errFanOut := do.fanOut(ctx)
	wait, full, err = fill(ctx, clock, free, do, send)
	if more && errFanOut == nil {
		wait = 0
	}
	return wait, full, errors.Join(errFanOut, err)
}

// fill sends what is due while there are places.
func fill(ctx context.Context, clock outbound.Clock, free int, do steps, send func(outbound.DueDelivery)) (wait time.Duration, full bool, err error) {
	if free == 0 {
		return longestPause, true, nil
	}
	due, err := do.claim(ctx, free)
	if err != nil {
		return longestPause, false, err
	}
	for _, one := range due {
		send(one)
	}
	if len(due) == free {
		return longestPause, true, nil
	}
	next, err := do.next(ctx)
	return pause(clock.Now(), next, err), false, err
}

// pause says how long to sleep when everything that could be claimed was.
func pause(now, next time.Time, err error) time.Duration {
	switch {
	case err != nil || next.IsZero():
		return longestPause
	case next.After(now):
		return min(next.Sub(now), longestPause)
	default:
		return busyPause
	}
}
