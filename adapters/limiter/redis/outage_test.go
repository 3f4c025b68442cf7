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

// watched is a limiter whose outages are counted.
type watched struct {
	*redis.Limiter
	warned, restored, fellBack atomic.Int64
	reason                     atomic.Value
}

// impatient is how long the requests of these tests wait for Redis.
const impatient = 100 * time.Millisecond

func watch(t *testing.T, address string) *watched {
	t.Helper()
	w := &watched{}
	opts := redis.Options{
		Prefix: "p:", Timeout: impatient, Lease: time.Hour,
		Warn:     func(err error) { w.warned.Add(1); w.reason.Store(err.Error()) },
		Restored: func() { w.restored.Add(1) },
		FellBack: func() { w.fellBack.Add(1) },
	}
	w.Limiter = joinWith(t, address, opts, nil)
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

// shared waits until limits are shared.
func (w *watched) shared(t *testing.T) {
	t.Helper()
	soon(t, "Redis is not used", w.Shared)
}

// take asks once and fails on any error.
func (w *watched) take(t *testing.T, limit int) bool {
	t.Helper()
	a, err := w.Take(t.Context(), "a", limit, time.Minute)
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
			w := watch(t, instance.URL)
			w.shared(t)
			w.take(t, 1)
			before := w.fellBack.Load()
			if err := outage.begin(instance); err != nil {
				t.Fatal(err)
			}
			const limit, asked = 10, 200
			granted, began := 0, time.Now()
			for range asked {
				if w.take(t, limit) {
					granted++
				}
			}
			if took := time.Since(began); took > 20*impatient {
				t.Errorf("%d requests took %s", asked, took)
			}
			if granted != limit-1 {
				t.Errorf("the process granted %d alone, not the %d that were left", granted, limit-1)
			}
			if w.warned.Load() != 1 || w.fellBack.Load()-before != asked {
				t.Errorf("%d warnings, %d of %d requests counted by the process", w.warned.Load(), w.fellBack.Load()-before, asked)
			}
			if err := outage.end(t.Context(), instance); err != nil {
				t.Fatal(err)
			}
			w.shared(t)
			instance.Kill() // again, before it has answered for a while
			w.take(t, limit)
			if err := instance.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.shared(t)
			if w.restored.Load() != 0 {
				t.Error("the outage was over before Redis had answered for a while")
			}
			soon(t, "the end of the outage was not told", func() bool {
				w.Calmly(t.Context())
				return w.restored.Load() > 0
			})
			if w.warned.Load() != 1 || w.restored.Load() != 1 {
				t.Errorf("told of %d beginnings and %d ends of one outage", w.warned.Load(), w.restored.Load())
			}
		})
	}
}

func TestAGatewayStartsWithoutRedisAndFindsItLater(t *testing.T) {
	instance := launch(t)
	instance.Kill()
	w := watch(t, instance.URL)
	if w.Shared() || w.warned.Load() != 1 {
		t.Errorf("shared %v, %d warnings", w.Shared(), w.warned.Load())
	}
	if !w.take(t, 1) || w.take(t, 1) {
		t.Error("the process does not count on its own")
	}
	if err := instance.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.shared(t)
	soon(t, "requests are not counted in Redis", func() bool {
		w.take(t, 100)
		return client(t, instance.URL).number("LLEN", "p:{a}:window") > 0
	})
}

func TestAServerThatRefusesToCountIsAnOutage(t *testing.T) {
	instance := launch(t, "--maxmemory", "1", "--maxmemory-policy", "noeviction")
	w := watch(t, instance.URL)
	if w.Shared() || !w.take(t, 1) || w.warned.Load() != 1 {
		t.Errorf("shared %v, %d warnings", w.Shared(), w.warned.Load())
	}
	if reason := w.reason.Load().(string); !strings.Contains(reason, "OOM") {
		t.Errorf("the reason is %s", reason)
	}
	for end := time.Now().Add(400 * time.Millisecond); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if w.Shared() { // a server that answers does not yet count
			t.Fatal("the server was taken for one that counts")
		}
	}
}

