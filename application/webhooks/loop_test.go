package webhooks

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/ports/outbound"
)

// bubble is the clock of the test's bubble.
type bubble struct{}

func (bubble) Now() time.Time { return time.Now().UTC() }

const ms = time.Millisecond

// look is what the loop finds when it looks.
type look struct {
	events bool // there are more events
	due    int  // how many deliveries could be sent
	next   time.Duration
	fail   error
}

// looks runs the loop for a while, in which the n-th attempt takes some time, and returns
// when it looked, how many places were free then, and how many failures it told.
func looks(t *testing.T, lasts time.Duration, attempt func(n int64) time.Duration, find func(n int, now time.Duration) look) (at []time.Duration, free []int, failures int, ended time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		ctx, stop := context.WithTimeout(t.Context(), lasts)
		defer stop()
		var now look
		var attempts atomic.Int64
		run(ctx, bubble{}, func(error) { failures++ }, steps{
			fanOut: func(context.Context) (bool, error) {
				at = append(at, time.Since(begin))
				now = find(len(at), time.Since(begin))
				return now.events, now.fail
			},
			claim: func(_ context.Context, limit int) ([]outbound.DueDelivery, error) {
				free = append(free, limit)
				return make([]outbound.DueDelivery, min(now.due, limit)), now.fail
			},
			attempt: func(context.Context, outbound.DueDelivery) error {
				time.Sleep(attempt(attempts.Add(1)))
				return nil
			},
			next: func(context.Context) (time.Time, error) {
				if now.next == 0 {
					return time.Time{}, nil
				}
				return begin.Add(now.next), nil
			},
		})
		ended = time.Since(begin)
	})
	return at, free, failures, ended
}

func TestTheLoopLooksWhenThereMayBeSomethingToDo(t *testing.T) {
	takes := func(d time.Duration) func(int64) time.Duration { return func(int64) time.Duration { return d } }
	for claim, c := range map[string]struct {
		lasts    time.Duration
		attempt  func(n int64) time.Duration
		find     func(n int, now time.Duration) look
		at       []time.Duration
		free     []int
		failures int
		ended    time.Duration
	}{
		"nothing is ever due: once a second": {
			2100 * ms, takes(0), func(int, time.Duration) look { return look{} }, []time.Duration{0, 1000 * ms, 2000 * ms}, []int{64, 64, 64}, 0, 2100 * ms,
		},
		"something is due soon: then": {
			900 * ms, takes(0), func(_ int, now time.Duration) look { return look{next: now + 400*ms} }, []time.Duration{0, 400 * ms, 800 * ms}, []int{64, 64, 64}, 0, 900 * ms,
		},
		"what is due cannot be sent now: soon": {
			250 * ms, takes(0), func(_ int, now time.Duration) look { return look{next: now - ms} }, []time.Duration{0, 100 * ms, 200 * ms}, []int{64, 64, 64}, 0, 250 * ms,
		},
		"there are more events: at once": {
			500 * ms, takes(0), func(n int, _ time.Duration) look { return look{events: n < 3} }, []time.Duration{0, 0, 0}, []int{64, 64, 64}, 0, 500 * ms,
		},
		"every place is taken: when one is free": {
			900 * ms, func(n int64) time.Duration { return 300*ms + time.Duration(n)*10*ms }, func(n int, _ time.Duration) look {
				if n == 1 {
					return look{due: 100}
				}
				return look{}
			}, []time.Duration{0, 310 * ms}, []int{64, 1}, 0, 940 * ms,
		},
		"some places are free: others are sent meanwhile": {
			1500 * ms, takes(5000 * ms), func(n int, now time.Duration) look { return look{due: 30, next: now + 500*ms} },
			[]time.Duration{0, 500 * ms, 1000 * ms}, []int{64, 34, 4}, 0, 6000 * ms,
		},
		"a failure is told, and tried again": {
			1500 * ms, takes(0), func(int, time.Duration) look { return look{fail: errors.New("on purpose")} }, []time.Duration{0, 1000 * ms}, []int{64, 64}, 2, 1500 * ms,
		},
	} {
		t.Run(claim, func(t *testing.T) {
			at, free, failures, ended := looks(t, c.lasts, c.attempt, c.find)
			if diff := cmp.Diff(c.at, at) + cmp.Diff(c.free, free); diff != "" || failures != c.failures || ended != c.ended {
				t.Errorf("ended after %s, %d failures were told: %s", ended, failures, diff)
			}
		})
	}
}

func TestAFailureToHandEventsOnDoesNotKeepDeliveriesBack(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var told []error
	bad, worse := errors.New("no events"), errors.New("no attempt")
	run(ctx, bubble{}, func(err error) { told = append(told, err) }, steps{
		fanOut: func(context.Context) (bool, error) { return true, bad },
		claim: func(context.Context, int) ([]outbound.DueDelivery, error) {
			return make([]outbound.DueDelivery, 1), nil
		},
		attempt: func(context.Context, outbound.DueDelivery) error {
			stop()
			return worse
		},
		next: func(context.Context) (time.Time, error) { return time.Time{}, nil },
	})
	all := errors.Join(told...)
	if !errors.Is(all, worse) || len(told) > 2 {
		t.Errorf("%v", all)
	}
}
