package passwords_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/budget"
	"github.com/sluicehq/sluice/adapters/passwords"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

func roomFor(hashes int64) *budget.Budget {
	return budget.NewShared(hashes*outbound.PasswordMemory, hashes*outbound.PasswordMemory)
}

func TestPasswords(t *testing.T) {
	full := roomFor(1)
	full.TryReserve("", 1)
	portstest.Passwords(t, passwords.New(roomFor(2)), passwords.New(full).Waiting(time.Millisecond))
}

func TestAHashSaysWhatItWasMadeWith(t *testing.T) {
	hash, err := passwords.New(roomFor(1)).Hash(t.Context(), "a long walk by the sea")
	if err != nil || !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("%q: %v", hash, err)
	}
}

// The first is of the reference implementation: echo -n password | argon2 somesalt -id -t 2 -k 256 -p 1
func TestAHashOfAnotherImplementationIsRead(t *testing.T) {
	const reference = "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"
	p := passwords.New(roomFor(1))
	for password, want := range map[string]bool{"password": true, "passwort": false} {
		if got, err := p.Verify(t.Context(), reference, password); err != nil || got != want {
			t.Errorf("%s: %t, %v", password, got, err)
		}
	}
	for claim, old := range map[string]string{
		"more memory than is reserved":    strings.Replace(reference, "m=256", "m=19457", 1),
		"memory without end":              strings.Replace(reference, "m=256", "m=4294967295", 1),
		"more than any number holds":      strings.Replace(reference, "m=256", "m=99999999999", 1),
		"too long":                        strings.Replace(reference, "t=2", "t=17", 1),
		"no pass":                         strings.Replace(reference, "t=2", "t=0", 1),
		"several threads":                 strings.Replace(reference, "p=1", "p=4", 1),
		"another version":                 strings.Replace(reference, "v=19", "v=16", 1),
		"another function":                strings.Replace(reference, "argon2id", "argon2i", 1),
		"hardly a key":                    reference[:strings.LastIndex(reference, "$")] + "$nf65",
		"no salt":                         strings.Replace(reference, "c29tZXNhbHQ", "", 1),
		"a number that is written longer": strings.Replace(reference, "m=256", "m=0256", 1),
	} {
		if ok, err := p.Verify(t.Context(), old, "password"); ok || domain.KindOf(err) != domain.Internal {
			t.Errorf("%s: %t, %v", claim, ok, err)
		} else if strings.Contains(err.Error(), "nf65EOg") {
			t.Errorf("%s: the error shows the hash", claim)
		}
	}
}

// counted says how much is reserved at most.
type counted struct {
	*budget.Budget
	now, most atomic.Int64
}

func (c *counted) Reserve(ctx context.Context, owner tenant.ID, amount int64) error {
	if err := c.Budget.Reserve(ctx, owner, amount); err != nil {
		return err
	}
	for now := c.now.Add(amount); ; {
		if most := c.most.Load(); now <= most || c.most.CompareAndSwap(most, now) {
			return nil
		}
	}
}

func (c *counted) Release(owner tenant.ID, amount int64) {
	c.now.Add(-amount)
	c.Budget.Release(owner, amount)
}

func TestTwoHundredWhoSignInAtOnceStayWithinTheirMemory(t *testing.T) {
	const people, atATime = 200, 2
	part := &counted{Budget: roomFor(atATime)}
	p := passwords.New(part).Waiting(5 * time.Minute)
	hash, err := p.Hash(t.Context(), "a long walk by the sea")
	if err != nil {
		t.Fatal(err)
	}
	debug.FreeOSMemory()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	// What is garbage counts as well, so the collector has to keep up, as in a gateway.
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(int64(before.Sys-before.HeapReleased) + 2*atATime*outbound.PasswordMemory))

	var right atomic.Int64
	var all sync.WaitGroup
	for i := range people {
		all.Go(func() {
			password, of := "a long walk by the sea", hash
			switch i % 4 {
			case 1:
				password = fmt.Sprint("a guess ", i)
			case 3:
				of = ""
			}
			if ok, err := p.Verify(t.Context(), of, password); err != nil {
				t.Error(err)
			} else if ok {
				right.Add(1)
			}
		})
	}
	most := watchHeap(&all)
	if right.Load() != people/2 {
		t.Errorf("%d are signed in", right.Load())
	}
	if got := part.most.Load(); got > atATime*outbound.PasswordMemory {
		t.Errorf("%d MiB are reserved at a time", got>>20)
	}
	if part.Used() != 0 {
		t.Errorf("%d bytes stay reserved", part.Used())
	}
	taken := max(0, int64(most)-int64(before.HeapInuse))
	t.Logf("%d sign in at once with %d MiB of heap at most", people, taken>>20)
	// The collector is late on a busy machine; without a bound it would be ten times as much.
	if allowed := int64(people * outbound.PasswordMemory / 10); taken > allowed {
		t.Errorf("they take %d MiB, more than %d MiB", taken>>20, allowed>>20)
	}
}

// watchHeap waits for everybody, and says how large the heap was at most.
func watchHeap(all *sync.WaitGroup) (most uint64) {
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	for tick := time.NewTicker(5 * time.Millisecond); ; {
		select {
		case <-done:
			tick.Stop()
			return most
		case <-tick.C:
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapInuse)
		}
	}
}

// The shortest of several is compared: what else the machine does only makes one longer.
func TestTheTimeDoesNotTellWhetherThereIsAnAccount(t *testing.T) {
	p := passwords.New(roomFor(1))
	hash, err := p.Hash(t.Context(), "a long walk by the sea")
	if err != nil {
		t.Fatal(err)
	}
	took := map[string][]time.Duration{}
	for range 15 {
		for _, of := range []string{hash, ""} {
			begin := time.Now()
			if _, err := p.Verify(t.Context(), of, "a wrong guess of it"); err != nil {
				t.Fatal(err)
			}
			took[of] = append(took[of], time.Since(begin))
		}
	}
	known, unknown := slices.Min(took[hash]), slices.Min(took[""])
	t.Logf("with an account %v, without %v", known, unknown)
	if ratio := float64(known) / float64(unknown); math.Abs(math.Log(ratio)) > math.Log(1.5) {
		t.Errorf("with an account it takes %v, without %v", known, unknown)
	}
}
