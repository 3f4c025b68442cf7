package redis_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluicehq/sluice/adapters/limiter/memory"
	"github.com/sluicehq/sluice/adapters/limiter/redis"
	"github.com/sluicehq/sluice/adapters/limiter/redis/redistest"
	"github.com/sluicehq/sluice/adapters/system"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

// enter asks for one of the subject's places.
func enter(t *testing.T, l outbound.Limiter, places int) outbound.Entry {
	t.Helper()
	e, err := l.Enter(context.Background(), "a", 1_000_000, time.Minute, places)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// soon waits until something holds, which it must in a few seconds.
func soon(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for giveUp := time.Now().Add(20 * time.Second); time.Now().Before(giveUp); time.Sleep(2 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatal(what)
}

func TestThePlacesOfAProcessThatDiedComeFreeWithItsLease(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			const lease = 10 * time.Second
			noon := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
			clock := &portstest.ManualClock{}
			clock.Set(noon)
			address, opts := start(t), redis.Options{Prefix: redistest.Prefix(), Lease: lease}
			live, dead, other := joinAt(t, address, opts, clock), joinAt(t, address, opts, clock), joinAt(t, address, opts, clock)
			for _, l := range []*redis.Limiter{live, dead} {
				if !enter(t, l, 2).Inside {
					t.Fatal("a free place was refused")
				}
				l.Die() // only the test renews from here on
			}
			clock.Set(noon.Add(lease - time.Millisecond))
			if enter(t, other, 2).Inside {
				t.Error("a place came free before its lease ran out")
			}
			live.RenewAll(t.Context())
			clock.Set(noon.Add(lease))
			if !enter(t, other, 2).Inside {
				t.Error("the place of the dead process is not free")
			}
			if enter(t, other, 2).Inside {
				t.Error("the place of the live process was given away")
			}
		})
	}
}

// holderVariable holds the address of a server and the keys' prefix, and makes this
// test binary take two places and wait to be killed.
const holderVariable = "REDIS_PLACE_HOLDER"

// shortLease is for tests that wait until it runs out.
const shortLease = 500 * time.Millisecond

func holdAndWait(address string) {
	opts := redis.Options{Prefix: os.Getenv(holderVariable + "_PREFIX"), Timeout: patient, Lease: shortLease}
	l, err := redis.New(context.Background(), address, memory.New(system.Clock{}), opts)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for range 2 {
		e, err := l.Enter(context.Background(), "a", 10, time.Minute, 2)
		fmt.Println(e.Inside, err)
	}
	select {}
}

func TestThePlacesOfAKilledProcessComeFree(t *testing.T) {
	address, prefix := redistest.Start(t), redistest.Prefix()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), self)
	child.Env = append(os.Environ(), holderVariable+"="+address, holderVariable+"_PREFIX="+prefix)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadString('\n')
		if err != nil || line != "true <nil>\n" {
			t.Fatalf("the child says %q, %v", line, err)
		}
		if lines.Buffered() == 0 {
			break
		}
	}
	c := client(t, address)
	newest := func() float64 {
		place := c.texts("ZREVRANGE", prefix+"{a}:places", 0, 0, "WITHSCORES")
		if len(place) == 0 {
			return 0
		}
		end, err := strconv.ParseFloat(place[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		return end
	}
	first := newest()
	soon(t, "the child does not renew its leases", func() bool { return newest() > first })
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); err == nil {
		t.Error("the child was not killed")
	}
	l := join(t, address, redis.Options{Prefix: prefix, Lease: shortLease})
	for range 2 {
		soon(t, "the killed process still holds its places", func() bool { return enter(t, l, 2).Inside })
	}
}

func TestPlacesThatTheServerLostAreTakenAgain(t *testing.T) {
	instance, err := redistest.Launch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(instance.Stop)
	holder, other := join(t, instance.URL, redis.Options{Lease: shortLease}), join(t, instance.URL, redis.Options{Lease: shortLease})
	held := enter(t, holder, 1)
	c := client(t, instance.URL)
	c.do("FLUSHALL")
	soon(t, "the place was not taken again", func() bool {
		return c.number("ZCARD", "sluice:limit:{a}:places") == 1
	})
	if enter(t, other, 1).Inside {
		t.Error("a second place was given")
	}
	held.Leave()
	soon(t, "the place was not given back", func() bool { return enter(t, other, 1).Inside })
}

func TestClosingGivesThePlacesBackAndEndsEverything(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			address, prefix := start(t), redistest.Prefix()
			other := join(t, address, redis.Options{Prefix: prefix})
			enter(t, other, 1).Leave() // has its connections
			running := goleak.IgnoreCurrent()
			closing := join(t, address, redis.Options{Prefix: prefix})
			var held outbound.Entry
			soon(t, "no place is free", func() bool { held = enter(t, closing, 1); return held.Inside })
			if err := closing.Close(); err != nil {
				t.Error(err)
			}
			if !enter(t, other, 1).Inside {
				t.Error("the place was not given back")
			}
			held.Leave() // a late one changes nothing
			if closing.Shared() {
				t.Error("a closed limiter says that it shares its limits")
			}
			if name == "real" { // miniredis keeps a goroutine for each connection
				goleak.VerifyNone(t, running)
			}
		})
	}
}
