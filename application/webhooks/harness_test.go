package webhooks_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite/sqlitetest"
	"github.com/sluicehq/sluice/application/webhooks"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

// start is when every bubble of synctest begins.
var start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// clock is that of the test's bubble, or of a process whose clock is wrong by so much.
type clock struct{ offset time.Duration }

func (c clock) Now() time.Time { return time.Now().Add(c.offset).UTC().Truncate(time.Millisecond) }

// counted makes identifiers and secrets that do not repeat.
var counted = &portstest.CountedRandom{}

// sent is a message that reached an endpoint.
type sent struct {
	outbound.SignedMessage
	at time.Time
}

// receivers are the other side: they answer as the test says, and keep what they got.
type receivers struct {
	mu     sync.Mutex
	got    []sent
	answer func(ctx context.Context, m outbound.SignedMessage) (event.AttemptResult, error) // nil takes everything
}

func (r *receivers) Send(ctx context.Context, m outbound.SignedMessage) (event.AttemptResult, error) {
	r.mu.Lock()
	r.got = append(r.got, sent{m, clock{}.Now()})
	answer := r.answer
	r.mu.Unlock()
	if answer == nil {
		return event.AttemptResult{Status: http.StatusOK}, nil
	}
	return answer(ctx, m)
}

// status answers everything with one status.
func (r *receivers) status(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = func(context.Context, outbound.SignedMessage) (event.AttemptResult, error) {
		return event.AttemptResult{Status: status}, nil
	}
}

// open opens an empty store, which is closed when the test ends.
func open(t *testing.T) outbound.UnitOfWork {
	t.Helper()
	return sqlitetest.Open(t)
}

// interruptible is a store on which something happens between two units.
type interruptible struct {
	outbound.UnitOfWork
	before func() // happens once, before the next unit that writes
}

func (s *interruptible) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	if before := s.before; before != nil {
		s.before = nil
		before()
	}
	return s.UnitOfWork.Do(ctx, fn)
}

// harness is a gateway with two tenants, whose time passes in a bubble of synctest.
type harness struct {
	*testing.T
	store      *interruptible
	receivers  *receivers
	endpoints  *webhooks.Endpoints
	deliveries *webhooks.Deliveries
	dispatcher *webhooks.Dispatcher
	who, other tenant.Caller

	// Of the dispatchers that run; the zero values are as in production.
	poll                  time.Duration
	maxSends, perEndpoint int
	maxPostponed          int
}

// inBubble runs a test in a bubble.
func inBubble(t *testing.T, test func(t *testing.T, h *harness)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, newHarness(t, open(t))) })
}

func newHarness(t *testing.T, store outbound.UnitOfWork) *harness {
	t.Helper()
	h := &harness{T: t, store: &interruptible{UnitOfWork: store}, receivers: &receivers{}}
	h.endpoints = webhooks.NewEndpoints(h.store, clock{}, counted)
	h.deliveries = webhooks.NewDeliveries(h.store, clock{})
	h.dispatcher = h.newDispatcher()
	h.who, h.other = h.tenant(), h.tenant()
	return h
}

// sleepUntil lets the time pass.
func (h *harness) sleepUntil(at time.Time) { time.Sleep(time.Until(at)) }

// tenant makes another tenant.
func (h *harness) tenant() tenant.Caller {
	h.Helper()
	ten, err := tenant.New(tenant.ID(counted.ID("tenant")), tenant.Draft{Name: "Acme"}, time.Now())
	if err != nil {
		h.Fatal(err)
	}
	h.do(func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Insert(ctx, ten) })
	return tenant.Operator(ten.ID())
}

// newDispatcher is the dispatcher of another process.
func (h *harness) newDispatcher() *webhooks.Dispatcher {
	return webhooks.NewDispatcher(h.store, h.receivers, clock{}, counted)
}

func (h *harness) do(fn func(context.Context, outbound.Stores) error) {
	h.Helper()
	if err := h.store.Do(h.Context(), fn); err != nil {
		h.Fatal(err)
	}
}

// endpoint makes an endpoint whose URL ends with the name.
func (h *harness) endpoint(name string, types ...event.Type) *event.Endpoint {
	h.Helper()
	return h.endpointOf(h.who, name, types...)
}

func (h *harness) endpointOf(who tenant.Caller, name string, types ...event.Type) *event.Endpoint {
	h.Helper()
	e, err := h.endpoints.Create(h.Context(), who, domain.IdempotencyKey{}, event.EndpointDraft{URL: "https://example.com/" + name, Events: types})
	if err != nil {
		h.Fatal(err)
	}
	return e
}

// happen makes something happen to the tenant, now.
func (h *harness) happen(t event.Type) *event.Event {
	h.Helper()
	return h.happenTo(h.who, t)
}

