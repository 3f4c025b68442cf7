package webhooks_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/ports/outbound"
)

// steps is when each attempt follows the one before.
var steps = []time.Duration{0, 5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 10 * time.Hour}

// share is by how much a step may be shorter or longer.
const share = 0.2

// wantSchedule checks that messages came as the schedule says, no more and no fewer. late
// is how much of a pause the loop may add.
func wantSchedule(t *testing.T, happened time.Time, at []time.Time, late time.Duration) {
	t.Helper()
	if len(at) != len(steps) {
		t.Errorf("%d attempts, not %d", len(at), len(steps))
	}
	before := happened
	for i, now := range at[:min(len(at), len(steps))] {
		least, most := time.Duration(float64(steps[i])*(1-share)), time.Duration(float64(steps[i])*(1+share))+late
		if waited := now.Sub(before); waited < least || waited > most {
			t.Errorf("attempt %d came after %s, not within %s to %s", i+1, waited, least, most)
		}
		before = now
	}
}

// Nobody except the dispatcher does anything: an event reaches its endpoints at once, one
// that is down gets every attempt when it is due, and another one is slow meanwhile.
func TestTheDispatcherBringsEventsAsTheyHappenAndRepeatsWhatFailed(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		h.poll = time.Hour // so that it wakes by what it knows is due
		up, down, slow := h.endpoint("up"), h.endpoint("down"), h.endpoint("slow")
		h.receivers.answer = func(_ context.Context, m outbound.SignedMessage) (event.AttemptResult, error) {
			switch m.URL {
			case down.URL():
				return event.AttemptResult{Code: "connection_failed"}, nil
			case slow.URL():
				time.Sleep(14 * time.Second)
				return event.AttemptResult{Status: 200, Duration: 14 * time.Second}, nil
			}
			return event.AttemptResult{Status: 200}, nil
		}
		end := h.run()
		time.Sleep(300 * time.Millisecond)
		happened := time.Now()
		h.happen(event.RunFailed)
		time.Sleep(40 * time.Hour)
		end()
		times := h.times()
		for _, to := range []*event.Endpoint{up, down, slow} {
			if waited := times[to.URL()][0].Sub(happened); waited > 10*time.Millisecond {
				t.Errorf("%s got it after %s", to.URL(), waited)
			}
		}
		wantSchedule(t, happened, times[down.URL()], 10*time.Millisecond)
		if len(times[up.URL()]) != 1 || len(times[slow.URL()]) != 1 {
			t.Errorf("%d and %d messages to those that answered", len(times[up.URL()]), len(times[slow.URL()]))
		}
		if d := h.all(down)[0]; h.all(up)[0].Status() != event.Delivered || h.all(slow)[0].Status() != event.Delivered ||
			d.Status() != event.Failed || d.Attempted() != len(steps) || d.Reason() != "All 8 attempts failed." {
			t.Errorf("%+v", d.State())
		}
	})
}

// Twice a day something happens. After five days of nothing but failures the endpoint is
// switched off, another one gets the reason, and what is left of it ends.
func TestTheDispatcherSwitchesOffWhatFailsForFiveDays(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		const every = 12 * time.Hour
		h.poll = every
		down, up := h.endpoint("down", event.RunFailed), h.endpoint("up", event.EndpointDisabled)
		h.receivers.answer = func(_ context.Context, m outbound.SignedMessage) (event.AttemptResult, error) {
			if m.URL == down.URL() {
				return event.AttemptResult{Status: 500, Code: "unexpected_status"}, nil
			}
			return event.AttemptResult{Status: 200}, nil
		}
		end := h.run()
		began := time.Now()
		for time.Since(began) < 6*24*time.Hour {
			h.happen(event.RunFailed)
			time.Sleep(every)
		}
		end()
		times, e, disabled := h.times(), h.now(down), h.all(up)
		since := *e.FailingSince()
		if e.Active() || e.Disabled() == nil || e.Disabled().Reason != event.DisabledFailing || since.Sub(began) > 10*time.Millisecond {
			t.Fatalf("%+v", e.State())
		}
		off := e.Disabled().At
		if after := off.Sub(since); after < event.FailureLimit || after > event.FailureLimit+every {
			t.Errorf("it is switched off after %s", after)
		}
		if last := times[down.URL()][len(times[down.URL()])-1]; last.Sub(off) > time.Second {
			t.Errorf("it is called %s after it was switched off", last.Sub(off))
		}
		if at := times[up.URL()]; len(disabled) != 1 || len(at) != 1 || at[0].Sub(off) > 10*time.Millisecond || disabled[0].Type() != event.EndpointDisabled {
			t.Errorf("the other one got %d messages", len(at))
		}
		body := string(h.last(up).Body)
		for _, part := range []string{`"type":"webhook_endpoint.disabled"`, `"reason":"failing"`, `"message":"` + event.DisabledFailing.Text() + `"`, string(down.ID())} {
			if !strings.Contains(body, part) {
				t.Errorf("it got %s, without %s", body, part)
			}
		}
		for _, d := range h.every(down) {
			if d.Status() != event.Failed {
				t.Errorf("it is %s: %+v", d.Status(), d.State())
			}
		}
	})
}

// Stopping waits for what is on its way.
func TestTheDispatcherEndsWhenWhatItSendsHasEnded(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		to := h.endpoint("slow")
		ctx, stop := context.WithCancel(t.Context())
		var began time.Time
		h.receivers.answer = func(context.Context, outbound.SignedMessage) (event.AttemptResult, error) {
			began = time.Now()
			stop()
			time.Sleep(10 * time.Second)
			return event.AttemptResult{Status: 200}, nil
		}
		h.happen(event.RunFailed)
		h.dispatcher.Run(ctx, func(err error) { t.Error(err) })
		if d := h.all(to)[0]; time.Since(began) != 10*time.Second || d.Status() != event.Delivered {
			t.Errorf("it ended after %s: %+v", time.Since(began), d.State())
		}
	})
}

// The loops of another process get no signal.
func TestAnEventOfAnotherProcessIsFoundByTheNextLook(t *testing.T) {
	inBubble(t, func(t *testing.T, h *harness) {
		to := h.endpoint("a")
		end := h.run()
		h.store.UnitOfWork.(*sqlstore.Store).OnEvents(func() {})
		for range 3 {
			time.Sleep(1234 * time.Millisecond)
			happened := time.Now()
			h.happen(event.RunFailed)
			time.Sleep(1505 * time.Millisecond)
			at := h.times()[to.URL()]
			if len(at) == 0 || at[len(at)-1].Before(happened) {
				t.Error("it did not arrive")
			}
		}
		end()
	})
}
