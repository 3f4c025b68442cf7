package redis_test

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/adapters/limiter/redis"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

var startTime = time.Date(2026, 3, 4, 6, 0, 0, 0, time.UTC)

// unreliable are processes that share a server that a test makes fail and forget.
// Their maintenance is stopped.
type unreliable struct {
	rt        *rapid.T
	server    *miniredis.Miniredis
	clock     *portstest.ManualClock
	processes []*redis.Limiter
	failing   bool
}

// checkUnreliable checks a property of two processes and an empty server.
func checkUnreliable(t *testing.T, property func(unreliable)) {
	server := miniredis.RunT(t)
	rapid.Check(t, func(rt *rapid.T) {
		w := unreliable{rt: rt, server: server, clock: &portstest.ManualClock{}}
		w.clock.Set(startTime)
		server.SetError("")
		server.FlushAll()
		for range 2 {
			l := openWith(t, "redis://"+server.Addr(), redis.Options{Timeout: longTimeout, Lease: longLease}, w.clock)
			l.StopMaintenance()
			w.processes = append(w.processes, l)
		}
		property(w)
		server.SetError("")
		for _, l := range w.processes {
			if err := l.Close(); err != nil {
				rt.Fatal(err)
			}
		}
	})
}

// fail makes every command fail.
func (w *unreliable) fail() {
	w.failing = true
	w.server.SetError("LOADING the dataset")
}

// recover ends that. It returns the processes that noticed the failure; each has
// probed the server.
func (w *unreliable) recover() (noticed []int) {
	w.failing = false
	w.server.SetError("")
	for i, l := range w.processes {
		if l.Shared() {
			continue
		}
		if l.Probe(w.rt.Context()); !l.Shared() {
			w.rt.Fatalf("process %d does not use a server that answers", i)
		}
		noticed = append(noticed, i)
	}
	return noticed
}

type grantTimes []time.Time

// within returns those of the last minute.
func (c grantTimes) within(now time.Time) grantTimes {
	for len(c) > 0 && now.Sub(c[0]) >= time.Minute {
		c = c[1:]
	}
	return c
}

// wait is how long until one more would be granted.
func (c grantTimes) wait(now time.Time, limit int) time.Duration {
	if in := c.within(now); len(in) >= limit {
		return in[len(in)-limit].Add(time.Minute).Sub(now)
	}
	return 0
}

func TestNoProcessGrantsMoreThanTheLimitWhateverHappensToTheServer(t *testing.T) {
	t.Parallel()
	checkUnreliable(t, func(w unreliable) {
		limit, now := rapid.IntRange(1, 4).Draw(w.rt, "limit"), startTime
		local, shared := make([]grantTimes, len(w.processes)), grantTimes{}
		for range rapid.IntRange(1, 40).Draw(w.rt, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 25_000).Draw(w.rt, "wait")) * time.Millisecond)
			w.clock.Set(now)
			switch rapid.SampledFrom([]string{"ask", "ask", "ask", "ask", "fail", "recover", "forget"}).Draw(w.rt, "what") {
			case "fail":
				w.fail()
			case "recover":
				w.recover()
			case "forget":
				w.server.FlushAll()
				shared = nil
			case "ask":
				i := rapid.IntRange(0, len(w.processes)-1).Draw(w.rt, "process")
				asked := []*grantTimes{&local[i]}
				if !w.failing {
					asked = append(asked, &shared)
				}
				want := expected(asked, now, limit)
				got := w.ask(i, limit)
				if got.Reset.Before(now.Add(got.RetryAfter)) || got.Reset.After(now.Add(time.Minute)) {
					w.rt.Fatalf("at %s the answer is %+v", now, got)
				}
				got.Reset = time.Time{}
				if diff := cmp.Diff(want, got); diff != "" {
					w.rt.Fatalf("process %d at %s, server failing %v: %s", i, now, w.failing, diff)
				}
			}
		}
		for i, grants := range local {
			for j := limit; j < len(grants); j++ {
				if grants[j].Sub(grants[j-limit]) < time.Minute {
					w.rt.Fatalf("process %d granted %d from %s to %s", i, limit+1, grants[j-limit], grants[j])
				}
			}
		}
	})
}

