package webhooks_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// deliveriesOf lists the deliveries of a tenant's endpoint.
func (h *harness) deliveriesOf(who tenant.Caller, of *event.Endpoint) []*event.Delivery {
	h.Helper()
	found, err := h.deliveries.List(h.Context(), who, of.ID(), event.DeliveryFilter{}, domain.Query{PageRequest: mustPage(h.T, 100)})
	if err != nil {
		h.Fatal(err)
	}
	return found.Items
}

// An attempt that panics is one of the eight, and the fault of the gateway alone.
func TestAnAttemptThatPanicsHasFailedAndTheNextFollowsByTheSchedule(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		h.poll = time.Hour
		bad, good := h.endpoint("bad"), h.endpointOf(h.other, "good")
		h.receivers.answer = func(_ context.Context, m outbound.SignedMessage) (event.AttemptResult, error) {
			if m.URL == bad.URL() {
				panic("on purpose")
			}
			return event.AttemptResult{Status: 200}, nil
		}
		r := h.observe(quiet)
		happened := time.Now()
		h.happen(event.RunFailed)
		h.happenTo(h.other, event.RunFailed)
		time.Sleep(time.Second)
		if d := h.deliveriesOf(h.other, good); len(d) != 1 || d[0].Status() != event.Delivered {
			t.Error("the other tenant waits")
		}
		time.Sleep(40 * time.Hour)
		r.end()
		wantSchedule(t, happened, h.times()[bad.URL()], 10*time.Millisecond)
		d := h.all(bad)[0]
		if a := d.Attempts()[0]; d.Status() != event.Failed || a.Code != "internal_error" || a.Error == "" {
			t.Errorf("%+v", d.State())
		}
		if h.now(bad).FailingSince() != nil {
			t.Error("the endpoint is blamed")
		}
		if n := r.panics(t); n != len(steps) {
			t.Errorf("%d panics were reported", n)
		}
	})
}

// Whatever the recorder does to one delivery, the others are recorded, those who wait for
// it are answered, and the one is not sent over and over.
func TestADeliveryWhoseRecordPanicsIsPostponedForLongerAndLonger(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		h.poll = time.Hour
		bad, good := h.endpoint("bad"), h.endpointOf(h.other, "good")
		var broken sync.Mutex
		isBroken := true
		r := h.observe(func(call string, of ...tenant.ID) {
			broken.Lock()
			defer broken.Unlock()
			if isBroken && call == "record" && slices.Contains(of, h.who.Tenant()) {
				panic("on purpose")
			}
		})
		h.happen(event.RunFailed)
		h.happenTo(h.other, event.RunFailed)
		time.Sleep(time.Second)
		if d := h.deliveriesOf(h.other, good); len(d) != 1 || d[0].Status() != event.Delivered {
			t.Error("the other tenant waits")
		}
		time.Sleep(24 * time.Hour)
		if n := len(h.times()[bad.URL()]); n < 24 || n > 36 {
			t.Errorf("it was sent %d times in a day", n)
		}
		broken.Lock()
		isBroken = false
		broken.Unlock()
		time.Sleep(outbound.MaxRetryWait + time.Minute)
		r.end()
		if d := h.all(bad)[0]; d.Status() != event.Delivered || d.Attempted() != 1 {
			t.Errorf("%+v", d.State())
		}
		if r.panics(t) == 0 {
			t.Error("none was reported")
		}
	})
}

