package webhooks_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/application/webhooks"
	"github.com/sluicehq/sluice/domain"
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
	return s.UnitOfWork.Do(ctx, s.told(fn))
}

func (s calls) Read(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	return s.UnitOfWork.Read(ctx, s.told(fn))
}

func (s calls) told(fn func(context.Context, outbound.Stores) error) func(context.Context, outbound.Stores) error {
	return func(ctx context.Context, st outbound.Stores) error {
		w := &st.Webhooks
		w.Queue, w.Events = queueCalls{w.Queue, s}, eventCalls{w.Events, s}
		w.Endpoints, w.Deliveries = endpointCalls{w.Endpoints, s}, deliveryCalls{w.Deliveries, s}
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

func (q queueCalls) Next(ctx context.Context) (time.Time, bool, error) {
	q.calls.on("next")
	return q.DeliveryQueue.Next(ctx)
}

func (q queueCalls) Hold(ctx context.Context, of []outbound.DeliveryKey) ([]outbound.HeldDelivery, error) {
	var owners []tenant.ID
	for _, k := range of {
		owners = append(owners, k.Tenant)
	}
	q.calls.on("hold", owners...)
	return q.DeliveryQueue.Hold(ctx, of)
}

func (q queueCalls) Record(ctx context.Context, deliveries []*event.Delivery, endpoints []*event.Endpoint) error {
	q.calls.on("record", ownersOf(deliveries)...)
	return q.DeliveryQueue.Record(ctx, deliveries, endpoints)
}

func (q queueCalls) PutOff(ctx context.Context, of outbound.DeliveryKey, attempt int, until time.Time) error {
	q.calls.on("put off", of.Tenant)
	return q.DeliveryQueue.PutOff(ctx, of, attempt, until)
}

type eventCalls struct {
	outbound.EventRepository
	calls calls
}

func (e eventCalls) Waiting(ctx context.Context, limit int, except ...outbound.EventKey) ([]*event.Event, error) {
	e.calls.on("waiting")
	return e.EventRepository.Waiting(ctx, limit, except...)
}

func (e eventCalls) Settle(ctx context.Context, events ...*event.Event) error {
	e.calls.on("settle", ownersOf(events)...)
	return e.EventRepository.Settle(ctx, events...)
}

type endpointCalls struct {
	outbound.EndpointRepository
	calls calls
}

func (e endpointCalls) Matching(ctx context.Context, owner tenant.ID, t event.Type, sub tenant.SubTenantID) ([]*event.Endpoint, error) {
	e.calls.on("match", owner)
	return e.EndpointRepository.Matching(ctx, owner, t, sub)
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

// observedRun is a courier that runs in a bubble, and what it reports.
type observedRun struct {
	*webhooks.Courier
	end func()

	mu       sync.Mutex
	reported []error
}

// observe runs a courier on a store that calls on.
func (w *world) observe(on func(call string, of ...tenant.ID)) *observedRun {
	w.Helper()
	ctx, stop := context.WithCancel(w.Context())
	ended := make(chan struct{})
	w.receivers.clock = bubble{}
	r := &observedRun{Courier: webhooks.NewCourier(calls{w.store, on}, w.receivers, bubble{}, counted{})}
	r.LookEvery(w.look)
	if w.postponed > 0 {
		r.PostponeAtMost(w.postponed)
	}
	r.end = func() {
		stop()
		<-ended
	}
	w.store.UnitOfWork.(*sqlstore.Store).OnEvents(r.Wake)
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

// deliveriesOf lists the deliveries of a tenant's endpoint.
func (w *world) deliveriesOf(who tenant.Caller, of *event.Endpoint) []*event.Delivery {
	w.Helper()
	found, err := w.deliveries.List(w.Context(), who, of.ID(), event.DeliveryFilter{}, domain.Query{PageRequest: mustPage(w.T, 100)})
	if err != nil {
		w.Fatal(err)
	}
	return found.Items
}

func quiet(string, ...tenant.ID) {}

// An attempt that panics is one of the eight, and nobody's fault but the gateway's.
func TestAnAttemptThatPanicsHasFailedAndTheNextFollowsByTheSchedule(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.look = time.Hour
		bad, good := w.endpoint("bad"), w.endpointOf(w.other, "good")
		w.receivers.answer = func(_ context.Context, m outbound.SignedMessage) (event.Outcome, error) {
			if m.URL == bad.URL() {
				panic("on purpose")
			}
			return event.Outcome{Status: 200}, nil
		}
		r := w.observe(quiet)
		happened := time.Now()
		w.happen(event.RunFailed)
		w.happenTo(w.other, event.RunFailed)
		time.Sleep(time.Second)
		if d := w.deliveriesOf(w.other, good); len(d) != 1 || d[0].Status() != event.Delivered {
			t.Error("the other tenant waits")
		}
		time.Sleep(40 * time.Hour)
		r.end()
		wantSchedule(t, happened, w.times()[bad.URL()], 10*time.Millisecond)
		d := w.all(bad)[0]
		if a := d.Attempts()[0]; d.Status() != event.Failed || a.Code != "internal_error" || a.Error == "" {
			t.Errorf("%+v", d.State())
		}
		if w.now(bad).FailingSince() != nil {
			t.Error("the endpoint is blamed")
		}
		if n := r.panics(t); n != len(steps) {
			t.Errorf("%d panics were reported", n)
		}
	})
}

// Whatever the recorder does to one delivery, the others are recorded, those who wait for
// it are answered, and the one is not sent over and over.
func TestADeliveryWhoseRecordPanicsIsPutOffForLongerAndLonger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.look = time.Hour
		bad, good := w.endpoint("bad"), w.endpointOf(w.other, "good")
		var broken sync.Mutex
		isBroken := true
		r := w.observe(func(call string, of ...tenant.ID) {
			broken.Lock()
			defer broken.Unlock()
			if isBroken && call == "record" && slices.Contains(of, w.who.Tenant) {
				panic("on purpose")
			}
		})
		w.happen(event.RunFailed)
		w.happenTo(w.other, event.RunFailed)
		time.Sleep(time.Second)
		if d := w.deliveriesOf(w.other, good); len(d) != 1 || d[0].Status() != event.Delivered {
			t.Error("the other tenant waits")
		}
		time.Sleep(24 * time.Hour)
		if n := len(w.times()[bad.URL()]); n < 24 || n > 36 {
			t.Errorf("it was sent %d times in a day", n)
		}
		broken.Lock()
		isBroken = false
		broken.Unlock()
		time.Sleep(outbound.MaxRetryWait + time.Minute)
		r.end()
		if d := w.all(bad)[0]; d.Status() != event.Delivered || d.Attempted() != 1 {
			t.Errorf("%+v", d.State())
		}
		if r.panics(t) == 0 {
			t.Error("none was reported")
		}
	})
}

