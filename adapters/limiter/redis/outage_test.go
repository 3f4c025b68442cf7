package redis_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/limiter/redis"
	"github.com/sluicehq/sluice/adapters/limiter/redis/redistest"
)

// observedLimiter is a limiter whose outages are counted.
type observedLimiter struct {
	*redis.Limiter
	outages, recoveries, fallbacks atomic.Int64
	reason                         atomic.Value
}

// shortTimeout is how long the requests of these tests wait for Redis.
const shortTimeout = 100 * time.Millisecond

func observe(t *testing.T, address string) *observedLimiter {
	t.Helper()
	w := &observedLimiter{}
	opts := redis.Options{
		Prefix: "p:", Timeout: shortTimeout, Lease: time.Hour,
		OnOutage:   func(err error) { w.outages.Add(1); w.reason.Store(err.Error()) },
		OnRecovery: func() { w.recoveries.Add(1) },
		OnFallback: func() { w.fallbacks.Add(1) },
	}
	w.Limiter = openWith(t, address, opts, nil)
	return w
}

func launch(t *testing.T, args ...string) *redistest.Instance {
	t.Helper()
	instance, err := redistest.Launch(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(instance.Stop)
	return instance
}

// waitShared waits until limits are shared.
func (w *observedLimiter) waitShared(t *testing.T) {
	t.Helper()
	eventually(t, "Redis is not used", w.Shared)
}

// take fails the test on any error.
func (w *observedLimiter) take(t *testing.T, limit int) bool {
	t.Helper()
	a, err := w.Allow(t.Context(), "a", limit, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return a.Granted
}

func TestAnOutageCostsNoRequest(t *testing.T) {
	for claim, outage := range map[string]struct {
		begin func(*redistest.Instance) error
		end   func(context.Context, *redistest.Instance) error
	}{
		"a server that is gone": {
			func(in *redistest.Instance) error { in.Kill(); return nil },
			func(ctx context.Context, in *redistest.Instance) error { return in.Restart(ctx) },
		},
		"a server that does not answer": {
			func(in *redistest.Instance) error { return in.Freeze() },
			func(_ context.Context, in *redistest.Instance) error { return in.Thaw() },
		},
	} {
		t.Run(claim, func(t *testing.T) {
			instance := launch(t)
			w := observe(t, instance.URL)
			w.waitShared(t)
			w.take(t, 1)
			before := w.fallbacks.Load()
			if err := outage.begin(instance); err != nil {
				t.Fatal(err)
			}
			const limit, asked = 10, 200
			granted, started := 0, time.Now()
			for range asked {
				if w.take(t, limit) {
					granted++
				}
			}
			if took := time.Since(started); took > 20*shortTimeout {
				t.Errorf("%d requests took %s", asked, took)
			}
			if granted != limit-1 {
				t.Errorf("the process granted %d alone, not the remaining %d", granted, limit-1)
			}
			if w.outages.Load() != 1 || w.fallbacks.Load()-before != asked {
				t.Errorf("%d outages reported, %d of %d requests decided locally", w.outages.Load(), w.fallbacks.Load()-before, asked)
			}
			if err := outage.end(t.Context(), instance); err != nil {
				t.Fatal(err)
			}
			w.waitShared(t)
			instance.Kill() // again, before it has answered for a while
			w.take(t, limit)
			if err := instance.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.waitShared(t)
			if w.recoveries.Load() != 0 {
				t.Error("the recovery was reported before Redis had answered for a while")
			}
			eventually(t, "the end of the outage was not reported", func() bool {
				w.SkipRecoveryTime(t.Context())
				return w.recoveries.Load() > 0
			})
			if w.outages.Load() != 1 || w.recoveries.Load() != 1 {
				t.Errorf("%d beginnings and %d ends of one outage were reported", w.outages.Load(), w.recoveries.Load())
			}
		})
	}
}

func TestALimiterStartsWithoutRedisAndFindsItLater(t *testing.T) {
	instance := launch(t)
	instance.Kill()
	w := observe(t, instance.URL)
	if w.Shared() || w.outages.Load() != 1 {
		t.Errorf("shared %v, %d outages reported", w.Shared(), w.outages.Load())
	}
	if reason := outageReason(t, instance.URL); !strings.Contains(reason, "connect: dial unix") {
		t.Errorf("the reason is %s", reason)
	}
	if !w.take(t, 1) || w.take(t, 1) {
		t.Error("the process does not count on its own")
	}
	if err := instance.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.waitShared(t)
	eventually(t, "requests are not counted in Redis", func() bool {
		w.take(t, 100)
		return connect(t, instance.URL).number("LLEN", "p:{a}:window") > 0
	})
}

func TestAServerThatRefusesToCountIsAnOutage(t *testing.T) {
	instance := launch(t, "--maxmemory", "1", "--maxmemory-policy", "noeviction")
	w := observe(t, instance.URL)
	if w.Shared() || !w.take(t, 1) || w.outages.Load() != 1 {
		t.Errorf("shared %v, %d outages reported", w.Shared(), w.outages.Load())
	}
	if reason := outageReason(t, instance.URL); !strings.Contains(reason, "OOM") {
		t.Errorf("the reason is %s", reason)
	}
	for end := time.Now().Add(400 * time.Millisecond); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if w.Shared() { // it answers PING
			t.Fatal("the server was taken for one that counts")
		}
	}
}

func TestPlacesAreHeldAndGivenBackThroughAnOutage(t *testing.T) {
	instance := launch(t)
	w := observe(t, instance.URL)
	w.waitShared(t)
	before := enter(t, w, 2)
	instance.Kill()
	during := enter(t, w, 2)
	if !before.Acquired || !during.Acquired {
		t.Fatalf("before %v, during %v", before.Acquired, during.Acquired)
	}
	if enter(t, w, 2).Acquired {
		t.Error("a slot was given that was taken before the outage")
	}
	before.Release()
	if !enter(t, w, 2).Acquired || enter(t, w, 2).Acquired {
		t.Error("leaving did not make room for one")
	}
	if err := instance.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.waitShared(t)
	if enter(t, w, 2).Acquired {
		t.Error("a slot was given that was taken during the outage")
	}
	eventually(t, "a slot that was refused locally stays taken in Redis", func() bool { return placesTaken(t, instance.URL) == 0 })
	during.Release()
	if !enter(t, w, 2).Acquired {
		t.Error("the slot was not given back")
	}
	eventually(t, "the slot is not taken in Redis", func() bool { return placesTaken(t, instance.URL) == 1 })
}

// placesTaken counts the subject's slots in Redis.
func placesTaken(t *testing.T, address string) int64 {
	t.Helper()
	return connect(t, address).number("ZCARD", "p:{a}:places")
}

func TestARequestThatTheServerAnsweredTooLateHoldsNoPlace(t *testing.T) {
	instance := launch(t)
	w := observe(t, instance.URL)
	w.waitShared(t)
	enter(t, w, 10).Release() // now there is a connection
	if err := instance.Freeze(); err != nil {
		t.Fatal(err)
	}
	if !enter(t, w, 10).Acquired || w.fallbacks.Load() != 1 {
		t.Error("the process did not count on its own")
	}
	if err := instance.Thaw(); err != nil {
		t.Fatal(err)
	}
	w.waitShared(t)
	eventually(t, "the slot is still taken in Redis", func() bool { return placesTaken(t, instance.URL) == 0 })
}

func TestHeldPlacesAreTakenAgainWhenTheServerComesBackEmpty(t *testing.T) {
	instance := launch(t)
	w := observe(t, instance.URL)
	w.waitShared(t)
	enter(t, w, 10)
	enter(t, w, 10)
	instance.Kill()
	w.take(t, 10)
	if err := instance.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.waitShared(t)
	eventually(t, "the slots are not taken", func() bool { return placesTaken(t, instance.URL) == 2 })
}

func TestClosingDoesNotWaitForAProbe(t *testing.T) {
	mute, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	connections := make(chan net.Conn, 100)
	go func() {
		for {
			conn, err := mute.Accept()
			if err != nil {
				close(connections)
				return
			}
			connections <- conn
		}
	}()
	t.Cleanup(func() {
		_ = mute.Close()
		for conn := range connections {
			_ = conn.Close()
		}
	})
	w := observe(t, "redis://"+mute.Addr().String())
	eventually(t, "Redis is not probed", func() bool { return len(connections) == 2 })
	started := time.Now()
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(started); took > 20*shortTimeout {
		t.Errorf("closing took %s", took)
	}
}

func TestLeavingAndClosingDoNotWaitForAServerThatDoesNotAnswer(t *testing.T) {
	for claim, known := range map[string]bool{"before the outage is known": false, "when it is": true} {
		t.Run(claim, func(t *testing.T) {
			instance := launch(t)
			w := observe(t, instance.URL)
			w.waitShared(t)
			held := enter(t, w, 100)
			if err := instance.Freeze(); err != nil {
				t.Fatal(err)
			}
			if known {
				w.take(t, 1)
				eventually(t, "the outage goes unnoticed", func() bool { return !w.Shared() })
			}
			started := time.Now()
			held.Release()
			if took := time.Since(started); took > shortTimeout {
				t.Errorf("leaving took %s", took)
			}
			started = time.Now()
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			if took := time.Since(started); took > 10*shortTimeout {
				t.Errorf("closing took %s", took)
			}
			if !w.take(t, 100) {
				t.Error("a closed limiter does not count")
			}
		})
	}
}

func TestACallerThatGivesUpIsNoOutage(t *testing.T) {
	instance := launch(t)
	w := observe(t, instance.URL)
	w.waitShared(t)
	if err := instance.Freeze(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), shortTimeout/20)
	defer cancel()
	if _, err := w.Allow(ctx, "a", 1, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v", err)
	}
	if !w.Shared() || w.fallbacks.Load() != 0 {
		t.Errorf("shared %v, %d requests decided locally", w.Shared(), w.fallbacks.Load())
	}
}

func TestOneProcessGrantsTheLimitOnceAlthoughTheServerRestartsEmpty(t *testing.T) {
	const limit, asked = 100, 130
	instance := launch(t)
	w := observe(t, instance.URL)
	w.waitShared(t)
	var granted []int
	phase := func() {
		n := 0
		for range asked {
			e, err := w.Acquire(t.Context(), "a", limit, time.Minute, 10)
			if err != nil {
				t.Fatal(err)
			}
			e.Release()
			if e.Granted {
				n++
			} else if e.Remaining != 0 || e.RetryAfter <= 0 || e.RetryAfter > time.Minute || time.Until(e.Reset) < e.RetryAfter-time.Second {
				t.Fatalf("refused with %+v", e)
			}
		}
		granted = append(granted, n)
	}
	phase()
	instance.Kill()
	phase()
	if err := instance.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.waitShared(t)
	phase()
	if n := connect(t, instance.URL).number("LLEN", "p:{a}:window"); n != 0 {
		t.Errorf("%d requests that the process refused are counted in Redis", n)
	}
	if diff := cmp.Diff([]int{limit, 0, 0}, granted); diff != "" {
		t.Error(diff)
	}
}
