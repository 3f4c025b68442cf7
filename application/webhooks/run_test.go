package webhooks_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/application/webhooks"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/ports/outbound"
)

// bubble is the clock of the test's bubble, whose time begins in 2000.
type bubble struct{}

func (bubble) Now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// run runs a courier of its own, on the clock of the bubble, until end is called. It is
// told of events as in the process that makes them happen.
func (w *world) run() (end func()) {
	w.Helper()
	ctx, stop := context.WithCancel(w.Context())
	ended := make(chan struct{})
	w.receivers.clock = bubble{}
	courier := webhooks.NewCourier(w.store, w.receivers, bubble{}, counted{})
	courier.LookEvery(w.look)
	if w.places > 0 {
		courier.SendAtOnce(w.places, w.perEndpoint)
	}
	w.store.UnitOfWork.(*sqlstore.Store).OnEvents(courier.Wake)
	go func() {
		courier.Run(ctx, func(err error) { w.Error(err) })
		close(ended)
	}()
	return func() {
		stop()
		<-ended
	}
}

// steps is when each attempt follows the one before (execution rules, "Outgoing
// events").
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

// Nobody but the courier does anything: an event reaches its endpoints at once, one
// that is down gets every attempt when it is due, and another one is slow meanwhile.
func TestTheCourierBringsEventsAsTheyHappenAndRepeatsWhatFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.look = time.Hour // so that nothing but its own reckoning wakes it
		up, down, slow := w.endpoint("up"), w.endpoint("down"), w.endpoint("slow")
		w.receivers.answer = func(_ context.Context, m outbound.SignedMessage) (event.Outcome, error) {
			switch m.URL {
			case down.URL():
				return event.Outcome{Code: "connection_failed"}, nil
			case slow.URL():
				time.Sleep(14 * time.Second)
				return event.Outcome{Status: 200, Duration: 14 * time.Second}, nil
			}
			return event.Outcome{Status: 200}, nil
		}
		end := w.run()
		time.Sleep(300 * time.Millisecond)
		happened := time.Now()
		w.happen(event.RunFailed)
		time.Sleep(40 * time.Hour)
		end()
		times := w.times()
		for _, to := range []*event.Endpoint{up, down, slow} {
			if waited := times[to.URL()][0].Sub(happened); waited > 10*time.Millisecond {
				t.Errorf("%s was told after %s", to.URL(), waited)
			}
		}
		wantSchedule(t, happened, times[down.URL()], 10*time.Millisecond)
		if len(times[up.URL()]) != 1 || len(times[slow.URL()]) != 1 {
			t.Errorf("%d and %d messages to those that answered", len(times[up.URL()]), len(times[slow.URL()]))
		}
		if d := w.all(down)[0]; w.all(up)[0].Status() != event.Delivered || w.all(slow)[0].Status() != event.Delivered ||
			d.Status() != event.Failed || d.Attempted() != len(steps) || d.Reason() != "All 8 attempts failed." {
			t.Errorf("%+v", d.State())
		}
	})
}

// Twice a day something happens. After five days of nothing but failures the endpoint is
// switched off, another one is told why, and what is left of it ends.
func TestTheCourierSwitchesOffWhatFailsForFiveDays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		const every = 12 * time.Hour
		w.look = every
		down, up := w.endpoint("down", event.RunFailed), w.endpoint("up", event.EndpointDisabled)
		w.receivers.answer = func(_ context.Context, m outbound.SignedMessage) (event.Outcome, error) {
			if m.URL == down.URL() {
				return event.Outcome{Status: 500, Code: "unexpected_status"}, nil
			}
			return event.Outcome{Status: 200}, nil
		}
		end := w.run()
		began := time.Now()
		for time.Since(began) < 6*24*time.Hour {
			w.happen(event.RunFailed)
			time.Sleep(every)
		}
		end()
		times, e, told := w.times(), w.now(down), w.all(up)
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
		if at := times[up.URL()]; len(told) != 1 || len(at) != 1 || at[0].Sub(off) > 10*time.Millisecond || told[0].Type() != event.EndpointDisabled {
			t.Errorf("the other one was told %d times", len(at))
		}
		body := string(w.last(up).Body)
		for _, part := range []string{`"type":"webhook_endpoint.disabled"`, `"reason":"failing"`, `"message":"` + event.DisabledFailing.Text() + `"`, string(down.ID())} {
			if !strings.Contains(body, part) {
				t.Errorf("it was told %s, without %s", body, part)
			}
		}
		for _, d := range w.every(down) {
			if d.Status() != event.Failed {
				t.Errorf("it is %s: %+v", d.Status(), d.State())
			}
		}
	})
}

// Stopping waits for what is on its way.
func TestTheCourierEndsWhenWhatItSendsHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		to := w.endpoint("slow")
		ctx, stop := context.WithCancel(t.Context())
		var began time.Time
		w.receivers.answer = func(context.Context, outbound.SignedMessage) (event.Outcome, error) {
			began = time.Now()
			stop()
			time.Sleep(10 * time.Second)
			return event.Outcome{Status: 200}, nil
		}
		w.happen(event.RunFailed)
		w.courier.Run(ctx, func(err error) { t.Error(err) })
		if d := w.all(to)[0]; time.Since(began) != 10*time.Second || d.Status() != event.Delivered {
			t.Errorf("it ended after %s: %+v", time.Since(began), d.State())
		}
	})
}

// The loops of another process are not told of anything.
func TestAnEventOfAnotherProcessIsFoundWithinASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		to := w.endpoint("a")
		end := w.run()
		w.store.UnitOfWork.(*sqlstore.Store).OnEvents(func() {})
		for range 3 {
			time.Sleep(1234 * time.Millisecond)
			happened := time.Now()
			w.happen(event.RunFailed)
			time.Sleep(time.Second + 5*time.Millisecond)
			at := w.times()[to.URL()]
			if len(at) == 0 || at[len(at)-1].Before(happened) {
				t.Error("it did not arrive")
			}
		}
		end()
	})
}
