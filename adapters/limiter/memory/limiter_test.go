package memory_test

import (
	"context"
	"fmt"
	"testing"
	"time"

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

func BenchmarkTake(b *testing.B) {
	l := memory.New(system.Clock{})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := l.Take(context.Background(), "tenant/secret", 1000, time.Minute); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkTakeOfManySubjects(b *testing.B) {
	l := memory.New(system.Clock{})
	names := make([]string, 10_000)
	for i := range names {
		names[i] = fmt.Sprint("tenant ", i)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := l.Take(context.Background(), names[i%len(names)], 1000, time.Minute); err != nil {
			b.Fatal(err)
		}
	}
}

// hasty is a clock that goes 100 ms on each time it is read, so that of 1000 requests
// a minute each is granted.
type hasty struct{ now time.Time }

func (h *hasty) Now() time.Time {
	h.now = h.now.Add(100 * time.Millisecond)
	return h.now
}

func BenchmarkTakeGranted(b *testing.B) {
	l := memory.New(&hasty{now: time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)})
	b.ReportAllocs()
	for b.Loop() {
		if a, err := l.Take(context.Background(), "tenant/secret", 1000, time.Minute); err != nil || !a.Granted {
			b.Fatal(a, err)
		}
	}
}

func BenchmarkEnter(b *testing.B) {
	l := memory.New(&hasty{now: time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)})
	b.ReportAllocs()
	for b.Loop() {
		e, err := l.Enter(context.Background(), "tenant/secret", 1000, time.Minute, 100)
		if err != nil || !e.Inside {
			b.Fatal(e, err)
		}
		e.Leave()
	}
}
