package webhooks

import (
	"context"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

const (
	// wakeupDelay is how long a loop waits when it is woken, so that many signals become one
	// look, and attempts that are recorded together end together.
	wakeupDelay = 2 * time.Millisecond

	// minBlockedPause is the first pause while what is due cannot be sent, because its
	// endpoint or its tenant has as much as it gets at a time. The following ones are longer,
	// up to pollInterval: an attempt that ends makes the loop look anyway.
	minBlockedPause = 25 * time.Millisecond
)

// sendSteps are what the send loop does.
type sendSteps struct {
	next    func(ctx context.Context) (wait time.Duration, ok bool, err error)
	claim   func(ctx context.Context, free, failing int) ([]outbound.DueDelivery, error)
	attempt func(ctx context.Context, due outbound.DueDelivery) (again bool, err error)
}

// sendLoop sends deliveries that are due as the limits permit, so that no endpoint waits
// for another one that is slow to answer.
type sendLoop struct {
	sendSteps
	poll   time.Duration
	limits sendLimits
	signal <-chan struct{}
	report func(error)

	ended   chan attemptEnd
	sending int           // how many attempts are being made
	failing int           // how many of those to endpoints that fail
	blocked time.Duration // the last pause because nothing that is due could be sent
}

// attemptEnd is the end of an attempt.
type attemptEnd struct {
	failing bool // its endpoint failed before
	again   bool // another attempt is to follow
	err     error
}

func newSendLoop(poll time.Duration, limits sendLimits, signal <-chan struct{}, report func(error), steps sendSteps) *sendLoop {
	return &sendLoop{sendSteps: steps, poll: poll, limits: limits, signal: signal, report: report, ended: make(chan attemptEnd, limits.total)}
}

// run sends until ctx ends, and returns when every attempt has ended.
func (l *sendLoop) run(ctx context.Context) {
	for ctx.Err() == nil {
		wait, full := l.poll, false
		err := inbound.RecoverPanic("look for deliveries", func() (err error) {
			wait, full, err = l.step(ctx)
			return err
		})
		if err != nil && ctx.Err() == nil {
			l.report(err)
		}
		l.pause(ctx, wait, full)
	}
	for l.sending > 0 {
		l.finish(<-l.ended)
	}
}

// step sends what is due. It says how long there is nothing more to do, and whether
// there may be as soon as an attempt has ended.
func (l *sendLoop) step(ctx context.Context) (wait time.Duration, full bool, err error) {
	free := l.limits.total - l.sending
	if free == 0 {
		return l.poll, true, nil
	}
	wait, ok, err := l.next(ctx)
	switch {
	case err != nil:
		return failurePause, false, err
	case !ok:
		return l.poll, false, nil
	}
	if wait > 0 {
		return min(wait, l.poll), false, nil
	}
	due, err := l.claim(ctx, free, max(l.limits.failing-l.failing, 0))
	if err != nil {
		return failurePause, false, err
	}
	for _, one := range due {
		if one.Unreadable != nil {
			l.report(fmt.Errorf("delivery %s of %s is postponed until %s, since it cannot be read: %w",
				one.Key.Delivery, one.Key.Tenant, one.RetryAt.Format(time.RFC3339), one.Unreadable))
			continue
		}
		l.start(ctx, one)
	}
	if len(due) > 0 { // those that were postponed do not block others any more
		l.blocked = 0
		return 0, false, nil
	}
	l.blocked = min(max(2*l.blocked, minBlockedPause), pollInterval)
	return l.blocked, true, nil
}

// start begins an attempt.
func (l *sendLoop) start(ctx context.Context, due outbound.DueDelivery) {
	failing := due.Endpoint.Active() && due.Endpoint.FailingSince() != nil
	l.sending++
	if failing {
		l.failing++
	}
	go func() {
		end := attemptEnd{failing: failing}
		end.err = inbound.RecoverPanic("make an attempt", func() (err error) {
			end.again, err = l.attempt(ctx, due)
			return err
		})
		l.ended <- end
	}()
}

// finish takes in the end of an attempt.
func (l *sendLoop) finish(e attemptEnd) {
	l.sending--
	if e.failing {
		l.failing--
	}
	if e.err != nil {
		l.report(e.err)
	}
}

// pause sleeps until there may be something to do.
func (l *sendLoop) pause(ctx context.Context, most time.Duration, full bool) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	for waiting := most > 0; waiting; {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			waiting = false
		case <-l.signal:
			waiting = !outbound.Sleep(ctx, wakeupDelay)
		case e := <-l.ended:
			l.finish(e)
			if full || e.again { // something can be sent now, or is due earlier
				l.blocked = 0
				waiting = !outbound.Sleep(ctx, wakeupDelay)
			}
		}
	}
	for range len(l.ended) { // those that ended meanwhile
		l.finish(<-l.ended)
	}
}
