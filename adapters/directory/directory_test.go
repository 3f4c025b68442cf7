package directory_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/directory"
	"github.com/sluicehq/sluice/adapters/sqlstore"
	"github.com/sluicehq/sluice/adapters/sqlstore/sqlite"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// watched is a unit of work that counts what it is asked for, and may hold it up.
type watched struct {
	*sqlstore.Store
	reads, writes atomic.Int64
	inside, most  atomic.Int64                  // how many read now, and at most
	read          func(next func() error) error // where it is set, stands in front of every read
}

func (w *watched) counted(next func() error) error {
	w.reads.Add(1)
	inside := w.inside.Add(1)
	defer w.inside.Add(-1)
	for most := w.most.Load(); inside > most && !w.most.CompareAndSwap(most, inside); most = w.most.Load() {
		continue // somebody else raised it
	}
	if w.read != nil {
		return w.read(next)
	}
	return next()
}

func (w *watched) Read(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	return w.counted(func() error { return w.Store.Read(ctx, fn) })
}

func (w *watched) View(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	return w.counted(func() error { return w.Store.View(ctx, fn) })
}

func (w *watched) Do(ctx context.Context, fn func(context.Context, outbound.Stores) error) error {
	w.writes.Add(1)
	return w.Store.Do(ctx, fn)
}

// env is a store with a directory in front of it, which follows it.
type env struct {
	testing.TB
	work  *watched
	known *directory.Directory
}

func newEnv(tb testing.TB) *env {
	tb.Helper()
	store, err := sqlite.Open(tb.Context(), filepath.Join(tb.TempDir(), "sluice.db"), sqlite.Options{Volatile: true})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = store.Close() }) // nothing is pending
	if _, err := store.Migrator().Up(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	w := &env{tb, &watched{Store: store}, nil}
	w.known = directory.New(w.work)
	return w
}

// follow makes the directory follow the store until the test ends.
func (w *env) follow() {
	w.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.Context()))
	var done sync.WaitGroup
	done.Go(func() {
		if err := w.work.Watch(ctx, w.known); err != nil {
			w.Error(err)
		}
	})
	w.Cleanup(func() { cancel(); done.Wait() })
	w.await("trust", func() bool { return w.known.Stats().Reliable })
}

// await waits until something is true.
func (w *env) await(what string, fn func() bool) {
	w.Helper()
	deadline, tick := time.After(20*time.Second), time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !fn() {
		select {
		case <-tick.C:
		case <-deadline:
			w.Fatalf("waited in vain for %s", what)
		}
	}
}

var serial atomic.Int64

// key stores a key of a new tenant.
func (w *env) key() *tenant.APIKey {
	w.Helper()
	n := serial.Add(1)
	ten, err := tenant.New(tenant.ID(fmt.Sprint("tenant_", n)), tenant.Draft{Name: "Acme"}, noon)
	if err != nil {
		w.Fatal(err)
	}
	var entropy [tenant.KeyEntropy]byte
	copy(entropy[:], fmt.Sprint(n))
	k, err := tenant.NewAPIKey(tenant.KeyID(fmt.Sprint("key_", n)), ten.ID(), tenant.KeyDraft{Type: tenant.Secret, Name: "deploy"},
		tenant.NewKeyText(tenant.Secret, entropy), noon)
	if err != nil {
		w.Fatal(err)
	}
	w.write(func(ctx context.Context, st outbound.Stores) error {
		return errors.Join(st.Tenants.Insert(ctx, ten), st.APIKeys.Insert(ctx, k))
	})
	return k
}

func (w *env) write(fn func(context.Context, outbound.Stores) error) {
	w.Helper()
	if err := w.work.Store.Do(context.Background(), fn); err != nil {
		w.Fatal(err)
	}
}

func (w *env) revoke(k *tenant.APIKey) {
	w.Helper()
	k.Revoke(noon)
	w.write(func(ctx context.Context, st outbound.Stores) error { return st.APIKeys.Update(ctx, k) })
}

func (w *env) find(hash tenant.KeyHash) outbound.Credential {
	w.Helper()
	c, err := w.known.Credential(w.Context(), hash)
	if err != nil {
		w.Fatal(err)
	}
	return c
}

func (w *env) wantReads(want int64) {
	w.Helper()
	if got := w.work.reads.Load(); got != want {
		w.Errorf("the store was asked %d times, not %d", got, want)
	}
}

func unknown(n int) (hash tenant.KeyHash) {
	copy(hash[:], fmt.Sprint("unknown ", n))
	return hash
}

func TestAKeyIsLookedUpOnce(t *testing.T) {
	w := newEnv(t)
	w.follow()
	k := w.key()
	for range 3 {
		c := w.find(k.State().Hash)
		if c.Key.ID() != k.ID() || c.Tenant.ID() != k.Tenant() {
			t.Errorf("found %s of %s", c.Key.ID(), c.Tenant.ID())
		}
	}
	w.wantReads(1)
	if s := w.known.Stats(); s.Hits != 2 || s.Misses != 1 || s.Credentials != 1 {
		t.Errorf("the figures are %+v", s)
	}
}

func TestAHashThatIsNoKeysIsLookedUpOnceUntilItIsOne(t *testing.T) {
	w := newEnv(t)
	w.follow()
	k := w.key()
	w.write(func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Delete(ctx, k.Tenant()) })
	for range 3 {
		if _, err := w.known.Credential(t.Context(), k.State().Hash); !errors.Is(err, domain.NotFound) {
			t.Errorf("the error is %v", err)
		}
	}
	w.wantReads(1)
	ten, err := tenant.New(k.Tenant(), tenant.Draft{Name: "Acme"}, noon)
	if err != nil {
		t.Fatal(err)
	}
	w.write(func(ctx context.Context, st outbound.Stores) error {
		return errors.Join(st.Tenants.Insert(ctx, ten), st.APIKeys.Insert(ctx, k))
	})
	w.find(k.State().Hash)
}

