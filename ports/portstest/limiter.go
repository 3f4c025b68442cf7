package portstest

import (
	"context"
	"errors"
	"fmt"
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

// Limiter is the contract of outbound.Limiter within one process. open gives a
// limiter that nothing was asked of and that reads the clock.
func Limiter(t *testing.T, open func(*testing.T, outbound.Clock) outbound.Limiter) {
	t.Run("Window", func(t *testing.T) { limiterWindow(t, open) })
	t.Run("Clock", func(t *testing.T) { limiterClock(t, open) })
	t.Run("Slots", func(t *testing.T) { limiterPlaces(t, open) })
}

// gate is a limiter under test, and the clock that it reads.
type gate struct {
	outbound.Limiter
	clock *ManualClock
}

func openGate(t *testing.T, open func(*testing.T, outbound.Clock) outbound.Limiter) gate {
	clock := &ManualClock{}
	clock.Set(noon)
	return gate{Limiter: open(t, clock), clock: clock}
}

// at moves the clock to so long after noon.
func (g gate) at(after time.Duration) gate {
	g.clock.Set(noon.Add(after))
	return g
}

// fataler is a test, or one run of a property.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// take asks for one request in a minute.
func take(t fataler, l outbound.Limiter, subject string, limit int) outbound.Allowance {
	t.Helper()
	a, err := l.Allow(context.Background(), subject, limit, time.Minute)
	if err != nil {
		t.Fatalf("take: %v", err)
	}
	return a
}

// enter asks for one request in a minute and for a slot.
func enter(t fataler, l outbound.Limiter, subject string, limit, slots int) outbound.Acquisition {
	t.Helper()
	e, err := l.Acquire(context.Background(), subject, limit, time.Minute, slots)
	if err != nil {
		t.Fatalf("enter: %v", err)
	}
	if e.Release == nil || e.Acquired && !e.Granted {
		t.Fatalf("the answer breaks its promises: %+v", e)
	}
	return e
}

// many is a limit that a test does not reach.
const many = 1_000_000

// windowModel is what a limiter must answer, counted the slow way.
type windowModel struct{ granted []time.Time }

func (m *windowModel) take(now time.Time, limit int) outbound.Allowance {
	var within []time.Time
	for _, at := range m.granted {
		if now.Sub(at) < time.Minute {
			within = append(within, at)
		}
	}
	a := outbound.Allowance{Granted: len(within) < limit}
	if a.Granted {
		within, m.granted = append(within, now), append(m.granted, now)
	}
	a.Remaining = max(0, limit-len(within))
	a.Reset = within[len(within)-1].Add(time.Minute)
	if over := len(within) - limit; over >= 0 {
		a.RetryAfter = within[over].Add(time.Minute).Sub(now)
	}
	return a
}

func limiterWindow(t *testing.T, open func(*testing.T, outbound.Clock) outbound.Limiter) {
	t.Run("an allowance counts down and says when more is to be had", func(t *testing.T) {
		g := openGate(t, open)
		got := []outbound.Allowance{take(t, g, "a", 2)}
		g.at(10 * time.Second)
		got = append(got, take(t, g, "a", 2), take(t, g, "a", 2))
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
		g := openGate(t, open)
		take(t, g, "a", 1)
		for i := range 59 {
			if take(t, g.at(time.Duration(i)*time.Second), "a", 1).Granted {
				t.Fatalf("granted a second request after %d s", i)
			}
		}
		if !take(t, g.at(time.Minute), "a", 1).Granted {
			t.Error("refused although the window is empty")
		}
	})

	t.Run("subjects do not share a window", func(t *testing.T) {
		g := openGate(t, open)
		take(t, g, "a", 1)
		if !take(t, g, "b", 1).Granted || take(t, g, "a", 1).Granted {
			t.Error("the subjects were mixed up")
		}
	})

	t.Run("a limit that is lowered holds at once", func(t *testing.T) {
		g := openGate(t, open)
		for i := range 5 {
			take(t, g.at(time.Duration(i)*time.Second), "a", 5)
		}
		a := take(t, g, "a", 2)
		if a.Granted || a.RetryAfter != 59*time.Second { // the fourth grant, at 3 s, must leave the window
			t.Errorf("the answer is %+v", a)
		}
		if !take(t, g.at(63*time.Second), "a", 2).Granted {
			t.Error("refused when only one request is left in the window")
		}
	})

	t.Run("in no window are more requests granted than the limit", func(t *testing.T) {
		g, run := openGate(t, open), 0
		rapid.Check(t, func(rt *rapid.T) {
			run++
			subject, now := fmt.Sprint("property ", run), time.Duration(run)*time.Hour
			var model windowModel
			for range rapid.IntRange(1, 60).Draw(rt, "requests") {
				now += time.Duration(rapid.IntRange(0, 30_000).Draw(rt, "wait")) * time.Millisecond
				limit := rapid.IntRange(1, 5).Draw(rt, "limit")
				g.at(now)
				var got outbound.Allowance
				if rapid.Bool().Draw(rt, "enter") {
					e := enter(rt, g, subject, limit, many)
					e.Release()
					got = e.Allowance
				} else {
					got = take(rt, g, subject, limit)
				}
				if diff := cmp.Diff(model.take(noon.Add(now), limit), got); diff != "" {
					rt.Fatalf("after %s, limit %d: %s", now, limit, diff)
				}
			}
		})
	})

	t.Run("a caller that is gone gets its own error and is not counted", func(t *testing.T) {
		g := openGate(t, open)
		gone, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := g.Allow(gone, "a", 1, time.Minute); !errors.Is(err, context.Canceled) {
			t.Errorf("take: %v", err)
		}
		e, err := g.Acquire(gone, "a", 1, time.Minute, 1)
		if !errors.Is(err, context.Canceled) || e.Acquired || e.Release == nil {
			t.Errorf("enter: %+v, %v", e, err)
		}
		e.Release()
		if e := enter(t, g, "a", 1, 1); !e.Acquired {
			t.Errorf("the cancelled requests were counted: %+v", e)
		}
	})
}

func limiterClock(t *testing.T, open func(*testing.T, outbound.Clock) outbound.Limiter) {
	t.Run("a clock that is set back lets no more pass, and delays by its step", func(t *testing.T) {
		g := openGate(t, open)
		take(t, g.at(30*time.Second), "a", 2)
		got := []outbound.Allowance{take(t, g.at(0), "a", 2), take(t, g, "a", 2), take(t, g.at(90*time.Second-time.Millisecond), "a", 2)}
		reset := noon.Add(90 * time.Second)
		want := []outbound.Allowance{
			{Granted: true, Reset: reset, RetryAfter: 90 * time.Second},
			{Reset: reset, RetryAfter: 90 * time.Second},
			{Reset: reset, RetryAfter: time.Millisecond},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if !take(t, g.at(90*time.Second), "a", 2).Granted {
			t.Error("refused although the window is empty")
		}
	})

	t.Run("a clock that is set back by more than the window does not lock a subject out", func(t *testing.T) {
		g := openGate(t, open)
		take(t, g.at(24*time.Hour), "a", 2)
		take(t, g.at(24*time.Hour+10*time.Second), "a", 2)
		got := []outbound.Allowance{take(t, g.at(0), "a", 2), take(t, g.at(50*time.Second), "a", 2)}
		want := []outbound.Allowance{
			{Reset: noon.Add(time.Minute), RetryAfter: 50 * time.Second},
			{Granted: true, Reset: noon.Add(110 * time.Second), RetryAfter: 10 * time.Second},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func limiterPlaces(t *testing.T, open func(*testing.T, outbound.Clock) outbound.Limiter) {
	t.Run("a request that finds no slot free is counted all the same", func(t *testing.T) {
		g := openGate(t, open)
		first, second, third := enter(t, g, "a", 2, 1), enter(t, g, "a", 2, 1), enter(t, g, "a", 2, 1)
		got := []outbound.Acquisition{first, second, third}
		for i := range got {
			got[i].Release = nil
		}
		reset := noon.Add(time.Minute)
		want := []outbound.Acquisition{
			{Allowance: outbound.Allowance{Granted: true, Remaining: 1, Reset: reset}, Acquired: true},
			{Allowance: outbound.Allowance{Granted: true, Reset: reset, RetryAfter: time.Minute}},
			{Allowance: outbound.Allowance{Reset: reset, RetryAfter: time.Minute}},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("a slot is held for longer than the window", func(t *testing.T) {
		g := openGate(t, open)
		enter(t, g, "a", 1, 1)
		if e := enter(t, g.at(time.Minute), "a", 1, 1); !e.Granted || e.Acquired {
			t.Errorf("the answer is %+v", e)
		}
	})

	t.Run("leaving twice frees one slot", func(t *testing.T) {
		g := openGate(t, open)
		first := enter(t, g, "a", many, 2)
		enter(t, g, "a", many, 2)
		first.Release()
		first.Release()
		if !enter(t, g, "a", many, 2).Acquired {
			t.Error("the slot that was left is not free")
		}
		first.Release()
		if enter(t, g, "a", many, 2).Acquired {
			t.Error("leaving again freed another's slot")
		}
	})

	t.Run("who was refused frees nothing by leaving", func(t *testing.T) {
		g := openGate(t, open)
		enter(t, g, "a", many, 1)
		enter(t, g, "a", many, 1).Release()
		if enter(t, g, "a", many, 1).Acquired {
			t.Error("a second slot was given")
		}
	})

	t.Run("one after another needs one slot", func(t *testing.T) {
		g := openGate(t, open)
		for i := range 300 {
			e := enter(t, g, "a", many, 1)
			if !e.Acquired {
				t.Fatalf("request %d was refused although the one before it had left", i+1)
			}
			e.Release()
		}
	})

	t.Run("any order of entering and leaving", func(t *testing.T) {
		g, run := openGate(t, open), 0
		rapid.Check(t, func(rt *rapid.T) {
			run++
			inside := map[string][]func(){}
			for range rapid.IntRange(1, 60).Draw(rt, "steps") {
				subject := fmt.Sprint("property ", run, rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "subject"))
				held := inside[subject]
				if len(held) > 0 && rapid.Bool().Draw(rt, "leave") {
					i := rapid.IntRange(0, len(held)-1).Draw(rt, "which")
					held[i]()
					inside[subject] = append(held[:i:i], held[i+1:]...)
					continue
				}
				slots := rapid.IntRange(1, 5).Draw(rt, "slots")
				e := enter(rt, g, subject, many, slots)
				if e.Acquired != (len(held) < slots) {
					rt.Fatalf("%d inside, %d slots: %v", len(held), slots, e.Acquired)
				}
				if e.Acquired {
					inside[subject] = append(held, e.Release)
				}
			}
		})
	})

	t.Run("requests at the same time are never more than the slots", func(t *testing.T) {
		g := openGate(t, open)
		burst(t, 7, g.Limiter)
	})
}

// burst has many requests enter at once, each through one of the limiters, and sees
// to it that never more are inside than slots.
func burst(t *testing.T, slots int64, limiters ...outbound.Limiter) {
	t.Helper()
	var inside, most, entered atomic.Int64
	var done sync.WaitGroup
	for i := range 50 {
		done.Go(func() {
			for range 20 {
				e, err := limiters[i%len(limiters)].Acquire(context.Background(), "crowd", many, time.Minute, int(slots))
				if err != nil {
					t.Error(err)
					return
				}
				if !e.Acquired {
					continue
				}
				entered.Add(1)
				n := inside.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				inside.Add(-1)
				e.Release()
			}
		})
	}
	done.Wait()
	if most.Load() > slots {
		t.Errorf("%d were inside at the same time", most.Load())
	}
	if entered.Load() < slots {
		t.Errorf("only %d of 1000 were let in", entered.Load())
	}
}
