package portstest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/ports/outbound"
)

// SharedLimiter is the contract of outbound.Limiter between processes that share
// their limits. open gives the way to join one empty set of limits: each call of join
// is another process, and all of them read the clock.
func SharedLimiter(t *testing.T, open func(*testing.T, outbound.Clock) (join func() outbound.Limiter)) {
	start := func(t *testing.T) (processes []outbound.Limiter, clock *ManualClock) {
		clock = &ManualClock{}
		clock.Set(noon)
		join := open(t, clock)
		return []outbound.Limiter{join(), join(), join()}, clock
	}

	t.Run("in no window are more requests granted than the limit, whoever asks", func(t *testing.T) {
		processes, clock := start(t)
		run := 0
		rapid.Check(t, func(rt *rapid.T) {
			run++
			subject, now := fmt.Sprint("property ", run), noon.Add(time.Duration(run)*time.Hour)
			var model windowModel
			for range rapid.IntRange(1, 60).Draw(rt, "requests") {
				now = now.Add(time.Duration(rapid.IntRange(0, 30_000).Draw(rt, "wait")) * time.Millisecond)
				clock.Set(now)
				l, limit := rapid.SampledFrom(processes).Draw(rt, "process"), rapid.IntRange(1, 5).Draw(rt, "limit")
				if diff := cmp.Diff(model.take(now, limit), take(rt, l, subject, limit)); diff != "" {
					rt.Fatalf("at %s, limit %d: %s", now, limit, diff)
				}
			}
		})
	})

	t.Run("all at once they are granted the limit exactly", func(t *testing.T) {
		processes, clock := start(t)
		const limit, asked = 40, 25 // by each of six goroutines at each instant
		random, now := rand.New(rand.NewPCG(1, 2)), noon
		var granted []time.Time
		for range 20 {
			now = now.Add(time.Duration(random.IntN(25_000)) * time.Millisecond)
			clock.Set(now)
			free := limit
			for _, at := range granted {
				if now.Sub(at) < time.Minute {
					free--
				}
			}
			got := takeAtOnce(t, processes, asked, limit)
			if got != free {
				t.Fatalf("at %s %d were granted, not the %d that were left", now, got, free)
			}
			for range got {
				granted = append(granted, now)
			}
		}
	})

	t.Run("a slot taken through one process is not free for another until it is left", func(t *testing.T) {
		processes, _ := start(t)
		held := []outbound.Acquisition{enter(t, processes[0], "a", many, 2), enter(t, processes[1], "a", many, 2)}
		if !held[0].Acquired || !held[1].Acquired {
			t.Fatalf("a free slot was refused: %+v", held)
		}
		for i, l := range processes {
			if enter(t, l, "a", many, 2).Acquired {
				t.Errorf("process %d gave a third slot", i)
			}
		}
		held[0].Release()
		enterSoon(t, processes[2], "a", 2)
		if enter(t, processes[0], "a", many, 2).Acquired {
			t.Error("one slot left made room for two")
		}
	})

	t.Run("leaving twice frees no slot that another process took meanwhile", func(t *testing.T) {
		processes, _ := start(t)
		first := enter(t, processes[0], "a", many, 1)
		first.Release()
		enterSoon(t, processes[1], "a", 1)
		first.Release()
		for range 100 {
			for i, l := range processes {
				if enter(t, l, "a", many, 1).Acquired {
					t.Fatalf("process %d gave a second slot", i)
				}
			}
		}
	})

	t.Run("requests at the same time are never more than the slots", func(t *testing.T) {
		processes, _ := start(t)
		burst(t, 7, processes...)
	})
}

// takeAtOnce asks all processes from two goroutines each and returns how many
// requests were granted.
func takeAtOnce(t *testing.T, processes []outbound.Limiter, each, limit int) int {
	t.Helper()
	var granted atomic.Int64
	var done sync.WaitGroup
	for i := range 2 * len(processes) {
		done.Go(func() {
			for range each {
				a, err := processes[i%len(processes)].Allow(context.Background(), "at once", limit, time.Minute)
				if err != nil {
					t.Error(err)
				}
				if a.Granted {
					granted.Add(1)
				}
			}
		})
	}
	done.Wait()
	return int(granted.Load())
}

// enterSoon enters as soon as a slot is free, which it must be in a moment.
func enterSoon(t *testing.T, l outbound.Limiter, subject string, slots int) outbound.Acquisition {
	t.Helper()
	for giveUp := time.Now().Add(10 * time.Second); time.Now().Before(giveUp); {
		if e := enter(t, l, subject, many, slots); e.Acquired {
			return e
		}
	}
	t.Fatal("a slot that was left did not become free")
	return outbound.Acquisition{}
}
