package redis_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
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

// enter asks for a slot.
func enter(t *testing.T, l outbound.Limiter, slots int) outbound.Acquisition {
	t.Helper()
	e, err := l.Acquire(context.Background(), "a", 1_000_000, time.Minute, slots)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// eventually fails the test when the condition stays false for long.
func eventually(t *testing.T, failure string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if condition() {
			return
		}
	}
	t.Fatal(failure)
}

func TestThePlacesOfAProcessThatDiedBecomeFreeWhenTheirLeasesEnd(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			const lease = 10 * time.Second
			noon := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
			clock := &portstest.ManualClock{}
			clock.Set(noon)
			address, opts := start(t), redis.Options{Prefix: redistest.Prefix(), Lease: lease}
			live, dead, other := openAt(t, address, opts, clock), openAt(t, address, opts, clock), openAt(t, address, opts, clock)
			for _, l := range []*redis.Limiter{live, dead} {
				if !enter(t, l, 2).Acquired {
					t.Fatal("a free slot was refused")
				}
				l.StopMaintenance()
			}
			clock.Set(noon.Add(lease - time.Millisecond))
			if enter(t, other, 2).Acquired {
				t.Error("a slot became free before its lease ran out")
			}
			live.RenewAll(t.Context())
			clock.Set(noon.Add(lease))
			if !enter(t, other, 2).Acquired {
				t.Error("the slot of the dead process is not free")
			}
			if enter(t, other, 2).Acquired {
				t.Error("the slot of the live process was given away")
			}
		})
	}
}

// holderVariable holds the address of a server and the keys' prefix, and makes this
// test binary take two slots and wait to be killed.
const holderVariable = "REDIS_PLACE_HOLDER"

// shortLease is for tests that wait until it runs out.
const shortLease = 500 * time.Millisecond

func holdAndWait(address string) {
	opts := redis.Options{Prefix: os.Getenv(holderVariable + "_PREFIX"), Timeout: longTimeout, Lease: shortLease}
	l, err := redis.New(context.Background(), address, memory.New(system.Clock{}), opts)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for range 2 {
		e, err := l.Acquire(context.Background(), "a", 10, time.Minute, 2)
		fmt.Println(e.Acquired, err)
	}
	select {}
}

func TestThePlacesOfAKilledProcessBecomeFree(t *testing.T) {
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
	c := connect(t, address)
	newest := func() float64 {
		slots, err := c.client.ZRevRangeWithScores(t.Context(), prefix+"{a}:places", 0, 0).Result()
		if err != nil {
			t.Fatal(err)
		}
		if len(slots) == 0 {
			return 0
		}
		return slots[0].Score
	}
	first := newest()
	eventually(t, "the child does not renew its leases", func() bool { return newest() > first })
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); err == nil {
		t.Error("the child was not killed")
	}
	l := openLimiter(t, address, redis.Options{Prefix: prefix, Lease: shortLease})
	for range 2 {
		eventually(t, "the killed process still holds its slots", func() bool { return enter(t, l, 2).Acquired })
	}
}

func TestPlacesThatTheServerLostAreTakenAgain(t *testing.T) {
	instance, err := redistest.Launch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(instance.Stop)
	holder, other := openLimiter(t, instance.URL, redis.Options{Lease: shortLease}), openLimiter(t, instance.URL, redis.Options{Lease: shortLease})
	held := enter(t, holder, 1)
	c := connect(t, instance.URL)
	c.do("FLUSHALL")
	eventually(t, "the slot was not taken again", func() bool {
		return c.number("ZCARD", "sluice:limit:{a}:places") == 1
	})
	if enter(t, other, 1).Acquired {
		t.Error("a second slot was given")
	}
	held.Release()
	eventually(t, "the slot was not released", func() bool { return enter(t, other, 1).Acquired })
}

func TestCloseReleasesThePlacesAndStopsEverything(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			address, prefix := start(t), redistest.Prefix()
			other := openLimiter(t, address, redis.Options{Prefix: prefix})
			enter(t, other, 1).Release() // now it has a connection
			running := goleak.IgnoreCurrent()
			closing := openLimiter(t, address, redis.Options{Prefix: prefix})
			var held outbound.Acquisition
			eventually(t, "no slot is free", func() bool { held = enter(t, closing, 1); return held.Acquired })
			if err := closing.Close(); err != nil {
				t.Error(err)
			}
			if !enter(t, other, 1).Acquired {
				t.Error("the slot was not released")
			}
			held.Release() // has no effect any more
			if closing.Shared() {
				t.Error("a closed limiter shares its limits")
			}
			if name == "real" { // miniredis keeps a goroutine for each connection
				goleak.VerifyNone(t, running)
			}
		})
	}
}
