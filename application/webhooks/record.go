package webhooks

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/ports/outbound"
)

const (
	// together is how many results are recorded in one unit.
	together = 128

	// recorders is how many such units go on at the same time.
	recorders = 2

	// patience is how long such a unit may take: what it was to record is sent again when
	// its lease has ended.
	patience = 15 * time.Second
)

// result is what became of a delivery that was lent. One without a number was not sent,
// because its endpoint is not active any more.
type result struct {
	of      *event.Delivery
	number  int
	at      time.Time
	outcome event.Outcome
}

// recorder writes down results, all that wait in one unit of work: nobody waits for
// others to come, but those who come while a unit goes on share the next one.
type recorder struct {
	*Courier
	within  context.Context //nolint:containedctx // of every unit, whoever asks for it
	waiting chan recording
	writing sync.WaitGroup
}

// recording is a result that is to be recorded.
type recording struct {
	result
	done chan recorded
}

// recorded says what came of a result.
type recorded struct {
	again bool // another attempt is to follow
	err   error
}

// newRecorder begins to record; stop ends it when nothing more comes.
func (c *Courier) newRecorder(ctx context.Context) (r *recorder, stop func()) {
	r = &recorder{Courier: c, within: context.WithoutCancel(ctx), waiting: make(chan recording, c.most.places)}
	for range recorders {
		r.writing.Go(r.run)
	}
	return r, func() {
		close(r.waiting)
		r.writing.Wait()
	}
}

// record writes a result, and returns when that is done. again says that another attempt
// is to follow.
func (r *recorder) record(one result) (again bool, err error) {
	done := make(chan recorded, 1)
	r.waiting <- recording{one, done}
	end := <-done
	return end.again, end.err
}

// run records until nothing can come any more.
func (r *recorder) run() {
	for first := range r.waiting {
		r.write(r.gather(first))
	}
}

// gather takes what waits.
func (r *recorder) gather(first recording) []recording {
	batch := []recording{first}
	for len(batch) < together {
		select {
		case another, more := <-r.waiting:
			if !more {
				return batch
			}
			batch = append(batch, another)
		default:
			return batch
		}
	}
	return batch
}

// write records a batch in one unit; where it is refused, each in a unit of its own, so
// that none suffers for another one.
func (r *recorder) write(batch []recording) {
	again, err := r.unit(batch)
	if err != nil && len(batch) > 1 && !wholesale(err) {
		for _, one := range batch {
			again, err := r.unit([]recording{one})
			one.done <- recorded{len(again) > 0, err}
		}
		return
	}
	for _, one := range batch {
		one.done <- recorded{again[one.of.ID()], err}
	}
}

// wholesale says whether an error is about the store, and no single result.
func wholesale(err error) bool {
	return domain.KindOf(err) == domain.Unavailable || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// unit records results, and says which deliveries are to be attempted again. What was
// deleted meanwhile needs no record.
func (r *recorder) unit(batch []recording) (again map[event.DeliveryID]bool, err error) {
	keys := make([]outbound.DeliveryKey, len(batch))
	told := make([]event.ID, len(batch))
	for i, one := range batch {
		keys[i] = outbound.DeliveryKey{Tenant: one.of.Tenant(), Endpoint: one.of.Endpoint(), Delivery: one.of.ID()}
		told[i] = event.ID(r.random.ID(event.IDPrefix))
	}
	within, cancel := context.WithTimeout(r.within, patience)
	defer cancel()
	err = r.work.Do(within, func(ctx context.Context, st outbound.Stores) error {
		held, err := st.Webhooks.Queue.Hold(ctx, keys)
		if err != nil {
			return err
		}
		now := make(map[event.DeliveryID]outbound.HeldDelivery, len(held))
		for _, h := range held {
			now[h.Delivery.ID()] = h
		}
		changed := changes{again: make(map[event.DeliveryID]bool)}
		for i, one := range batch {
			if h, ok := now[one.of.ID()]; ok {
				changed.take(one.result, h, told[i], r.clock.Now())
			}
		}
		again = changed.again
		if err := st.Webhooks.Queue.Record(ctx, changed.deliveries, changed.endpoints); err != nil {
			return err
		}
		return st.Webhooks.Events.Append(ctx, changed.events...)
	})
	if err != nil {
		return nil, err
	}
	return again, nil
}

// changes are what results change, and which deliveries are to be attempted again.
type changes struct {
	deliveries []*event.Delivery
	endpoints  []*event.Endpoint
	events     []*event.Event // that the gateway switched an endpoint off
	again      map[event.DeliveryID]bool
}

// take tells a delivery what became of it, and its endpoint what that says about it. told
// names the event that follows when the endpoint is switched off.
func (c *changes) take(one result, h outbound.HeldDelivery, told event.ID, now time.Time) {
	d, e := h.Delivery, h.Endpoint
	if one.number == 0 {
		if !e.Active() && d.Abandon(now) {
			c.deliveries = append(c.deliveries, d)
		}
		return // else it is due again when its lease has ended
	}
	if !d.Record(one.number, one.at, one.outcome) {
		return // another process took it for lost, and was faster
	}
	c.deliveries = append(c.deliveries, d)
	if d.Status() == event.Pending {
		c.again[d.ID()] = true
	}
	if !e.Note(one.outcome, d.UpdatedAt()) {
		return
	}
	if !slices.Contains(c.endpoints, e) {
		c.endpoints = append(c.endpoints, e)
	}
	if e.Active() {
		return
	}
	if disabled, ok := e.DisabledEvent(told); ok {
		c.events = append(c.events, disabled)
	}
}
