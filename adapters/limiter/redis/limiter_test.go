package redis_test

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/sluicehq/sluice/adapters/limiter/memory"
	"github.com/sluicehq/sluice/adapters/limiter/redis"
	"github.com/sluicehq/sluice/adapters/limiter/redis/redistest"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

func TestMain(m *testing.M) {
	if address := os.Getenv(holderVariable); address != "" {
		holdAndWait(address)
	}
	if os.Getenv(quietVariable) != "" {
		useAbsentServer()
	}
	redistest.Main(m)
}

// servers are what the limiter is tested with.
var servers = map[string]func(*testing.T) string{
	"miniredis": func(t *testing.T) string { return "redis://" + miniredis.RunT(t).Addr() },
	"real":      func(t *testing.T) string { return redistest.Start(t) },
}

// longTimeout is too long for a busy machine to look like an outage.
const longTimeout = 30 * time.Second

// openLimiter opens a limiter whose outages fail the test.
func openLimiter(t testing.TB, address string, opts redis.Options) *redis.Limiter {
	t.Helper()
	return openAt(t, address, opts, nil)
}

// openAt does so with a clock that the scripts and the local count read.
func openAt(t testing.TB, address string, opts redis.Options, clock outbound.Clock) *redis.Limiter {
	t.Helper()
	opts.Timeout = longTimeout
	opts.OnOutage = func(err error) { t.Errorf("an outage: %v", err) }
	opts.OnFallback = func() { t.Error("a request was decided locally") }
	return openWith(t, address, opts, clock)
}

// openWith opens a limiter with an empty local count, and closes it after the test.
func openWith(t testing.TB, address string, opts redis.Options, clock outbound.Clock) *redis.Limiter {
	t.Helper()
	local := memory.New(system.Clock{})
	if clock != nil {
		local = memory.New(clock)
	}
	l, err := redis.OpenAt(context.Background(), address, local, opts, clock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return l
}

// longLease is longer than the contract uses one subject.
const longLease = time.Hour

func TestLimiter(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			address := start(t)
			portstest.Limiter(t, func(t *testing.T, clock outbound.Clock) outbound.Limiter {
				opts := redis.Options{Prefix: redistest.Prefix(), Lease: longLease}
				return openAt(t, address, opts, clock)
			})
			portstest.SharedLimiter(t, func(t *testing.T, clock outbound.Clock) func() outbound.Limiter {
				opts := redis.Options{Prefix: redistest.Prefix(), Lease: longLease}
				return func() outbound.Limiter { return openAt(t, address, opts, clock) }
			})
		})
	}
}

// grant is a request that was granted between two instants.
type grant struct{ askedAt, answeredAt time.Time }

func TestProcessesShareTheServersTime(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			address, prefix := start(t), redistest.Prefix()
			const limit, window = 20, 100 * time.Millisecond
			var mu sync.Mutex
			var grants []grant
			var done sync.WaitGroup
			end := time.Now().Add(8 * window)
			for range 2 {
				l := openLimiter(t, address, redis.Options{Prefix: prefix})
				for range 2 {
					done.Go(func() {
						for askedAt := time.Now(); askedAt.Before(end); askedAt = time.Now() {
							a, err := l.Allow(t.Context(), "a", limit, window)
							if err != nil {
								t.Error(err)
							}
							if a.Granted {
								mu.Lock()
								grants = append(grants, grant{askedAt, time.Now()})
								mu.Unlock()
							}
						}
					})
				}
			}
			done.Wait()
			slices.SortFunc(grants, func(a, b grant) int { return a.askedAt.Compare(b.askedAt) })
			for i, first := range grants {
				within := 0
				for _, g := range grants[i:] {
					if g.answeredAt.Sub(first.askedAt) < window {
						within++
					}
				}
				if within > limit {
					t.Fatalf("%d requests were granted within %s", within, window)
				}
			}
			if len(grants) <= 2*limit {
				t.Errorf("only %d requests were granted in 8 windows", len(grants))
			}
		})
	}
}

