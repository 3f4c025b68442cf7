package webhooks_test

import (
	"context"
	"errors"
	"sync"
	"testing"
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
func (h *harness) sendMany(endpoints int, refuses func(recorded int) error) (store *watched, err error) {
	h.Helper()
	store = &watched{UnitOfWork: h.store.UnitOfWork, refuses: refuses}
	for range endpoints {
		h.endpoint("a")
	}
	h.happen(event.RunFailed)
	if _, err := h.dispatcher.FanOut(h.Context(), 10); err != nil {
		h.Fatal(err)
	}
	h.store.UnitOfWork = store
	var sending sync.WaitGroup
	sending.Add(endpoints)
	h.receivers.answer = func(context.Context, outbound.SignedMessage) (event.AttemptResult, error) {
		sending.Done()
		sending.Wait()
		return event.AttemptResult{Status: 200}, nil
	}
	n, err := h.dispatcher.Deliver(h.Context())
	if n != endpoints {
		h.Fatalf("%d were sent", n)
	}
	return store, err
}

func (h *harness) undelivered() (n int) {
	h.Helper()
	found, err := h.endpoints.List(h.Context(), h.who, event.EndpointFilter{}, domain.Query{PageRequest: mustPage(h.T, 100)})
	if err != nil {
		h.Fatal(err)
	}
	for _, e := range found.Items {
		for _, d := range h.all(e) {
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
	inBubble(t, func(t *testing.T, h *harness) {
		const endpoints = 90
		store, err := h.sendMany(endpoints, func(int) error {
			time.Sleep(time.Millisecond)
			return nil
		})
		sum := 0
		for _, n := range store.recorded {
			sum += n
		}
		if err != nil || sum != endpoints || len(store.recorded) > 4 || h.undelivered() != 0 {
			t.Errorf("units of %v: %v", store.recorded, err)
		}
	})
}

func TestARefusedRecordHarmsNoOther(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		refused := domain.Fail(domain.Conflict, "stale_revision", "It was changed.")
		store, err := h.sendMany(30, func(n int) error {
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
		if err != nil || len(store.recorded) != 30 || h.undelivered() != 0 {
			t.Errorf("units of %v: %v", store.recorded, err)
		}
	})
}

func TestARecordThatPanicsHarmsNoOther(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		store, err := h.sendMany(30, func(n int) error {
			time.Sleep(time.Millisecond)
			if n > 1 {
				panic("on purpose")
			}
			return nil
		})
		if !inbound.IsPanic(err) || len(store.recorded) != 30 || h.undelivered() != 0 {
			t.Errorf("units of %v: %v", store.recorded, err)
		}
	})
}

func TestWhatCannotBeRecordedIsSentAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		gone := domain.Fail(domain.Unavailable, "database_unavailable", "The database is gone.")
		store, err := h.sendMany(30, func(int) error { return gone })
		if !errors.Is(err, domain.Unavailable) || h.undelivered() != 30 || len(store.recorded) != 0 {
			t.Errorf("%d are recorded: %v", len(store.recorded), err)
		}
		store.refuses = func(int) error { return nil }
		h.receivers.status(200)
		h.sleepUntil(h.next())
		h.settle()
		if n := h.undelivered(); n != 0 || h.next() != (time.Time{}) {
			t.Errorf("%d are not delivered", n)
		}
	})
}