// An event whose fan-out fails waits, for longer each time, and the others do not,
// even if there are more such events than are remembered.
func TestAnEventWhoseFanOutPanicsKeepsNoOtherWaiting(t *testing.T) {
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
			inBubble(t, func(t *testing.T, h *harness) {
				h.poll = 5 * time.Minute
				h.maxPostponed = c.remembered
				bad, good := h.endpoint("bad"), h.endpointOf(h.other, "good")
				var mu sync.Mutex
				tries, isBroken := 0, true
				r := h.observe(func(call string, of ...tenant.ID) {
					mu.Lock()
					defer mu.Unlock()
					if isBroken && call == "insert" && slices.Contains(of, h.who.Tenant()) {
						tries++
						panic("on purpose")
					}
				})
				for range 5 {
					h.happen(event.RunFailed)
				}
				for i := range 5 {
					h.happenTo(h.other, event.RunFailed)
					time.Sleep(time.Second)
					if d := h.deliveriesOf(h.other, good); len(d) != i+1 || d[0].Status() != event.Delivered {
						t.Errorf("the other tenant waits for event %d", i)
					}
				}
				time.Sleep(c.lasts)
				mu.Lock()
				if isBroken = false; tries < 5 || tries > c.tries {
					t.Errorf("they were tried %d times", tries)
				}
				mu.Unlock()
				time.Sleep(outbound.MaxRetryWait + 2*h.poll)
				r.end()
				if n, sent := len(h.all(bad)), len(h.times()[bad.URL()]); n != 5 || sent != 5 {
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
			inBubble(t, func(t *testing.T, h *harness) {
				to := h.endpoint("a")
				var mu sync.Mutex
				tries, isBroken := 0, true
				r := h.observe(func(call string, _ ...tenant.ID) {
					mu.Lock()
					defer mu.Unlock()
					if isBroken && call == what {
						tries++
						panic("on purpose")
					}
				})
				h.happen(event.RunFailed)
				time.Sleep(time.Minute)
				mu.Lock()
				if isBroken = false; tries < 10 || tries > 130 {
					t.Errorf("it was tried %d times in a minute", tries)
				}
				mu.Unlock()
				time.Sleep(2 * time.Second)
				r.end()
				if len(h.times()[to.URL()]) != 1 || r.panics(t) != tries {
					t.Errorf("%d messages, %d panics", len(h.times()[to.URL()]), tries)
				}
			})
		})
	}
}

// Senders and stores panic, refuse and fail at random, for all but one tenant. What
// happens is delivered or has failed after as many attempts as there are, nothing is lost,
// and that one tenant waits for none of the others.
func TestNothingIsLostWhilePartsPanicAtRandom(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		h.poll = time.Minute
		calm, calmer := h.other, h.endpointOf(h.other, "calm")
		var mu sync.Mutex
		random := rand.New(rand.NewPCG(7, 11)) //nolint:gosec // a test repeats itself
		chance := func(one int) bool {
			mu.Lock()
			defer mu.Unlock()
			return random.IntN(one) == 0
		}
		hostile := []tenant.Caller{h.who, h.tenant(), h.tenant()}
		endpoints := make(map[string]*event.Endpoint)
		for i, who := range hostile {
			for _, kind := range []string{"panics", "down"} {
				name := fmt.Sprint(kind, i)
				endpoints["https://example.com/"+name] = h.endpointOf(who, name)
			}
		}
		h.receivers.answer = func(_ context.Context, m outbound.SignedMessage) (event.AttemptResult, error) {
			switch {
			case m.Tenant == calm.Tenant():
				return event.AttemptResult{Status: 200}, nil
			case chance(3):
				panic("a sender")
			case chance(10):
				return event.AttemptResult{}, fmt.Errorf("the process could not try")
			case m.URL[:len(m.URL)-1] == "https://example.com/down":
				return event.AttemptResult{Status: 500, Code: "unexpected_status"}, nil
			}
			return event.AttemptResult{Status: 200}, nil
		}
		r := h.observe(func(call string, of ...tenant.ID) {
			if len(of) == 0 && chance(12) || slices.ContainsFunc(of, func(id tenant.ID) bool { return id != calm.Tenant() }) && chance(8) {
				panic("a store: " + call)
			}
		})
		const events = 6
		for i := range events {
			for _, who := range append(hostile, calm) {
				h.happenTo(who, event.RunFailed)
			}
			time.Sleep(15 * time.Minute)
			if d := h.deliveriesOf(calm, calmer); len(d) != i+1 || slices.ContainsFunc(d, func(d *event.Delivery) bool { return d.Status() != event.Delivered }) {
				t.Errorf("event %d: the calm tenant waits", i)
			}
		}
		for range 40 {
			if time.Sleep(6 * time.Hour); h.next().IsZero() {
				break
			}
		}
		r.end()
		times := h.times()
		for url, to := range endpoints {
			all := h.deliveriesOf(tenant.Operator(to.Tenant()), to)
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
