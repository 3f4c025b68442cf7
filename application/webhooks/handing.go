package webhooks

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/ports/outbound"
)

const (
	// handOnBatch is how many events one unit hands to their endpoints.
	handOnBatch = 200

	// afterFailure is the least time before the store is asked again after it failed,
	// whatever is said meanwhile.
	afterFailure = 250 * time.Millisecond
)

// handOnAll hands events to their endpoints as they happen, until ctx ends.
func (c *Courier) handOnAll(ctx context.Context, report func(error)) {
	told := false
	for ctx.Err() == nil {
		n, err := c.handOnSome(ctx, told)
		switch {
		case err != nil:
			if ctx.Err() == nil {
				report(err)
			}
			rest(ctx, afterFailure)
		case n > 0:
			ring(c.due)
		}
		if told = n == handOnBatch; !told {
			told = c.awaitEvents(ctx)
		}
	}
}

// handOnSome hands on a batch of events; unless it was told of some, only after a look
// whether any wait.
func (c *Courier) handOnSome(ctx context.Context, told bool) (events int, err error) {
	if !told {
		if some, err := c.waiting(ctx); err != nil || !some {
			return 0, err
		}
	}
	return c.handOn(ctx, handOnBatch)
}

// waiting says whether an event waits to be handed to its endpoints.
func (c *Courier) waiting(ctx context.Context) (some bool, err error) {
	err = c.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err := st.Webhooks.Events.Waiting(ctx, 1)
		some = len(found) > 0
		return err
	})
	return some, err
}

// awaitEvents sleeps until it is told that events wait, or it is time to look whether
// any do.
func (c *Courier) awaitEvents(ctx context.Context) (told bool) {
	timer := time.NewTimer(c.look)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return false
	case <-c.events:
		return rest(ctx, gathering)
	}
}