// An event that cannot be handed on waits, for longer each time, and the others do not,
// even if there are more such events than are remembered.
func TestAnEventWhoseHandingOnPanicsKeepsNoOtherWaiting(t *testing.T) {
	t.Parallel()
	for claim, c := range map[string]struct {
		remembered int
		lasts      time.Duration
		tries      int // at most
	}{
		"all are remembered":  {1000, 12 * time.Hour, 250},
		"some are remembered": {2, 3 * time.Hour, 300},
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.look = 5 * time.Minute
				w.postponed = c.remembered
				bad, good := w.endpoint("bad"), w.endpointOf(w.other, "good")
				var mu sync.Mutex
				tries, isBroken := 0, true
				r := w.observe(func(call string, of ...tenant.ID) {
					mu.Lock()
					defer mu.Unlock()
					if isBroken && call == "insert" && slices.Contains(of, w.who.Tenant) {
						tries++
						panic("on purpose")
					}
				})
				for range 5 {
					w.happen(event.RunFailed)
				}
				for i := range 5 {
					w.happenTo(w.other, event.RunFailed)
					time.Sleep(time.Second)
					if d := w.deliveriesOf(w.other, good); len(d) != i+1 || d[0].Status() != event.Delivered {
						t.Errorf("the other tenant waits for event %d", i)
					}
				}
				time.Sleep(c.lasts)
				mu.Lock()
				if isBroken = false; tries < 5 || tries > c.tries {
					t.Errorf("they were tried %d times", tries)
				}
				mu.Unlock()
				time.Sleep(outbound.MaxRetryWait + 2*w.look)
				r.end()
				if n, sent := len(w.all(bad)), len(w.times()[bad.URL()]); n != 5 || sent != 5 {
					t.Errorf("%d of 5 arrived, and %d messages", n, sent)
				}
				if n := r.panics(t); n < tries {
					t.Errorf("%d of %d panics were reported", n, tries)
				}
			})
		})
	}
}