func TestPlacesAreHeldAndGivenBackThroughAnOutage(t *testing.T) {
	instance := launch(t)
	w := watch(t, instance.URL)
	w.shared(t)
	before := enter(t, w, 2)
	instance.Kill()
	during := enter(t, w, 2)
	if !before.Inside || !during.Inside {
		t.Fatalf("before %v, during %v", before.Inside, during.Inside)
	}
	if enter(t, w, 2).Inside {
		t.Error("a place was given that was taken before the outage")
	}
	before.Leave()
	if !enter(t, w, 2).Inside || enter(t, w, 2).Inside {
		t.Error("leaving did not make room for one")
	}
	if err := instance.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.shared(t)
	if enter(t, w, 2).Inside {
		t.Error("a place was given that was taken during the outage")
	}
	soon(t, "a place that was refused stays taken in Redis", func() bool { return held(t, instance.URL) == 0 })
	during.Leave()
	if !enter(t, w, 2).Inside {
		t.Error("the place was not given back")
	}
	soon(t, "Redis is not told of the place", func() bool { return held(t, instance.URL) == 1 })
}

// held says how many places of the subject are taken in Redis.
func held(t *testing.T, address string) int64 {
	t.Helper()
	return client(t, address).number("ZCARD", "p:{a}:places")
}

func TestARequestThatTheServerAnsweredTooLateHoldsNoPlace(t *testing.T) {
	instance := launch(t)
	w := watch(t, instance.URL)
	w.shared(t)
	enter(t, w, 10).Leave() // has a connection
	if err := instance.Freeze(); err != nil {
		t.Fatal(err)
	}
	if !enter(t, w, 10).Inside || w.fellBack.Load() != 1 {
		t.Error("the process did not count on its own")
	}
	if err := instance.Thaw(); err != nil {
		t.Fatal(err)
	}
	w.shared(t)
	soon(t, "the place is still taken in Redis", func() bool { return held(t, instance.URL) == 0 })
}

func TestAServerThatComesBackEmptyLearnsAtOnceWhichPlacesAreTaken(t *testing.T) {
	instance := launch(t)
	w := watch(t, instance.URL)
	w.shared(t)
	enter(t, w, 10)
	enter(t, w, 10)
	instance.Kill()
	w.take(t, 10)
	if err := instance.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.shared(t)
	soon(t, "the places are not taken", func() bool { return held(t, instance.URL) == 2 })
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
	w := watch(t, "redis://"+mute.Addr().String())
	soon(t, "Redis is not probed", func() bool { return len(connections) == 2 })
	began := time.Now()
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 20*impatient {
		t.Errorf("closing took %s", took)
	}
}

func TestLeavingAndClosingDoNotWaitForAServerThatDoesNotAnswer(t *testing.T) {
	for claim, known := range map[string]bool{"before the outage is known": false, "when it is": true} {
		t.Run(claim, func(t *testing.T) {
			instance := launch(t)
			w := watch(t, instance.URL)
			w.shared(t)
			held := enter(t, w, 100)
			if err := instance.Freeze(); err != nil {
				t.Fatal(err)
			}
			if known {
				w.take(t, 1)
				soon(t, "the outage goes unnoticed", func() bool { return !w.Shared() })
			}
			began := time.Now()
			held.Leave()
			if took := time.Since(began); took > impatient {
				t.Errorf("leaving took %s", took)
			}
			began = time.Now()
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took > 10*impatient {
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
	w := watch(t, instance.URL)
	w.shared(t)
	if err := instance.Freeze(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), impatient/20)
	defer cancel()
	if _, err := w.Take(ctx, "a", 1, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v", err)
	}
	if !w.Shared() || w.fellBack.Load() != 0 {
		t.Errorf("shared %v, %d requests counted by the process", w.Shared(), w.fellBack.Load())
	}
}

func TestOneProcessGrantsTheLimitOnceThoughTheServerStopsAndStartsEmpty(t *testing.T) {
	const limit, asked = 100, 130
	instance := launch(t)
	w := watch(t, instance.URL)
	w.shared(t)
	var granted []int
	phase := func() {
		n := 0
		for range asked {
			e, err := w.Enter(t.Context(), "a", limit, time.Minute, 10)
			if err != nil {
				t.Fatal(err)
			}
			e.Leave()
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
	w.shared(t)
	phase()
	if n := client(t, instance.URL).number("LLEN", "p:{a}:window"); n != 0 {
		t.Errorf("%d requests that the process refused are counted in Redis", n)
	}
	if diff := cmp.Diff([]int{limit, 0, 0}, granted); diff != "" {
		t.Error(diff)
	}
}
