package webhooks

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/ports/inbound"
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
	report  func(error)     // of what nobody who waits is told
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
func (c *Courier) newRecorder(ctx context.Context, report func(error)) (r *recorder, stop func()) {
	r = &recorder{Courier: c, within: context.WithoutCancel(ctx), report: report, waiting: make(chan recording, c.most.places)}
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
// that none suffers for another one. Whoever waits is answered in any case.
func (r *recorder) write(batch []recording) {
	ends, err := r.unit(batch)
	if err != nil && len(batch) > 1 && !wholesale(err) {
		if inbound.IsPanic(err) {
			r.report(err)
		}
		for _, one := range batch {
			ends, err := r.unit([]recording{one})
			r.answer(one, ends[one.of.ID()], err)
		}
		return
	}
	for _, one := range batch {
		r.answer(one, ends[one.of.ID()], err)
	}
}

// answer tells who waits for a record how the unit ended. What cannot be recorded although
// the store works is put off, for longer each time: it would be sent again as soon as its
// lease ends, for ever.
func (r *recorder) answer(one recording, end recorded, failed error) {
	if failed != nil {
		end = recorded{err: failed}
	}
	if end.err != nil && one.number > 0 && !wholesale(end.err) {
		if err := r.putOff(one); err != nil {
			end.err = errors.Join(end.err, err)
		}
	}
	one.done <- end
}

// putOff gives a delivery back whose attempt could not be recorded.
func (r *recorder) putOff(one recording) error {
	return inbound.RecoverPanic("put off the delivery", func() error {
		within, cancel := context.WithTimeout(r.within, patience)
		defer cancel()
		return r.work.Do(within, func(ctx context.Context, st outbound.Stores) error {
			return st.Webhooks.Queue.PutOff(ctx, keyOf(one.of), one.number, outbound.RetryAt(one.of.CreatedAt(), r.clock.Now()))
		})
	})
}

func keyOf(d *event.Delivery) outbound.DeliveryKey {
	return outbound.DeliveryKey{Tenant: d.Tenant(), Endpoint: d.Endpoint(), Delivery: d.ID()}
}

// wholesale says whether an error is about the store, and no single result.
func wholesale(err error) bool {
	return domain.KindOf(err) == domain.Unavailable || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// unit records results, and says how each ended: which deliveries are to be attempted
// again, and which cannot be read any more. What was deleted meanwhile needs no record.
func (r *recorder) unit(batch []recording) (ends map[event.DeliveryID]recorded, err error) {
	err = inbound.RecoverPanic("record attempts", func() error {
		keys := make([]outbound.DeliveryKey, len(batch))
		told := make([]event.ID, len(batch))
		for i, one := range batch {
			keys[i], told[i] = keyOf(one.of), event.ID(r.random.ID(event.IDPrefix))
		}
		within, cancel := context.WithTimeout(r.within, patience)
		defer cancel()
		return r.work.Do(within, func(ctx context.Context, st outbound.Stores) error {
			held, err := st.Webhooks.Queue.Hold(ctx, keys)
			if err != nil {
				return err
			}
			now := make(map[event.DeliveryID]outbound.HeldDelivery, len(held))
			for _, h := range held {
				now[h.Key.Delivery] = h
			}
			changed := changes{ends: make(map[event.DeliveryID]recorded)}
			for i, one := range batch {
				if h, ok := now[one.of.ID()]; ok {
					changed.take(one.result, h, told[i], r.clock.Now())
				}
			}
			ends = changed.ends
			if err := st.Webhooks.Queue.Record(ctx, changed.deliveries, changed.endpoints); err != nil {
				return err
			}
			return st.Webhooks.Events.Append(ctx, changed.events...)
		})
	})
	return ends, err
}

// changes are what results change, and how each ended.
type changes struct {
	deliveries []*event.Delivery
	endpoints  []*event.Endpoint
	events     []*event.Event // that the gateway switched an endpoint off
	ends       map[event.DeliveryID]recorded
}

// take tells a delivery what became of it, and its endpoint what that says about it. told
// names the event that follows when the endpoint is switched off.
func (c *changes) take(one result, h outbound.HeldDelivery, told event.ID, now time.Time) {
	d, e := h.Delivery, h.Endpoint
	if h.Unreadable != nil {
		c.ends[h.Key.Delivery] = recorded{err: h.Unreadable}
		return
	}
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
		c.ends[d.ID()] = recorded{again: true}
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