func TestTheAnswerHasTheServersTime(t *testing.T) {
	l := openLimiter(t, redistest.Start(t), redis.Options{Prefix: redistest.Prefix()})
	before := time.Now().Truncate(time.Millisecond)
	a, err := l.Allow(t.Context(), "a", 1, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	after := time.Now().Add(2 * time.Millisecond)
	if a.Reset.Before(before.Add(time.Minute)) || a.Reset.After(after.Add(time.Minute)) {
		t.Errorf("between %s and %s the window of a minute was to be empty at %s", before, after, a.Reset)
	}
	if a.RetryAfter != time.Minute || a.Reset.Location() != time.UTC {
		t.Errorf("the answer is %+v", a)
	}
}

func TestKeysExpire(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			address, prefix := start(t), redistest.Prefix()
			const limit, window, lease = 5, 50 * time.Second, 20 * time.Second
			l := openLimiter(t, address, redis.Options{Prefix: prefix, Lease: lease})
			for range 3 * limit {
				if _, err := l.Acquire(t.Context(), "a", limit, window, 2); err != nil {
					t.Fatal(err)
				}
			}
			c := connect(t, address)
			found := map[string]time.Duration{}
			keys, err := c.do("KEYS", prefix+"*").StringSlice()
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range keys {
				found[key] = time.Duration(c.number("PTTL", key)) * time.Millisecond
			}
			delete(found, prefix+"{probe}:window") // exists for some milliseconds
			for key, longest := range map[string]time.Duration{
				prefix + "{a}:window": window, prefix + "{a}:places": lease, prefix + "{probe}:places": lease,
			} {
				if left := found[key]; left <= 0 || left > longest+2*time.Millisecond {
					t.Errorf("%s expires in %s, want within %s", key, left, longest)
				}
				delete(found, key)
			}
			if len(found) > 0 {
				t.Errorf("there are other keys: %v", found)
			}
			if n := c.number("LLEN", prefix+"{a}:window"); n != limit {
				t.Errorf("%d grants are kept", n)
			}
		})
	}
}

func TestARequestIsOneRoundTrip(t *testing.T) {
	instance, err := redistest.Launch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(instance.Stop)
	l, c := openLimiter(t, instance.URL, redis.Options{}), connect(t, instance.URL)
	c.do("CONFIG", "RESETSTAT")
	const n = 50
	for range n {
		if e, err := l.Acquire(t.Context(), "a", 1000, time.Minute, 1000); err != nil || !e.Acquired {
			t.Fatalf("%+v, %v", e, err)
		}
		if _, err := l.Allow(t.Context(), "a", 1000, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	stats := c.text("INFO", "commandstats")
	_, grantTimes, _ := strings.Cut(stats, "cmdstat_evalsha:calls=")
	if calls, _, _ := strings.Cut(grantTimes, ","); calls != strconv.Itoa(2*n) {
		t.Errorf("%d requests were %s calls", 2*n, calls)
	}
	if strings.Contains(stats, "cmdstat_eval:") {
		t.Errorf("the script was sent as a whole: %s", stats)
	}
}

func TestAServerThatForgotTheScriptGetsItAgain(t *testing.T) {
	address := redistest.Start(t)
	l := openLimiter(t, address, redis.Options{Prefix: redistest.Prefix()})
	connect(t, address).do("SCRIPT", "FLUSH")
	if e, err := l.Acquire(t.Context(), "a", 1, time.Minute, 1); err != nil || !e.Acquired {
		t.Errorf("%+v, %v", e, err)
	}
}

func BenchmarkAllow(b *testing.B) {
	benchmark(b, func(ctx context.Context, l *redis.Limiter) error {
		_, err := l.Allow(ctx, "tenant/secret", 1000, time.Minute)
		return err
	})
}

func BenchmarkEnter(b *testing.B) {
	benchmark(b, func(ctx context.Context, l *redis.Limiter) error {
		e, err := l.Acquire(ctx, "tenant/secret", 1_000_000, time.Second, 100)
		e.Release()
		return err
	})
}

func benchmark(b *testing.B, do func(context.Context, *redis.Limiter) error) {
	l := openLimiter(b, redistest.Start(b), redis.Options{Prefix: redistest.Prefix()})
	b.Run("one after another", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := do(b.Context(), l); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("16 at the same time", func(b *testing.B) {
		b.ReportAllocs()
		b.SetParallelism(8)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := do(b.Context(), l); err != nil {
					b.Error(err)
				}
			}
		})
	})
}
