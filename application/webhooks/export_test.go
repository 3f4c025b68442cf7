package webhooks

import (
	"context"
	"errors"
	"sync"
	"time"
)

// FanOut hands on at most limit events, as Run does.
func (c *Courier) FanOut(ctx context.Context, limit int) (events int, err error) {
	taken, err := c.handOn(ctx, limit)
	return len(taken), err
}

// Deliver makes the attempts that are due now and can be made, as Run does, and returns
// when all have ended.
func (c *Courier) Deliver(ctx context.Context) (attempted int, err error) {
	var panicked []error // by recorders, of which there are several
	var reporting sync.Mutex
	records, stop := c.newRecorder(ctx, func(err error) {
		reporting.Lock()
		defer reporting.Unlock()
		panicked = append(panicked, err)
	})
	defer stop()
	due, err := c.claim(ctx, c.most.places, c.most.failing)
	errs := make([]error, len(due))
	var sending sync.WaitGroup
	for i, one := range due {
		if errs[i] = one.Unreadable; errs[i] == nil {
			sending.Go(func() { _, errs[i] = c.attempt(ctx, one, records) })
		}
	}
	sending.Wait()
	reporting.Lock()
	defer reporting.Unlock()
	return len(due), errors.Join(err, errors.Join(errs...), errors.Join(panicked...))
}

// LookEvery makes the loops look less often, for tests in which days pass.
func (c *Courier) LookEvery(pause time.Duration) { c.look = pause }

// SendAtOnce makes the courier send less at the same time than in production, for tests
// in which there is more to send than that.
func (c *Courier) SendAtOnce(places, perEndpoint int) { c.most = boundsOf(places, perEndpoint) }

// PostponeAtMost makes the courier remember fewer events than in production.
func (c *Courier) PostponeAtMost(events int) { c.postponed.most = events }
