package memory_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/adapters/limiter/memory"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

func TestLimiter(t *testing.T) {
	portstest.Limiter(t, func(_ *testing.T, clock outbound.Clock) outbound.Limiter { return memory.New(clock) })
}

func TestLimiterOfManyUsers(t *testing.T) {
	portstest.SharedLimiter(t, func(_ *testing.T, clock outbound.Clock) func() outbound.Limiter {
		l := memory.New(clock)
		return func() outbound.Limiter { return l }
	})
}

func TestFullSaysWhatTakeWouldAnswerAndCountsNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		clock := &portstest.ManualClock{}
		asked, control := memory.New(clock), memory.New(clock)
		now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
		for range rapid.IntRange(1, 40).Draw(rt, "requests") {
			now = now.Add(time.Duration(rapid.IntRange(-90_000, 30_000).Draw(rt, "wait")) * time.Millisecond)
			clock.Set(now)
			limit := rapid.IntRange(1, 4).Draw(rt, "limit")
			refusal, full := asked.Full("a", limit, time.Minute)
			want, err := control.Allow(t.Context(), "a", limit, time.Minute)
			if err != nil || full == want.Granted || full && refusal != want {
				rt.Fatalf("full is %v with %+v, and taking answers %+v, %v", full, refusal, want, err)
			}
			if got, err := asked.Allow(t.Context(), "a", limit, time.Minute); err != nil || got != want {
				rt.Fatalf("after Full the answer is %+v, without it %+v; %v", got, want, err)
			}
		}
	})
}

func BenchmarkAllow(b *testing.B) {
	l := memory.New(system.Clock{})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := l.Allow(context.Background(), "tenant/secret", 1000, time.Minute); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkFull(b *testing.B) {
	l := memory.New(system.Clock{})
	if _, err := l.Allow(b.Context(), "tenant/secret", 1000, time.Minute); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, full := l.Full("tenant/secret", 1000, time.Minute); full {
			b.Fatal("full after one request")
		}
	}
}

func BenchmarkAllowOfManySubjects(b *testing.B) {
	l := memory.New(system.Clock{})
	names := make([]string, 10_000)
	for i := range names {
		names[i] = fmt.Sprint("tenant ", i)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := l.Allow(context.Background(), names[i%len(names)], 1000, time.Minute); err != nil {
			b.Fatal(err)
		}
	}
}

// tickingClock moves on by 100 ms each time it is read, so each of 1000 requests a
// minute is granted.
type tickingClock struct{ now time.Time }

func (c *tickingClock) Now() time.Time {
	c.now = c.now.Add(100 * time.Millisecond)
	return c.now
}

func BenchmarkAllowGranted(b *testing.B) {
	l := memory.New(&tickingClock{now: time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)})
	b.ReportAllocs()
	for b.Loop() {
		if a, err := l.Allow(context.Background(), "tenant/secret", 1000, time.Minute); err != nil || !a.Granted {
			b.Fatal(a, err)
		}
	}
}

func BenchmarkEnter(b *testing.B) {
	l := memory.New(&tickingClock{now: time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)})
	b.ReportAllocs()
	for b.Loop() {
		e, err := l.Acquire(context.Background(), "tenant/secret", 1000, time.Minute, 100)
		if err != nil || !e.Acquired {
			b.Fatal(e, err)
		}
		e.Release()
	}
}