// Looking for work panics each time: the loops neither end nor turn without a pause.
func TestALoopThatPanicsGoesOnAfterAPause(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"next", "claim", "waiting"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				to := w.endpoint("a")
				var mu sync.Mutex
				tries, isBroken := 0, true
				r := w.observe(func(call string, _ ...tenant.ID) {
					mu.Lock()
					defer mu.Unlock()
					if isBroken && call == what {
						tries++
						panic("on purpose")
					}
				})
				w.happen(event.RunFailed)
				time.Sleep(time.Minute)
				mu.Lock()
				if isBroken = false; tries < 10 || tries > 130 {
					t.Errorf("it was tried %d times in a minute", tries)
				}
				mu.Unlock()
				time.Sleep(2 * time.Second)
				r.end()
				if len(w.times()[to.URL()]) != 1 || r.panics(t) != tries {
					t.Errorf("%d messages, %d panics", len(w.times()[to.URL()]), tries)
				}
			})
		})
	}
}

// Senders and stores panic, refuse and fail at random, for all but one tenant. What
// happens is delivered or has failed after as many attempts as there are, nothing is lost,
// and that one tenant waits for none of the others.
func TestNothingIsLostWhilePartsPanicAtRandom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.look = time.Minute
		calm, calmer := w.other, w.endpointOf(w.other, "calm")
		var mu sync.Mutex
		random := rand.New(rand.NewPCG(7, 11)) //nolint:gosec // a test repeats itself
		chance := func(one int) bool {
			mu.Lock()
			defer mu.Unlock()
			return random.IntN(one) == 0
		}
		hostile := []tenant.Caller{w.who, w.tenant(), w.tenant()}
		endpoints := make(map[string]*event.Endpoint)
		for i, who := range hostile {
			for _, kind := range []string{"panics", "down"} {
				name := fmt.Sprint(kind, i)
				endpoints["https://example.com/"+name] = w.endpointOf(who, name)
			}
		}
		w.receivers.answer = func(_ context.Context, m outbound.SignedMessage) (event.Outcome, error) {
			switch {
			case m.Tenant == calm.Tenant:
				return event.Outcome{Status: 200}, nil
			case chance(3):
				panic("a sender")
			case chance(10):
				return event.Outcome{}, fmt.Errorf("the process could not try")
			case m.URL[:len(m.URL)-1] == "https://example.com/down":
				return event.Outcome{Status: 500, Code: "unexpected_status"}, nil
			}
			return event.Outcome{Status: 200}, nil
		}
		r := w.observe(func(call string, of ...tenant.ID) {
			if len(of) == 0 && chance(12) || slices.ContainsFunc(of, func(id tenant.ID) bool { return id != calm.Tenant }) && chance(8) {
				panic("a store: " + call)
			}
		})
		const events = 6
		for i := range events {
			for _, who := range append(hostile, calm) {
				w.happenTo(who, event.RunFailed)
			}
			time.Sleep(15 * time.Minute)
			if d := w.deliveriesOf(calm, calmer); len(d) != i+1 || slices.ContainsFunc(d, func(d *event.Delivery) bool { return d.Status() != event.Delivered }) {
				t.Errorf("event %d: the calm tenant waits", i)
			}
		}
		for range 40 {
			if time.Sleep(6 * time.Hour); w.next().IsZero() {
				break
			}
		}
		r.end()
		times := w.times()
		for url, to := range endpoints {
			all := w.deliveriesOf(tenant.Operator(to.Tenant()), to)
			if len(all) != events {
				t.Errorf("%s: %d of %d deliveries were made", url, len(all), events)
			}
			for _, d := range all {
				if d.Status() == event.Pending || d.Status() == event.Failed && d.Attempted() != len(steps) || d.Status() == event.Delivered && len(times[url]) == 0 {
					t.Errorf("%s: %+v", url, d.State())
				}
			}
		}
		if n := len(times[calmer.URL()]); n != events {
			t.Errorf("the calm tenant got %d messages", n)
		}
		if r.panics(t) < 50 {
			t.Errorf("only %d panics", r.Panics())
		}
	})
}
