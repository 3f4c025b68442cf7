package webhooks_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/application/webhooks"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/ports/outbound"
)

// bubble is the clock of the test's bubble, whose time begins in 2000.
type bubble struct{}

func (bubble) Now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// Nobody but the loop does anything: an event reaches its endpoint within a second, and
// one that is down gets every attempt when it is due, while another one is slow.
func TestTheCourierBringsEventsAsTheyHappenAndRepeatsWhatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		up, down, slow := w.endpoint("up"), w.endpoint("down"), w.endpoint("slow")
		w.receivers.clock = bubble{}
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
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			webhooks.NewCourier(w.store, webhookStores, w.receivers, bubble{}, counted{}).Run(ctx, func(err error) { t.Error(err) })
			close(ended)
		}()
		time.Sleep(300 * time.Millisecond)
		happened := time.Now()
		w.happen(event.RunFailed)
		time.Sleep(40 * time.Hour)
		stop()
		<-ended
		times := map[string][]time.Time{}
		for _, m := range w.receivers.got {
			times[m.URL] = append(times[m.URL], m.at)
		}
		counts := map[string]int{}
		for url, at := range times {
			if counts[url] = len(at); at[0].Sub(happened) > time.Second {
				t.Errorf("%s was told after %s", url, at[0].Sub(happened))
			}
		}
		if diff := cmp.Diff(map[string]int{up.URL(): 1, slow.URL(): 1, down.URL(): 8}, counts); diff != "" {
			t.Error(diff)
		}
		d := w.all(down)[0]
		for i, at := range times[down.URL()][1:] {
			want, _ := event.Delay(d.ID(), i+2)
			if waited := at.Sub(times[down.URL()][i]); waited != want {
				t.Errorf("attempt %d came after %s, not %s", i+2, waited, want)
			}
		}
		if w.all(up)[0].Status() != event.Delivered || w.all(slow)[0].Status() != event.Delivered || d.Status() != event.Failed {
			t.Errorf("%+v", d.State())
		}
	})
}

// Stopping waits for what is on its way.
func TestTheCourierEndsWhenWhatItSendsHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		to := w.endpoint("slow")
		ctx, stop := context.WithCancel(t.Context())
		w.receivers.answer = func(context.Context, outbound.SignedMessage) (event.Outcome, error) {
			stop()
			time.Sleep(10 * time.Second)
			return event.Outcome{Status: 200}, nil
		}
		w.happen(event.RunFailed)
		began := time.Now()
		w.courier.Run(ctx, func(err error) { t.Error(err) })
		if d := w.all(to)[0]; time.Since(began) != 10*time.Second || d.Status() != event.Delivered {
			t.Errorf("it ended after %s: %+v", time.Since(began), d.State())
		}
	})
}
