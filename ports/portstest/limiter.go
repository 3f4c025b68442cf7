package portstest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/ports/outbound"
)

// ManualClock is a clock that a test sets.
type ManualClock struct{ at atomic.Int64 }

var _ outbound.Clock = (*ManualClock)(nil)

// Now returns the time that was set, at first 1970.
func (c *ManualClock) Now() time.Time { return time.UnixMilli(c.at.Load()).UTC() }

// Set moves the clock.
func (c *ManualClock) Set(t time.Time) { c.at.Store(t.UnixMilli()) }

// Limiter is the contract of outbound.Limiter. open gives a limiter that nothing
// was asked of and that reads the clock.
func Limiter(t *testing.T, open func(*testing.T, outbound.Clock) outbound.Limiter) {
	start := func(t *testing.T) (outbound.Limiter, *ManualClock) {
		clock := &ManualClock{}
		clock.Set(noon)
		return open(t, clock), clock
	}
	take := func(t *testing.T, l outbound.Limiter, subject string, limit int) outbound.Allowance {
		t.Helper()
		a, err := l.Take(context.Background(), subject, limit, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}

	t.Run("an allowance counts down and says when more is to be had", func(t *testing.T) {
		l, clock := start(t)
		got := []outbound.Allowance{take(t, l, "a", 2)}
		clock.Set(noon.Add(10 * time.Second))
		got = append(got, take(t, l, "a", 2), take(t, l, "a", 2))
		want := []outbound.Allowance{
			{Granted: true, Remaining: 1, Reset: noon.Add(time.Minute)},
			{Granted: true, Remaining: 0, Reset: noon.Add(70 * time.Second), RetryAfter: 50 * time.Second},
			{Granted: false, Remaining: 0, Reset: noon.Add(70 * time.Second), RetryAfter: 50 * time.Second},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("a refused request is not counted", func(t *testing.T) {
		l, clock := start(t)
		take(t, l, "a", 1)
		for i := range 59 {
			clock.Set(noon.Add(time.Duration(i) * time.Second))
			if take(t, l, "a", 1).Granted {
				t.Fatalf("granted a second request after %d s", i)
			}
		}
		clock.Set(noon.Add(time.Minute))
		if !take(t, l, "a", 1).Granted {
			t.Error("refused although the window is empty")
		}
	})

	t.Run("subjects do not share a window", func(t *testing.T) {
		l, _ := start(t)
		take(t, l, "a", 1)
		if !take(t, l, "b", 1).Granted || take(t, l, "a", 1).Granted {
			t.Error("the subjects were mixed up")
		}
	})

	t.Run("a limit that is lowered holds at once", func(t *testing.T) {
		l, clock := start(t)
		for i := range 5 {
			clock.Set(noon.Add(time.Duration(i) * time.Second))
			take(t, l, "a", 5)
		}
		a := take(t, l, "a", 2)
		if a.Granted || a.RetryAfter != 59*time.Second { // the fourth grant, at 3 s, must leave the window
			t.Errorf("the answer is %+v", a)
		}
		clock.Set(noon.Add(63 * time.Second))
		if !take(t, l, "a", 2).Granted {
			t.Error("refused when only one request is left in the window")
		}
	})

	t.Run("in no window are more requests granted than the limit", func(t *testing.T) {
		run := 0
		rapid.Check(t, func(rt *rapid.T) {
			l, clock := start(t)
			run++
			subject, limit := fmt.Sprint("property ", run), rapid.IntRange(1, 5).Draw(rt, "limit")
			now := noon
			var granted []time.Time
			for _, step := range rapid.SliceOfN(rapid.IntRange(0, 30_000), 1, 60).Draw(rt, "steps") {
				now = now.Add(time.Duration(step) * time.Millisecond)
				clock.Set(now)
				a := take(t, l, subject, limit)
				inWindow := 0
				for _, at := range granted {
					if now.Sub(at) < time.Minute {
						inWindow++
					}
				}
				if a.Granted != (inWindow < limit) {
					rt.Fatalf("%d of %d in the window at %s: granted %v", inWindow, limit, now, a.Granted)
				}
				if a.Granted {
					granted = append(granted, now)
				}
			}
		})
	})

	t.Run("requests at the same time are never more than the places", func(t *testing.T) {
		l, _ := start(t)
		var inside, most, refused atomic.Int64
		var done sync.WaitGroup
		for range 50 {
			done.Go(func() {
				leave, ok, err := l.Enter(context.Background(), "a", 7)
				if err != nil {
					t.Error(err)
				}
				if !ok {
					refused.Add(1)
					return
				}
				n := inside.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				inside.Add(-1)
				leave()
				leave() // a second call changes nothing
			})
		}
		done.Wait()
		if most.Load() > 7 {
			t.Errorf("%d were inside at the same time", most.Load())
		}
		var leaves []func()
		for range 7 {
			leave, ok, err := l.Enter(context.Background(), "a", 7)
			if !ok || err != nil {
				t.Fatalf("a free place was refused: %v", err)
			}
			leaves = append(leaves, leave)
		}
		if _, ok, _ := l.Enter(context.Background(), "a", 7); ok {
			t.Error("an eighth place was given")
		}
		for _, leave := range slices.Backward(leaves) {
			leave()
		}
	})
}