func (h *harness) happenTo(who tenant.Caller, t event.Type) *event.Event {
	h.Helper()
	e := event.Restore(event.State{ID: event.ID(counted.ID("evt")), Tenant: who.Tenant(), Type: t, Data: domain.RestoreDocument(`{"runId":"run_1"}`), At: time.Now()})
	h.do(func(ctx context.Context, st outbound.Stores) error { return st.Webhooks.Events.Append(ctx, e) })
	return e
}

// waiting are the events whose deliveries are not made yet.
func (h *harness) waiting() (all []*event.Event) {
	h.Helper()
	h.do(func(ctx context.Context, st outbound.Stores) (err error) {
		all, err = st.Webhooks.Events.PendingFanOut(ctx, 10000, "")
		return err
	})
	return all
}

// settle fans out and sends until there is nothing more to do now.
func (h *harness) settle() {
	h.Helper()
	for {
		events, err := h.dispatcher.FanOut(h.Context(), 10)
		attempts, errDeliver := h.dispatcher.Deliver(h.Context())
		if err := errors.Join(err, errDeliver); err != nil {
			h.Fatal(err)
		}
		if events+attempts == 0 {
			return
		}
	}
}

// next is when something is due; the zero time for never.
func (h *harness) next() (at time.Time) {
	h.Helper()
	h.do(func(ctx context.Context, st outbound.Stores) error {
		wait, ok, err := st.Webhooks.Queue.Next(ctx)
		if ok {
			at = time.Now().Add(wait)
		}
		return err
	})
	return at
}

// all lists the deliveries to an endpoint, the oldest first.
func (h *harness) all(of *event.Endpoint) []*event.Delivery {
	h.Helper()
	found, err := h.deliveries.List(h.Context(), h.who, of.ID(), event.DeliveryFilter{}, domain.Query{Sorting: domain.Sorting{Ascending: true}})
	if err != nil {
		h.Fatal(err)
	}
	return found.Items
}

// every lists all the deliveries to an endpoint.
func (h *harness) every(of *event.Endpoint) (all []*event.Delivery) {
	h.Helper()
	for {
		page, err := domain.NewPageRequest(100, len(all))
		if err != nil {
			h.Fatal(err)
		}
		found, err := h.deliveries.List(h.Context(), h.who, of.ID(), event.DeliveryFilter{}, domain.Query{PageRequest: page})
		if err != nil {
			h.Fatal(err)
		}
		if all = append(all, found.Items...); len(all) == found.Total {
			return all
		}
	}
}

// times says when messages arrived, by their URLs.
func (h *harness) times() map[string][]time.Time {
	h.receivers.mu.Lock()
	defer h.receivers.mu.Unlock()
	times := make(map[string][]time.Time)
	for _, m := range h.receivers.got {
		times[m.URL] = append(times[m.URL], m.at)
	}
	return times
}

// last is the last message that arrived at an endpoint.
func (h *harness) last(e *event.Endpoint) (last sent) {
	h.receivers.mu.Lock()
	defer h.receivers.mu.Unlock()
	for _, m := range h.receivers.got {
		if m.URL == e.URL() {
			last = m
		}
	}
	return last
}

// now reads an endpoint again.
func (h *harness) now(e *event.Endpoint) *event.Endpoint {
	h.Helper()
	e, err := h.endpoints.Get(h.Context(), h.who, e.ID())
	if err != nil {
		h.Fatal(err)
	}
	return e
}

// lines says what was sent, as "name type" in the order it arrived.
func (h *harness) lines() (lines []string) {
	h.receivers.mu.Lock()
	defer h.receivers.mu.Unlock()
	for _, m := range h.receivers.got {
		_, kind, _ := strings.Cut(string(m.Body), `"type":"`)
		kind, _, _ = strings.Cut(kind, `"`)
		lines = append(lines, m.URL[strings.LastIndex(m.URL, "/")+1:]+" "+kind)
	}
	return lines
}

// verify checks a message as its receiver does.
func verify(s domain.SigningSecret, m outbound.SignedMessage) error {
	receiver, err := standardwebhooks.NewWebhook(s.Reveal())
	if err != nil {
		return err
	}
	h := http.Header{}
	h.Set(standardwebhooks.HeaderWebhookID, m.Signature.ID)
	h.Set(standardwebhooks.HeaderWebhookTimestamp, m.Signature.Timestamp)
	h.Set(standardwebhooks.HeaderWebhookSignature, m.Signature.Values)
	return receiver.VerifyIgnoringTimestamp(m.Body, h)
}

func wantError(t *testing.T, err error, kind domain.Kind, code string) {
	t.Helper()
	var e *domain.Error
	if !errors.As(err, &e) || e.Kind != kind || e.Code != code {
		t.Errorf("the error is %v, not %s (%s)", err, code, kind)
	}
}
