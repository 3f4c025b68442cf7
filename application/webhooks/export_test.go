package webhooks

import (
	"context"
	"errors"
	"sync"
	"time"
)

// FanOut hands on at most limit events, as Run does.
func (c *Courier) FanOut(ctx context.Context, limit int) (events int, err error) {
	return c.handOn(ctx, limit)
}

// Deliver makes the attempts that are due now and can be made, as Run does, and returns
// when all have ended.
func (c *Courier) Deliver(ctx context.Context) (attempted int, err error) {
	records, stop := c.newRecorder(ctx)
	defer stop()
	due, err := c.claim(ctx, c.most.places, c.most.failing)
	errs := make([]error, len(due))
	var sending sync.WaitGroup
	for i, one := range due {
		sending.Go(func() { _, errs[i] = c.attempt(ctx, one, records) })
	}
	sending.Wait()
	return len(due), errors.Join(err, errors.Join(errs...))
}

// LookEvery makes the loops look less often, for tests in which days pass.
func (c *Courier) LookEvery(pause time.Duration) { c.look = pause }

// SendAtOnce makes the courier send less at the same time than in production, for tests
// in which there is more to send than that.
func (c *Courier) SendAtOnce(places, perEndpoint int) { c.most = boundsOf(places, perEndpoint) }
