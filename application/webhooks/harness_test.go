package webhooks_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
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

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// counted makes identifiers and secrets that do not repeat.
type counted struct{}

var serial atomic.Int64

func (counted) ID(prefix string) string { return fmt.Sprintf("%s_%026d", prefix, serial.Add(1)) }

func (counted) Fill(p []byte) { copy(p, fmt.Sprintf("%032d", serial.Add(1))) }

// sent is a message that reached an endpoint.
type sent struct {
	outbound.SignedMessage
	at time.Time
}

// receivers are the other side: they answer as the test says, and keep what they got.
type receivers struct {
	clock  outbound.Clock
	mu     sync.Mutex
	got    []sent
	answer func(ctx context.Context, m outbound.SignedMessage) (event.Outcome, error) // nil takes everything
}

func (r *receivers) Send(ctx context.Context, m outbound.SignedMessage) (event.Outcome, error) {
	r.mu.Lock()
	r.got = append(r.got, sent{m, r.clock.Now()})
	answer := r.answer
	r.mu.Unlock()
	if answer == nil {
		return event.Outcome{Status: http.StatusOK}, nil
	}
	return answer(ctx, m)
}

// status answers everything with one status.
func (r *receivers) status(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = func(context.Context, outbound.SignedMessage) (event.Outcome, error) {
		return event.Outcome{Status: status}, nil
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

// world is a gateway with two tenants.
type world struct {
	*testing.T
	store      *interruptible
	clock      *portstest.ManualClock
	receivers  *receivers
	endpoints  *webhooks.Endpoints
	deliveries *webhooks.Deliveries
	courier    *webhooks.Courier
	who, other tenant.Caller
	look       time.Duration // how long the loops of run sleep at most

	places, perEndpoint int // how much the courier of run sends at the same time, when that is not as in production
	postponed           int // how many events that of observe remembers as postponed, when that is not as in production
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOn(t, open(t))
}

func newWorldOn(t *testing.T, store outbound.UnitOfWork) *world {
	t.Helper()
	w := &world{T: t, store: &interruptible{UnitOfWork: store}, clock: &portstest.ManualClock{}, look: time.Second}
	w.clock.Set(noon)
	w.receivers = &receivers{clock: w.clock}
	w.endpoints = webhooks.NewEndpoints(w.store, w.clock, counted{})
	w.deliveries = webhooks.NewDeliveries(w.store, w.clock)
	w.courier = w.newCourier()
	w.who, w.other = w.tenant(), w.tenant()
	return w
}

// tenant makes another tenant.
func (w *world) tenant() tenant.Caller {
	w.Helper()
	ten, err := tenant.New(tenant.ID(counted{}.ID("tenant")), "Acme", tenant.English, noon)
	if err != nil {
		w.Fatal(err)
	}
	w.do(func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Insert(ctx, ten) })
	return tenant.Operator(ten.ID())
}

// newCourier is the courier of another process.
func (w *world) newCourier() *webhooks.Courier {
	return webhooks.NewCourier(w.store, w.receivers, w.clock, counted{})
}

func (w *world) do(fn func(context.Context, outbound.Stores) error) {
	w.Helper()
	if err := w.store.Do(w.Context(), fn); err != nil {
		w.Fatal(err)
	}
}

// endpoint makes an endpoint whose URL ends with the name.
func (w *world) endpoint(name string, types ...event.Type) *event.Endpoint {
	w.Helper()
	return w.endpointOf(w.who, name, types...)
}

func (w *world) endpointOf(who tenant.Caller, name string, types ...event.Type) *event.Endpoint {
	w.Helper()
	e, err := w.endpoints.Create(w.Context(), who, domain.Once{}, event.EndpointDraft{URL: "https://example.com/" + name, Events: types})
	if err != nil {
		w.Fatal(err)
	}
	return e
}

// happen makes something happen to the tenant, now.
func (w *world) happen(t event.Type) *event.Event {
	w.Helper()
	return w.happenTo(w.who, t)
}

func (w *world) happenTo(who tenant.Caller, t event.Type) *event.Event {
	w.Helper()
	e, err := event.New(event.ID(counted{}.ID("evt")), who.Tenant, "", t, domain.RestoreDocument(`{"runId":"run_1"}`), w.clock.Now())
	if err != nil {
		w.Fatal(err)
	}
	w.do(func(ctx context.Context, st outbound.Stores) error { return st.Webhooks.Events.Append(ctx, e) })
	return e
}

// settle hands on and sends until there is nothing more to do now.
func (w *world) settle() {
	w.Helper()
	for {
		events, err := w.courier.FanOut(w.Context(), 10)
		attempts, errDeliver := w.courier.Deliver(w.Context())
		if err := errors.Join(err, errDeliver); err != nil {
			w.Fatal(err)
		}
		if events+attempts == 0 {
			return
		}
	}
}

// next is when something is due, for the clock to be set; the zero time for never.
func (w *world) next() (at time.Time) {
	w.Helper()
	w.do(func(ctx context.Context, st outbound.Stores) (err error) {
		at, _, err = st.Webhooks.Queue.Next(ctx)
		return err
	})
	return at
}

// all lists the deliveries to an endpoint, the oldest first.
func (w *world) all(of *event.Endpoint) []*event.Delivery {
	w.Helper()
	found, err := w.deliveries.List(w.Context(), w.who, of.ID(), event.DeliveryFilter{}, domain.Query{Sorting: domain.Sorting{Ascending: true}})
	if err != nil {
		w.Fatal(err)
	}
	return found.Items
}

// every lists all the deliveries to an endpoint.
func (w *world) every(of *event.Endpoint) (all []*event.Delivery) {
	w.Helper()
	for {
		page, err := domain.NewPageRequest(100, len(all))
		if err != nil {
			w.Fatal(err)
		}
		found, err := w.deliveries.List(w.Context(), w.who, of.ID(), event.DeliveryFilter{}, domain.Query{PageRequest: page})
		if err != nil {
			w.Fatal(err)
		}
		if all = append(all, found.Items...); len(all) == found.Total {
			return all
		}
	}
}

// times says when messages arrived, by their URLs.
func (w *world) times() map[string][]time.Time {
	w.receivers.mu.Lock()
	defer w.receivers.mu.Unlock()
	times := make(map[string][]time.Time)
	for _, m := range w.receivers.got {
		times[m.URL] = append(times[m.URL], m.at)
	}
	return times
}

// last is the last message that arrived at an endpoint.
func (w *world) last(e *event.Endpoint) (last sent) {
	w.receivers.mu.Lock()
	defer w.receivers.mu.Unlock()
	for _, m := range w.receivers.got {
		if m.URL == e.URL() {
			last = m
		}
	}
	return last
}

// now reads an endpoint again.
func (w *world) now(e *event.Endpoint) *event.Endpoint {
	w.Helper()
	e, err := w.endpoints.Get(w.Context(), w.who, e.ID())
	if err != nil {
		w.Fatal(err)
	}
	return e
}

// lines says what was sent, as "name type" in the order it arrived.
func (w *world) lines() (lines []string) {
	w.receivers.mu.Lock()
	defer w.receivers.mu.Unlock()
	for _, m := range w.receivers.got {
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