// ask sends a request with or without a slot.
func (w *unreliable) ask(process, limit int) outbound.Allowance {
	l := w.processes[process]
	if rapid.Bool().Draw(w.rt, "with a slot") {
		e, err := l.Acquire(w.rt.Context(), "a", limit, time.Minute, 1000)
		if err != nil || e.Acquired != e.Granted {
			w.rt.Fatalf("%+v, %v", e, err)
		}
		e.Release()
		return e.Allowance
	}
	a, err := l.Allow(w.rt.Context(), "a", limit, time.Minute)
	if err != nil {
		w.rt.Fatal(err)
	}
	return a
}

// expected counts a request if all counts have room for it, and returns the answer
// without its reset.
func expected(asked []*grantTimes, now time.Time, limit int) outbound.Allowance {
	want := outbound.Allowance{Granted: true, Remaining: limit}
	for _, c := range asked {
		want.Granted = want.Granted && c.wait(now, limit) == 0
	}
	for _, c := range asked {
		if want.Granted {
			*c = append(*c, now)
		}
		want.Remaining = min(want.Remaining, limit-len(c.within(now)))
		want.RetryAfter = max(want.RetryAfter, c.wait(now, limit))
	}
	if !want.Granted {
		want.Remaining = 0
	}
	return want
}

// slot was given by a process.
type slot struct {
	process  int
	sent     bool // the server was asked for it
	inRedis  bool // the server holds it
	released bool
	leave    func()
}

func TestNoProcessGivesMorePlacesThanThereAreWhateverHappensToTheServer(t *testing.T) {
	t.Parallel()
	checkUnreliable(t, func(w unreliable) {
		most := rapid.IntRange(1, 3).Draw(w.rt, "slots")
		var all []*slot
		count := func(is func(*slot) bool) (n int) {
			for _, p := range all {
				if is(p) {
					n++
				}
			}
			return n
		}
		for range rapid.IntRange(1, 40).Draw(w.rt, "steps") {
			i := rapid.IntRange(0, len(w.processes)-1).Draw(w.rt, "process")
			switch rapid.SampledFrom([]string{"enter", "enter", "release", "fail", "recover", "forget"}).Draw(w.rt, "what") {
			case "fail":
				w.fail()
			case "recover":
				for _, i := range w.recover() {
					for _, p := range all {
						if p.process == i {
							p.inRedis = p.sent && !p.released
						}
					}
				}
			case "forget":
				w.server.FlushAll()
				for _, p := range all {
					p.inRedis = false
				}
			case "enter":
				want := count(func(p *slot) bool { return p.process == i && !p.released }) < most
				if !w.failing {
					want = want && count(func(p *slot) bool { return p.inRedis }) < most
				}
				if got := w.enter(i, most); got.Acquired != want {
					w.rt.Fatalf("process %d of %d slots, server failing %v: inside is %v", i, most, w.failing, got.Acquired)
				} else if want {
					all = append(all, &slot{process: i, sent: !w.failing, inRedis: !w.failing, leave: got.Release})
				}
			case "release":
				for _, p := range all {
					if p.process == i && !p.released {
						p.leave()
						p.released, p.inRedis = true, p.inRedis && w.failing
						break
					}
				}
			}
			w.processes[i].FlushReleased(w.rt.Context()) // as maintenance does
		}
		for _, p := range all {
			p.leave()
		}
		w.recover()
		for _, l := range w.processes {
			l.FlushReleased(w.rt.Context())
		}
		for i := range w.processes {
			if !w.enter(i, most+i).Acquired { // one more than those of the processes before
				w.rt.Fatalf("all were released, and process %d of %d slots finds none", i, most+i)
			}
		}
	})
}

// enter asks for one of the slots.
func (w *unreliable) enter(process, slots int) outbound.Acquisition {
	e, err := w.processes[process].Acquire(w.rt.Context(), "a", 1_000_000, time.Minute, slots)
	if err != nil {
		w.rt.Fatal(err)
	}
	return e
}

func TestARequestThatFindsNoPlaceIsCountedLocallyToo(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	l := openWith(t, "redis://"+server.Addr(), redis.Options{Timeout: longTimeout}, nil)
	for _, inside := range []bool{true, false} {
		if e, err := l.Acquire(t.Context(), "a", 3, time.Minute, 1); err != nil || !e.Granted || e.Acquired != inside {
			t.Fatalf("%+v, %v", e, err)
		}
	}
	server.SetError("LOADING the dataset")
	for _, granted := range []bool{true, false} {
		if a, err := l.Allow(t.Context(), "a", 3, time.Minute); err != nil || a.Granted != granted {
			t.Errorf("%+v, %v", a, err)
		}
	}
}
