package redis

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

func TestOneFailureIsAnOutageUntilATrySucceeds(t *testing.T) {
	var o outage
	era, up := o.up()
	if !up {
		t.Fatal("out from the beginning")
	}
	if out, begins := o.fail(era); !out || !begins {
		t.Errorf("the first failure: out %v, begins %v", out, begins)
	}
	if _, up := o.up(); up {
		t.Error("up after a failure")
	}
	if out, begins := o.fail(era); out || begins {
		t.Errorf("another request's failure: out %v, begins %v", out, begins)
	}
	o.restore(start)
	if _, up := o.up(); !up {
		t.Error("out after a try succeeded")
	}
	if out, begins := o.fail(era); out || begins {
		t.Errorf("a request of before the outage that fails after it: out %v, begins %v", out, begins)
	}
	if _, up := o.up(); !up {
		t.Error("out for a request of before")
	}
}

func TestAServerThatFailsAgainAndAgainIsOneOutage(t *testing.T) {
	var o outage
	if o.over(start) {
		t.Error("an outage is over that never was")
	}
	var begins []bool
	fail := func() {
		era, _ := o.up()
		_, first := o.fail(era)
		begins = append(begins, first)
	}
	fail()
	if o.over(start.Add(time.Hour)) {
		t.Error("over while Redis is out")
	}
	o.restore(start)
	fail()
	o.restore(start.Add(time.Second))
	var over []bool
	for _, after := range []time.Duration{calm, calm + time.Second, calm + 2*time.Second} {
		over = append(over, o.over(start.Add(after)))
	}
	if !slices.Equal(over, []bool{false, true, false}) {
		t.Errorf("over: %v", over)
	}
	fail()
	if !slices.Equal(begins, []bool{true, false, true}) {
		t.Errorf("outages begin: %v", begins)
	}
}

func TestTriesBecomeRarer(t *testing.T) {
	var o outage
	o.fail(0)
	waits := []time.Duration{o.probeIn()}
	for range 7 {
		o.stillOut()
		waits = append(waits, o.probeIn())
	}
	ms := time.Millisecond
	if want := []time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 3200 * ms, 5000 * ms, 5000 * ms}; !slices.Equal(waits, want) {
		t.Errorf("waits %v", waits)
	}
	o.restore(start)
	era, _ := o.up()
	o.fail(era)
	if got := o.probeIn(); got != lastProbe {
		t.Errorf("the same outage is tried after %s", got)
	}
	o.restore(start)
	if !o.over(start.Add(calm)) {
		t.Fatal("not over")
	}
	era, _ = o.up()
	o.fail(era)
	if got := o.probeIn(); got != firstProbe {
		t.Errorf("a new outage is tried after %s", got)
	}
}

func TestALimiterThatIsShutStaysSo(t *testing.T) {
	var o outage
	if !o.shut() || o.shut() {
		t.Error("it was up once")
	}
	if out, begins := o.fail(0); out || begins {
		t.Errorf("a late failure: out %v, begins %v", out, begins)
	}
}

func TestWhatFailsBecauseOfTheEndIsNoOutage(t *testing.T) {
	l := &Limiter{opts: Options{}.complete(), wake: make(chan struct{}, 1)}
	ended, end := context.WithCancel(t.Context())
	end()
	fails := func() error { return errors.New("it fails") }
	if l.ask(ended, fails) || !l.Shared() {
		t.Error("a failure after the end is an outage")
	}
	if l.ask(t.Context(), fails) || l.Shared() {
		t.Error("a failure before the end is no outage")
	}
}
