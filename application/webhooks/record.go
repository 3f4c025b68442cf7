package webhooks

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sluicehq/sluice/application/batch"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// recordTimeout is how long a unit that records attempts may take: what it was to record is
// sent again when its lease has ended.
const recordTimeout = 15 * time.Second

// attemptResult is what became of a delivery that was leased.
type attemptResult struct {
	leased  *event.Delivery
	at      time.Time
	sent    bool // false because its endpoint was not active
	outcome event.AttemptResult

	// Of the unit that recorded it:
	again bool  // another attempt is to follow
	err   error // the delivery cannot be read any more
}

// recorder writes down what became of deliveries, in units of work that attempts share
// which end at the same time.
type recorder struct {
	work    outbound.UnitOfWork
	random  outbound.Random
	batches *batch.Batcher[*attemptResult]
}

// newRecorder returns a recorder that reports the panics of which no attempt has the error.
func newRecorder(work outbound.UnitOfWork, random outbound.Random, report func(error)) *recorder {
	r := &recorder{work: work, random: random}
	r.batches = batch.New(batch.Limits{Members: 128, Running: 2, Timeout: recordTimeout, RetryAlone: func(err error) bool {
		if inbound.IsPanic(err) {
			report(err)
		}
		return !isStoreError(err)
	}}, nil, r.commit)
	return r
}

// record writes a result, and says whether another attempt is to follow. What cannot be
// recorded although the store works is postponed, for longer each time: it would be sent
// again whenever its lease ends, for ever.
func (r *recorder) record(ctx context.Context, result *attemptResult) (again bool, err error) {
	if err = r.batches.Do(ctx, result); err == nil && result.err == nil {
		return result.again, nil
	}
	err = errors.Join(err, result.err)
	if result.sent && !isStoreError(err) {
		err = errors.Join(err, r.postpone(ctx, result.leased))
	}
	return false, err
}

func (r *recorder) postpone(ctx context.Context, leased *event.Delivery) error {
	return inbound.RecoverPanic("postpone the delivery", func() error {
		ctx, cancel := context.WithTimeout(ctx, recordTimeout)
		defer cancel()
		return r.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
			return st.Webhooks.Queue.Postpone(ctx, keyOf(leased), leased.NextAttempt(), leased.CreatedAt())
		})
	})
}

func keyOf(d *event.Delivery) outbound.DeliveryKey {
	return outbound.DeliveryKey{Tenant: d.Tenant(), Endpoint: d.Endpoint(), Delivery: d.ID()}
}

// isStoreError says whether an error is about the store, and no single record.
func isStoreError(err error) bool {
	return domain.KindOf(err) == domain.Unavailable || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// commit records results in one unit. What was deleted meanwhile needs no record.
func (r *recorder) commit(ctx context.Context, results []*attemptResult) error {
	keys := make([]outbound.DeliveryKey, len(results))
	eventIDs := make([]event.ID, len(results))
	for i, result := range results {
		keys[i], eventIDs[i] = keyOf(result.leased), event.ID(r.random.ID(event.IDPrefix))
	}
	return r.work.Do(outbound.WithYieldingWrite(ctx), func(ctx context.Context, st outbound.Stores) error {
		locked, err := st.Webhooks.Queue.Lock(ctx, keys)
		if err != nil {
			return err
		}
		now := make(map[event.DeliveryID]outbound.LockedDelivery, len(locked))
		for _, l := range locked {
			now[l.Key.Delivery] = l
		}
		var c changes
		for i, result := range results {
			result.again, result.err = false, nil
			if l, ok := now[result.leased.ID()]; ok {
				c.apply(result, l, eventIDs[i])
			}
		}
		if err := st.Webhooks.Queue.Record(ctx, c.deliveries, c.endpoints); err != nil {
			return err
		}
		return st.Webhooks.Events.Append(ctx, c.events...)
	})
}

// changes are what results change.
type changes struct {
	deliveries []*event.Delivery
	endpoints  []*event.Endpoint
	events     []*event.Event // that the gateway switched an endpoint off
}

// apply changes a delivery by its result, and its endpoint by what that says about it. The
// id is that of the event which follows when the endpoint is switched off.
func (c *changes) apply(result *attemptResult, l outbound.LockedDelivery, id event.ID) {
	d, e := l.Delivery, l.Endpoint
	if result.err = l.Unreadable; result.err != nil {
		return
	}
	if !result.sent {
		// Unless it is to be sent now: the endpoint is active again, or somebody asked for it.
		abandoned := !e.Active() && d.Abandon(result.at)
		if result.again = !abandoned && d.Release(result.leased); abandoned || result.again {
			c.deliveries = append(c.deliveries, d)
		}
		return
	}
	recorded, requested := d.RecordLeased(result.leased, result.at, result.outcome)
	if !recorded {
		return // its lease had ended, and another process was faster
	}
	c.deliveries = append(c.deliveries, d)
	at := d.UpdatedAt()
	if e.Note(result.outcome, at) {
		c.note(e, id)
	}
	if requested {
		d.Redeliver(e.Active(), at)
	}
	result.again = d.Status() == event.Pending
}

// note adds an endpoint that a result changed.
func (c *changes) note(e *event.Endpoint, id event.ID) {
	if !slices.Contains(c.endpoints, e) {
		c.endpoints = append(c.endpoints, e)
	}
	if e.Active() {
		return
	}
	if disabled, ok := e.DisabledEvent(id); ok {
		c.events = append(c.events, disabled)
	}
}