func TestWhatThisProcessChangedIsKnownAtOnce(t *testing.T) {
	w := newEnv(t)
	w.follow()
	for range 50 {
		k := w.key()
		w.find(k.State().Hash)
		w.revoke(k)
		if c := w.find(k.State().Hash); c.Key.Usable(noon) {
			t.Fatal("a revoked key is usable")
		}
	}
}

func TestALookUpThatBeganBeforeAChangeIsNotKept(t *testing.T) {
	w := newEnv(t)
	w.follow()
	for what, change := range map[string]func(k *tenant.APIKey){
		"a revocation": w.revoke,
		"a loss of trust that is over": func(k *tenant.APIKey) {
			w.revoke(k)
			w.known.SetReliable(false)
			w.known.SetReliable(true)
		},
	} {
		k := w.key()
		looked, goOn := make(chan struct{}), make(chan struct{})
		w.work.read = func(next func() error) error {
			err := next()
			close(looked)
			<-goOn // as if the answer took its time
			return err
		}
		found := make(chan outbound.Credential, 1)
		go func() {
			c, err := w.known.Credential(t.Context(), k.State().Hash)
			if err != nil {
				t.Error(err)
			}
			found <- c
		}()
		<-looked
		change(k)
		close(goOn)
		if c := <-found; !c.Key.Usable(noon) {
			t.Errorf("%s: the look-up came after it, which tests nothing", what)
		}
		w.work.read = nil
		if c := w.find(k.State().Hash); c.Key.Usable(noon) {
			t.Errorf("%s: what was read before it was kept", what)
		}
	}
}

func TestWithoutTrustTheStoreIsAskedEachTime(t *testing.T) {
	w := newEnv(t)
	k := w.key()
	for range 3 {
		w.find(k.State().Hash)
		_, _ = w.known.Credential(t.Context(), unknown(1))
	}
	w.wantReads(6)
	w.known.SetReliable(true)
	w.find(k.State().Hash)
	w.find(k.State().Hash)
	w.wantReads(7)
	w.known.SetReliable(false)
	w.find(k.State().Hash)
	w.find(k.State().Hash)
	w.wantReads(9)
}

func TestWhatIsRememberedIsBounded(t *testing.T) {
	w := newEnv(t)
	w.known.SetReliable(true)
	const most = 1 << 13
	for i := range most + 100 {
		_, _ = w.known.Credential(t.Context(), unknown(i))
	}
	w.wantReads(most + 100)
	for i := range most + 100 {
		_, _ = w.known.Credential(t.Context(), unknown(i))
	}
	if again := w.work.reads.Load() - (most + 100); again < 100 || again > most {
		t.Errorf("%d of %d were asked for again: they should mostly be known, but not all", again, most+100)
	}
}

func TestAFloodOfUnknownKeysTakesFewConnections(t *testing.T) {
	w := newEnv(t)
	w.known.SetReliable(true)
	const flood, allowed = 100, 8
	goOn := make(chan struct{})
	w.work.read = func(next func() error) error { <-goOn; return next() }
	var done sync.WaitGroup
	for i := range flood {
		done.Go(func() { _, _ = w.known.Credential(t.Context(), unknown(i)) })
	}
	w.await("the look-ups", func() bool { return w.work.inside.Load() == allowed })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.known.Credential(ctx, unknown(flood)); !errors.Is(err, context.Canceled) {
		t.Errorf("a request that was given up got %v", err)
	}
	close(goOn)
	done.Wait()
	if most := w.work.most.Load(); most != allowed {
		t.Errorf("%d look-ups at the same time", most)
	}
	w.wantReads(flood)
}

func TestManyMayAskForOneKeyAtOnce(t *testing.T) {
	w := newEnv(t)
	w.known.SetReliable(true)
	k := w.key()
	var done sync.WaitGroup
	for range 200 {
		done.Go(func() {
			if c, err := w.known.Credential(t.Context(), k.State().Hash); err != nil || c.Key.ID() != k.ID() {
				t.Errorf("found %v, %v", c, err)
			}
		})
	}
	done.Wait()
	if n := w.work.reads.Load(); n > 8 {
		t.Errorf("the store was asked %d times", n)
	}
}

func TestAUseIsNotedOnceAMinuteByOneOfMany(t *testing.T) {
	w := newEnv(t)
	w.known.SetReliable(true)
	k := w.key()
	c := w.find(k.State().Hash)
	for minute := range 3 {
		var done sync.WaitGroup
		for i := range 100 {
			at := noon.Add(time.Duration(minute)*time.Minute + time.Duration(i)*500*time.Millisecond/100)
			done.Go(func() { w.known.RecordUse(t.Context(), c, at) })
		}
		done.Wait()
		w.known.RecordUse(t.Context(), c, noon.Add(time.Duration(minute)*time.Minute+50*time.Second))
		if n := w.work.writes.Load(); n != int64(minute+1) {
			t.Errorf("after %d minutes %d uses were written", minute+1, n)
		}
	}
	w.known.SetReliable(true) // forgets what it noted
	if used := w.find(k.State().Hash).Key.LastUsedAt(); used == nil || used.Before(noon.Add(2*time.Minute)) {
		t.Errorf("the last use is %v", used)
	}
	w.known.RecordUse(t.Context(), w.find(k.State().Hash), noon.Add(2*time.Minute+50*time.Second))
	if n := w.work.writes.Load(); n != 3 {
		t.Errorf("%d uses were written: one was noted a short while before", n)
	}
}
