package webhooks

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

const (
	// longestPause bounds the sleep, so that what happens in another process is found soon.
	longestPause = time.Second

	// gathering is how long a loop waits when it is woken, so that many words become one,
	// and those who are recorded together give their places up together.
	gathering = 2 * time.Millisecond

	// firstBlocked is the first pause while what is due cannot be sent, because its endpoint
	// or its tenant has as much as it gets at a time. The following ones are longer, up to
	// the longest: whoever sends the rest goes on by itself when an attempt has ended.
	firstBlocked = 25 * time.Millisecond
)

// Run brings events to endpoints until ctx ends. While there is nothing to do, it costs
// two reads a second.
func (c *Courier) Run(ctx context.Context, failed func(error)) {
	var telling sync.Mutex
	report := func(err error) {
		telling.Lock()
		defer telling.Unlock()
		if inbound.IsPanic(err) {
			c.panics.Add(1)
		}
		failed(err)
	}
	records, stop := c.newRecorder(ctx, report)
	defer stop()
	sending := newDispatcher(c.clock, c.look, c.most, c.due, report, steps{
		next:  c.next,
		claim: c.claim,
		attempt: func(ctx context.Context, due outbound.DueDelivery) (bool, error) {
			return c.attempt(ctx, due, records)
		},
	})
	var loops sync.WaitGroup
	loops.Go(func() { c.handOnAll(ctx, report) })
	loops.Go(func() { sending.run(ctx) })
	loops.Wait()
}

// next finds when a delivery is due; the zero time for never.
func (c *Courier) next(ctx context.Context) (at time.Time, err error) {
	err = c.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		at, _, err = st.Webhooks.Queue.Next(ctx)
		return err
	})
	return at, err
}

// steps are what the dispatcher is made of.
type steps struct {
	next    func(ctx context.Context) (time.Time, error)
	claim   func(ctx context.Context, free, failing int) ([]outbound.DueDelivery, error)
	attempt func(ctx context.Context, due outbound.DueDelivery) (again bool, err error)
}

// dispatcher fills places with deliveries that are due as they become free, so that
// nobody waits for an endpoint that is slow to answer.
type dispatcher struct {
	steps
	clock  outbound.Clock
	look   time.Duration // the longest sleep
	most   bounds
	bell   <-chan struct{}
	report func(error)

	ended   chan ending
	sending int           // how many places are taken
	failing int           // those of them by messages to endpoints that fail
	blocked time.Duration // the last pause because nothing that is due could be sent
}

// ending is the end of an attempt, which gives its place up.
type ending struct {
	failing bool // its endpoint failed before
	again   bool // another attempt is to follow
	err     error
}

func newDispatcher(clock outbound.Clock, look time.Duration, most bounds, bell <-chan struct{}, report func(error), do steps) *dispatcher {
	return &dispatcher{steps: do, clock: clock, look: look, most: most, bell: bell, report: report, ended: make(chan ending, most.places)}
}

// run sends until ctx ends, and returns when every place is free again.
func (d *dispatcher) run(ctx context.Context) {
	for ctx.Err() == nil {
		wait, full := d.look, false
		err := inbound.RecoverPanic("look for deliveries", func() (err error) {
			wait, full, err = d.step(ctx)
			return err
		})
		if err != nil && ctx.Err() == nil {
			d.report(err)
		}
		d.pause(ctx, wait, full)
	}
	for d.sending > 0 {
		d.leave(<-d.ended)
	}
}

// step sends what is due. It says how long there is nothing more to do, and whether
// there may be as soon as a place is free.
func (d *dispatcher) step(ctx context.Context) (wait time.Duration, full bool, err error) {
	free := d.most.places - d.sending
	if free == 0 {
		return d.look, true, nil
	}
	at, err := d.next(ctx)
	if err != nil || at.IsZero() {
		return d.look, false, err
	}
	if ahead := at.Sub(d.clock.Now()); ahead > 0 {
		return min(ahead, d.look), false, nil
	}
	due, err := d.claim(ctx, free, max(d.most.failing-d.failing, 0))
	if err != nil {
		return d.look, false, err
	}
	for _, one := range due {
		if one.Unreadable != nil {
			d.report(fmt.Errorf("delivery %s of %s is put off until %s, since it cannot be read: %w",
				one.Key.Delivery, one.Key.Tenant, one.RetryAt.Format(time.RFC3339), one.Unreadable))
			continue
		}
		d.send(ctx, one)
	}
	if len(due) > 0 { // those that were put off are out of the way of others
		d.blocked = 0
		return 0, false, nil
	}
	d.blocked = min(max(2*d.blocked, firstBlocked), longestPause)
	return d.blocked, true, nil
}

// send begins an attempt.
func (d *dispatcher) send(ctx context.Context, due outbound.DueDelivery) {
	fails := due.Endpoint.Active() && due.Endpoint.FailingSince() != nil
	d.sending++
	if fails {
		d.failing++
	}
	go func() {
		end := ending{failing: fails}
		end.err = inbound.RecoverPanic("make an attempt", func() (err error) {
			end.again, err = d.attempt(ctx, due)
			return err
		})
		d.ended <- end
	}()
}

// leave gives up the place of an attempt that has ended.
func (d *dispatcher) leave(e ending) {
	d.sending--
	if e.failing {
		d.failing--
	}
	if e.err != nil {
		d.report(e.err)
	}
}

// pause sleeps until there may be something to do.
func (d *dispatcher) pause(ctx context.Context, most time.Duration, full bool) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	for waiting := most > 0; waiting; {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			waiting = false
		case <-d.bell:
			waiting = !rest(ctx, gathering)
		case e := <-d.ended:
			d.leave(e)
			if full || e.again { // a place is free for what had none, or something is due earlier
				d.blocked = 0
				waiting = !rest(ctx, gathering)
			}
		}
	}
	for range len(d.ended) { // those that ended meanwhile leave their places together
		d.leave(<-d.ended)
	}
}

// rest waits, and says whether ctx goes on.
func rest(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
