package webhooks_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/application/webhooks"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// calls are a store that says what is asked of it, and for which tenants, before it does
// it. None are named where it is for all of them.
type calls struct {
	outbound.UnitOfWork
	on func(call string, of ...tenant.ID)
}

func (s calls) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	return s.UnitOfWork.Do(ctx, s.observed(fn))
}

func (s calls) Read(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	return s.UnitOfWork.Read(ctx, s.observed(fn))
}

func (s calls) observed(fn func(context.Context, outbound.Stores) error) func(context.Context, outbound.Stores) error {
	return func(ctx context.Context, st outbound.Stores) error {
		h := &st.Webhooks
		h.Queue, h.Events = queueCalls{h.Queue, s}, eventCalls{h.Events, s}
		h.Endpoints, h.Deliveries = endpointCalls{h.Endpoints, s}, deliveryCalls{h.Deliveries, s}
		return fn(ctx, st)
	}
}

type queueCalls struct {
	outbound.DeliveryQueue
	calls calls
}

func (q queueCalls) Claim(ctx context.Context, c outbound.DeliveryClaim) ([]outbound.DueDelivery, error) {
	q.calls.on("claim")
	return q.DeliveryQueue.Claim(ctx, c)
}

func (q queueCalls) Next(ctx context.Context) (time.Duration, bool, error) {
	q.calls.on("next")
	return q.DeliveryQueue.Next(ctx)
}

func (q queueCalls) Lock(ctx context.Context, of []outbound.DeliveryKey) ([]outbound.LockedDelivery, error) {
	var owners []tenant.ID
	for _, k := range of {
		owners = append(owners, k.Tenant)
	}
	q.calls.on("lock", owners...)
	return q.DeliveryQueue.Lock(ctx, of)
}

func (q queueCalls) Record(ctx context.Context, deliveries []*event.Delivery, endpoints []*event.Endpoint) error {
	q.calls.on("record", ownersOf(deliveries)...)
	return q.DeliveryQueue.Record(ctx, deliveries, endpoints)
}

func (q queueCalls) Postpone(ctx context.Context, of outbound.DeliveryKey, attempt int, since time.Time) error {
	q.calls.on("postpone", of.Tenant)
	return q.DeliveryQueue.Postpone(ctx, of, attempt, since)
}

type eventCalls struct {
	outbound.EventRepository
	calls calls
}

func (e eventCalls) PendingFanOut(ctx context.Context, limit int, after tenant.ID, except ...outbound.EventKey) ([]*event.Event, error) {
	e.calls.on("waiting")
	return e.EventRepository.PendingFanOut(ctx, limit, after, except...)
}

func (e eventCalls) MarkFannedOut(ctx context.Context, events ...*event.Event) error {
	e.calls.on("settle", ownersOf(events)...)
	return e.EventRepository.MarkFannedOut(ctx, events...)
}

type endpointCalls struct {
	outbound.EndpointRepository
	calls calls
}

func (e endpointCalls) Matching(ctx context.Context, scope tenant.Scope, t event.Type, sub tenant.SubTenantID, ofChild bool) ([]*event.Endpoint, error) {
	e.calls.on("match", scope.Tenant())
	return e.EndpointRepository.Matching(ctx, scope, t, sub, ofChild)
}

type deliveryCalls struct {
	outbound.DeliveryRepository
	calls calls
}

func (d deliveryCalls) Insert(ctx context.Context, deliveries ...*event.Delivery) error {
	d.calls.on("insert", ownersOf(deliveries)...)
	return d.DeliveryRepository.Insert(ctx, deliveries...)
}

func ownersOf[T interface{ Tenant() tenant.ID }](all []T) (owners []tenant.ID) {
	for _, one := range all {
		owners = append(owners, one.Tenant())
	}
	return owners
}

// observedRun is a dispatcher that runs, and what it reports.
type observedRun struct {
	*webhooks.Dispatcher
	end func()

	mu       sync.Mutex
	reported []error
}

// observe runs a dispatcher on a store that calls on before it does anything. It is woken
// as in the process that makes events happen.
func (h *harness) observe(on func(call string, of ...tenant.ID)) *observedRun {
	h.Helper()
	ctx, stop := context.WithCancel(h.Context())
	ended := make(chan struct{})
	r := &observedRun{Dispatcher: webhooks.NewDispatcher(calls{h.store, on}, h.receivers, clock{}, counted)}
	if h.poll > 0 {
		r.PollEvery(h.poll)
	}
	if h.maxSends > 0 {
		r.LimitSends(h.maxSends, h.perEndpoint)
	}
	if h.maxPostponed > 0 {
		r.LimitPostponed(h.maxPostponed)
	}
	r.end = func() {
		stop()
		<-ended
	}
	h.store.UnitOfWork.(*sqlstore.Store).OnEvents(r.Wake)
	go func() {
		defer close(ended)
		r.Run(ctx, func(err error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.reported = append(r.reported, err)
		})
	}()
	return r
}

func quiet(string, ...tenant.ID) {}

// run runs a dispatcher, which must report nothing, until end is called.
func (h *harness) run() (end func()) {
	h.Helper()
	r := h.observe(quiet)
	return func() {
		h.Helper()
		r.end()
		for _, err := range r.errors() {
			h.Error(err)
		}
	}
}

// errors are those that were reported so far.
func (r *observedRun) errors() []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.reported)
}

// panics checks that as many panics were reported as were counted, and returns how many.
func (r *observedRun) panics(t *testing.T) int {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, err := range r.reported {
		if inbound.IsPanic(err) {
			n++
		}
	}
	if int64(n) != r.Panics() {
		t.Errorf("%d panics are counted, and %d reported", r.Panics(), n)
	}
	return n
}
