package webhooks_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// watched is a store that notes how many deliveries each unit records, and refuses some.
type watched struct {
	outbound.UnitOfWork
	refuses func(recorded int) error

	mu       sync.Mutex
	recorded []int
}

func (s *watched) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	return s.UnitOfWork.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		st.Webhooks.Queue = watchedQueue{st.Webhooks.Queue, s}
		return fn(ctx, st)
	})
}

type watchedQueue struct {
	outbound.DeliveryQueue
	store *watched
}

func (q watchedQueue) Record(ctx context.Context, deliveries []*event.Delivery, endpoints []*event.Endpoint) error {
	if err := q.store.refuses(len(deliveries)); err != nil {
		return err
	}
	q.store.mu.Lock()
	q.store.recorded = append(q.store.recorded, len(deliveries))
	q.store.mu.Unlock()
	return q.DeliveryQueue.Record(ctx, deliveries, endpoints)
}

// sendMany sends to as many endpoints, all of which answer at the same time, through a
// store that refuses some records.
func sendMany(t *testing.T, endpoints int, refuses func(recorded int) error) (w *world, store *watched, err error) {
	t.Helper()
	w = newWorld(t)
	store = &watched{UnitOfWork: w.store.UnitOfWork, refuses: refuses}
	for range endpoints {
		w.endpoint("a")
	}
	w.happen(event.RunFailed)
	if _, err := w.courier.FanOut(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	w.store.UnitOfWork = store
	var sending sync.WaitGroup
	sending.Add(endpoints)
	w.receivers.answer = func(context.Context, outbound.SignedMessage) (event.Outcome, error) {
		sending.Done()
		sending.Wait()
		return event.Outcome{Status: 200}, nil
	}
	n, err := w.courier.Deliver(t.Context())
	if n != endpoints {
		t.Fatalf("%d were sent", n)
	}
	return w, store, err
}

func (w *world) undelivered() (n int) {
	w.Helper()
	found, err := w.endpoints.List(w.Context(), w.who, event.EndpointFilter{}, domain.Query{PageRequest: mustPage(w.T, 100)})
	if err != nil {
		w.Fatal(err)
	}
	for _, e := range found.Items {
		for _, d := range w.all(e) {
			if d.Status() != event.Delivered {
				n++
			}
		}
	}
	return n
}

// Each unit takes long enough, on the clock of the bubble, for all that ended meanwhile to
// wait for the next one.
func TestWhatEndsAtTheSameTimeIsRecordedTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const endpoints = 90
		w, store, err := sendMany(t, endpoints, func(int) error {
			time.Sleep(time.Millisecond)
			return nil
		})
		sum := 0
		for _, n := range store.recorded {
			sum += n
		}
		if err != nil || sum != endpoints || len(store.recorded) > 4 || w.undelivered() != 0 {
			t.Errorf("units of %v: %v", store.recorded, err)
		}
	})
}

func TestARefusedRecordHarmsNoOther(t *testing.T) {
	t.Parallel()
	refused := domain.Fail(domain.Conflict, "stale_revision", "It was changed.")
	w, store, err := sendMany(t, 30, func(n int) error {
		if n > 1 {
			return refused
		}
		return nil
	})
	for _, n := range store.recorded {
		if n != 1 {
			t.Errorf("%d were recorded together", n)
		}
	}
	if err != nil || len(store.recorded) != 30 || w.undelivered() != 0 {
		t.Errorf("units of %v: %v", store.recorded, err)
	}
}

func TestARecordThatPanicsHarmsNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, store, err := sendMany(t, 30, func(n int) error {
			time.Sleep(time.Millisecond)
			if n > 1 {
				panic("on purpose")
			}
			return nil
		})
		if !inbound.IsPanic(err) || len(store.recorded) != 30 || w.undelivered() != 0 {
			t.Errorf("units of %v: %v", store.recorded, err)
		}
	})
}

func TestWhatCannotBeRecordedIsSentAgain(t *testing.T) {
	t.Parallel()
	gone := domain.Fail(domain.Unavailable, "database_unavailable", "The database is gone.")
	w, store, err := sendMany(t, 30, func(int) error { return gone })
	if !errors.Is(err, domain.Unavailable) || w.undelivered() != 30 || len(store.recorded) != 0 {
		t.Errorf("%d are recorded: %v", len(store.recorded), err)
	}
	store.refuses = func(int) error { return nil }
	w.receivers.status(200)
	w.clock.Set(w.next())
	w.settle()
	if n := w.undelivered(); n != 0 || w.next() != (time.Time{}) {
		t.Errorf("%d are not delivered", n)
	}
}
