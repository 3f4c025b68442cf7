package redis

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

func TestOneFailureIsAnOutageUntilAProbeSucceeds(t *testing.T) {
	var b breaker
	epoch, up := b.state()
	if !up {
		t.Fatal("open from the beginning")
	}
	if opened, newOutage := b.trip(epoch); !opened || !newOutage {
		t.Errorf("the first failure: opened %v, new outage %v", opened, newOutage)
	}
	if _, up := b.state(); up {
		t.Error("closed after a failure")
	}
	if opened, newOutage := b.trip(epoch); opened || newOutage {
		t.Errorf("another request's failure: opened %v, new outage %v", opened, newOutage)
	}
	b.reset(start)
	if _, up := b.state(); !up {
		t.Error("open after a probe succeeded")
	}
	if opened, newOutage := b.trip(epoch); opened || newOutage {
		t.Errorf("a request from before the outage that fails after it: opened %v, new outage %v", opened, newOutage)
	}
	if _, up := b.state(); !up {
		t.Error("opened by a request from before")
	}
}

func TestAServerThatFailsAgainAndAgainIsOneOutage(t *testing.T) {
	var b breaker
	if b.recovered(start) {
		t.Error("recovered without an outage")
	}
	var begins []bool
	fail := func() {
		epoch, _ := b.state()
		_, first := b.trip(epoch)
		begins = append(begins, first)
	}
	fail()
	if b.recovered(start.Add(time.Hour)) {
		t.Error("recovered while open")
	}
	b.reset(start)
	fail()
	b.reset(start.Add(time.Second))
	var over []bool
	for _, after := range []time.Duration{recoveryTime, recoveryTime + time.Second, recoveryTime + 2*time.Second} {
		over = append(over, b.recovered(start.Add(after)))
	}
	if !slices.Equal(over, []bool{false, true, false}) {
		t.Errorf("recovered: %v", over)
	}
	fail()
	if !slices.Equal(begins, []bool{true, false, true}) {
		t.Errorf("outages begin: %v", begins)
	}
}

func TestProbesBecomeRarer(t *testing.T) {
	var b breaker
	b.trip(0)
	waits := []time.Duration{b.delay()}
	for range 7 {
		b.probeFailed()
		waits = append(waits, b.delay())
	}
	ms := time.Millisecond
	if want := []time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 3200 * ms, 5000 * ms, 5000 * ms}; !slices.Equal(waits, want) {
		t.Errorf("waits %v", waits)
	}
	b.reset(start)
	epoch, _ := b.state()
	b.trip(epoch)
	if got := b.delay(); got != maxProbeDelay {
		t.Errorf("the same outage is probed after %s", got)
	}
	b.reset(start)
	if !b.recovered(start.Add(recoveryTime)) {
		t.Fatal("not recovered")
	}
	epoch, _ = b.state()
	b.trip(epoch)
	if got := b.delay(); got != minProbeDelay {
		t.Errorf("a new outage is probed after %s", got)
	}
}

func TestABreakerThatIsShutDownStaysOpen(t *testing.T) {
	var b breaker
	if !b.shutDown() || b.shutDown() {
		t.Error("it was closed exactly once")
	}
	if opened, newOutage := b.trip(0); opened || newOutage {
		t.Errorf("a late failure: opened %v, new outage %v", opened, newOutage)
	}
}

func TestAFailureAfterStoppingIsNoOutage(t *testing.T) {
	l := &Limiter{opts: Options{}.withDefaults(), wakeup: make(chan struct{}, 1)}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	fails := func() error { return errors.New("it fails") }
	if l.try(stopped, fails) || !l.Shared() {
		t.Error("a failure after stopping is an outage")
	}
	if l.try(t.Context(), fails) || l.Shared() {
		t.Error("a failure before stopping is no outage")
	}
}
