package webhooks

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sluicehq/sluice/ports/outbound"
)

// Claim leases what is due, as Run does.
func (d *Dispatcher) Claim(ctx context.Context) ([]outbound.DueDelivery, error) {
	return d.claim(ctx, d.limits.total, d.limits.failing)
}

// Attempt sends and records a delivery, as Run does.
func (d *Dispatcher) Attempt(ctx context.Context, due outbound.DueDelivery) (again bool, err error) {
	return d.attempt(ctx, due, newRecorder(d.work, d.random, func(error) {}))
}

// FanOut makes the deliveries of at most limit events, as Run does.
func (d *Dispatcher) FanOut(ctx context.Context, limit int) (events int, err error) {
	taken, _, err := d.fanOut(ctx, limit)
	return len(taken), err
}

// Deliver makes the attempts that are due now and can be made, as Run does, and returns
// when all have ended.
func (d *Dispatcher) Deliver(ctx context.Context) (attempted int, err error) {
	var panicked []error
	var reporting sync.Mutex // batches run at the same time
	records := newRecorder(d.work, d.random, func(err error) {
		reporting.Lock()
		defer reporting.Unlock()
		panicked = append(panicked, err)
	})
	due, err := d.Claim(ctx)
	errs := make([]error, len(due))
	var sending sync.WaitGroup
	for i, one := range due {
		if errs[i] = one.Unreadable; errs[i] == nil {
			sending.Go(func() { _, errs[i] = d.attempt(ctx, one, records) })
		}
	}
	sending.Wait()
	return len(due), errors.Join(err, errors.Join(errs...), errors.Join(panicked...))
}

// PollEvery makes the loops look less often, for tests in which days pass.
func (d *Dispatcher) PollEvery(pause time.Duration) { d.poll = pause }

// LimitSends makes the dispatcher send less at the same time than in production, for tests
// in which there is more to send than that.
func (d *Dispatcher) LimitSends(total, perEndpoint int) { d.limits = newSendLimits(total, perEndpoint) }

// LimitPostponed makes the dispatcher remember fewer postponed events than in production.
func (d *Dispatcher) LimitPostponed(events int) { d.postponed.limit = events }
