package portstest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/hook"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// ChangingStore is a store that reports what changes.
type ChangingStore interface {
	outbound.UnitOfWork
	outbound.Changes
}

// OpenChanges opens an empty store twice, as two processes would have it. Both are
// closed when the test ends.
type OpenChanges func(t *testing.T) (here, there ChangingStore)

// maxReportDelay is how late a change that another process made may be reported
// (outbound.Changes).
const maxReportDelay = time.Second

// ChangeRecorder records what an outbound.Watcher is notified of.
type ChangeRecorder struct {
	mu       sync.Mutex
	reliable bool
	counts   map[tenant.ID]int
	reports  int
	changed  chan struct{} // closed and replaced with every call
}

var _ outbound.Watcher = (*ChangeRecorder)(nil)

// NewChangeRecorder returns an empty one.
func NewChangeRecorder() *ChangeRecorder {
	return &ChangeRecorder{counts: make(map[tenant.ID]int), changed: make(chan struct{})}
}

// Changed counts a change of a tenant.
func (w *ChangeRecorder) Changed(owner tenant.ID) { w.note(func() { w.counts[owner]++ }) }

// SetReliable keeps whether every change is reported.
func (w *ChangeRecorder) SetReliable(all bool) {
	w.note(func() { w.reliable, w.reports = all, w.reports+1 })
}

func (w *ChangeRecorder) note(fn func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fn()
	close(w.changed)
	w.changed = make(chan struct{})
}

// Count is how often changes of a tenant were reported.
func (w *ChangeRecorder) Count(owner tenant.ID) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.counts[owner]
}

// Reliable is the last call of SetReliable.
func (w *ChangeRecorder) Reliable() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reliable
}

// ReliabilityReports counts calls of SetReliable.
func (w *ChangeRecorder) ReliabilityReports() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reports
}

// Await waits until something is true, at most for a time, and says whether it was.
func (w *ChangeRecorder) Await(most time.Duration, fn func() bool) bool {
	deadline := time.After(most)
	for {
		w.mu.Lock()
		news := w.changed
		w.mu.Unlock()
		if fn() {
			return true
		}
		select {
		case <-news:
		case <-deadline:
			return fn()
		}
	}
}

// StartWatch makes a watch follow changes, until the test ends or stop is called, which
// waits for the end. It returns once every change is reported.
func StartWatch(t *testing.T, changes outbound.Changes) (w *ChangeRecorder, stop func()) {
	t.Helper()
	w = NewChangeRecorder()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- changes.Watch(ctx, w) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("following ended with %v", err)
			}
		case <-time.After(5 * time.Second):
			t.Error("following did not end with its context")
		}
	})
	t.Cleanup(stop)
	if !w.Await(30*time.Second, w.Reliable) {
		t.Fatal("it was never told that every change is told")
	}
	return w, stop
}

// Changes is the contract of outbound.Changes.
func Changes(t *testing.T, open OpenChanges) {
	for _, c := range reportedChanges() {
		t.Run(c.claim+" is told", func(t *testing.T) {
			t.Parallel()
			here, there := open(t)
			f := fixture{t, here}
			mine, theirs := c.prepare(f), c.prepare(f)
			w, _ := StartWatch(t, here)
			if err := here.Do(t.Context(), mine.change); err != nil {
				t.Fatal(err)
			}
			if w.Count(mine.owner) == 0 {
				t.Error("it was not told before the unit returned")
			}
			if err := there.Do(t.Context(), theirs.change); err != nil {
				t.Fatal(err)
			}
			if !w.Await(maxReportDelay, func() bool { return w.Count(theirs.owner) > 0 }) {
				t.Errorf("it was not told within %s of another process's commit", maxReportDelay)
			}
		})
	}
	t.Run("the use of a key is told to nobody", func(t *testing.T) {
		t.Parallel()
		here, there := open(t)
		f := fixture{t, here}
		used, other := f.key(f.tenant().ID(), tenant.Secret, nil), f.tenant()
		w, _ := StartWatch(t, here)
		for _, store := range []ChangingStore{here, there} {
			err := store.Do(t.Context(), func(ctx context.Context, st outbound.Stores) error {
				return st.Credentials.RecordUse(ctx, used.Tenant(), used.ID(), noon)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		awaitMarker(t, there, w, other)
		if n := w.Count(used.Tenant()); n != 0 {
			t.Errorf("it was told %d times", n)
		}
	})
	t.Run("everybody who follows is told, until they stop", func(t *testing.T) {
		t.Parallel()
		here, there := open(t)
		f := fixture{t, here}
		first, second := f.tenant(), f.tenant()
		left, leave := StartWatch(t, here)
		stays, _ := StartWatch(t, here)
		elsewhere, _ := StartWatch(t, there)
		awaitMarker(t, here, left, first)
		if stays.Count(first.ID()) == 0 || !elsewhere.Await(maxReportDelay, func() bool { return elsewhere.Count(first.ID()) > 0 }) {
			t.Error("not everybody was told")
		}
		leave()
		if left.Reliable() {
			t.Error("who does not follow any more was not told so")
		}
		awaitMarker(t, here, stays, second)
		if left.Count(second.ID()) != 0 {
			t.Error("it was told of a change after it stopped")
		}
	})
	t.Run("nothing is promised to who comes too late", func(t *testing.T) {
		t.Parallel()
		here, _ := open(t)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		w := NewChangeRecorder()
		if err := here.Watch(gone, w); err != nil || w.Reliable() {
			t.Errorf("trusted is %v, %v", w.Reliable(), err)
		}
	})
}

// awaitMarker changes a tenant and waits until that is reported: what changed before
// has been reported by then.
func awaitMarker(t *testing.T, store outbound.UnitOfWork, w *ChangeRecorder, ten *tenant.Tenant) {
	t.Helper()
	err := store.Do(t.Context(), func(ctx context.Context, st outbound.Stores) error {
		mine, err := st.Tenants.Get(ctx, ten.ID())
		if err != nil {
			return err
		}
		mine.Suspend(noon)
		return st.Tenants.Update(ctx, mine)
	})
	if err != nil {
		t.Fatal(err)
	}
	if !w.Await(30*time.Second, func() bool { return w.Count(ten.ID()) > 0 }) {
		t.Fatal("it was not told of a change")
	}
}

// tellable is a change that is about to be made.
type tellable struct {
	owner  tenant.ID
	change func(context.Context, outbound.Stores) error
}

func onHook(change func(context.Context, outbound.Stores, *hook.Hook) error) func(fixture) tellable {
	return func(f fixture) tellable {
		h := f.hooked()
		return tellable{h.Tenant(), func(ctx context.Context, st outbound.Stores) error { return change(ctx, st, h) }}
	}
}

// onConnection changes a connection, which hooks may verify with.
func onConnection(change func(context.Context, outbound.Stores, *connection.Connection) error) func(fixture) tellable {
	return func(f fixture) tellable {
		c := f.connection(f.tenant().ID())
		return tellable{c.Tenant(), func(ctx context.Context, st outbound.Stores) error { return change(ctx, st, c) }}
	}
}

// reportedChanges are the changes that have to be reported. prepare stores what one needs,
// for a tenant of its own.
func reportedChanges() []struct {
	claim   string
	prepare func(f fixture) tellable
} {
	onTenant := func(change func(context.Context, outbound.Stores, *tenant.Tenant) error) func(fixture) tellable {
		return func(f fixture) tellable {
			id := f.tenant().ID()
			return tellable{id, func(ctx context.Context, st outbound.Stores) error {
				ten, err := st.Tenants.Get(ctx, id)
				if err != nil {
					return err
				}
				return change(ctx, st, ten)
			}}
		}
	}
	onNode := func(change func(context.Context, outbound.Stores, *node.Custom) error) func(fixture) tellable {
		return func(f fixture) tellable {
			n := node.RestoreCustom(f.customNode(f.tenant().ID(), "acme.a", "1.0.0", true))
			f.write(func(ctx context.Context, st outbound.Stores) error { return st.CustomNodes.Insert(ctx, n) })
			return tellable{n.Tenant(), func(ctx context.Context, st outbound.Stores) error { return change(ctx, st, n) }}
		}
	}
	return []struct {
		claim   string
		prepare func(f fixture) tellable
	}{
		{"suspending a tenant", onTenant(func(ctx context.Context, st outbound.Stores, ten *tenant.Tenant) error {
			ten.Suspend(noon)
			return st.Tenants.Update(ctx, ten)
		})},
		{"new settings", onTenant(func(ctx context.Context, st outbound.Stores, ten *tenant.Tenant) error {
			settings := ten.Settings()
			settings.Language = tenant.Spanish
			if err := ten.Configure(settings, func(string) bool { return true }, noon); err != nil {
				return err
			}
			return st.Tenants.Update(ctx, ten)
		})},
		{"the end of a tenant", onTenant(func(ctx context.Context, st outbound.Stores, ten *tenant.Tenant) error {
			return st.Tenants.Delete(ctx, ten.ID())
		})},
		{"a new key", func(f fixture) tellable {
			k := f.newKey(f.tenant().ID(), tenant.Secret, nil)
			return tellable{k.Tenant(), func(ctx context.Context, st outbound.Stores) error { return st.APIKeys.Insert(ctx, k) }}
		}},
		{"the revocation of a key", func(f fixture) tellable {
			k := f.key(f.tenant().ID(), tenant.Secret, nil)
			return tellable{k.Tenant(), func(ctx context.Context, st outbound.Stores) error {
				k.Revoke(noon)
				return st.APIKeys.Update(ctx, k)
			}}
		}},
		{"a new custom node", func(f fixture) tellable {
			n := node.RestoreCustom(f.customNode(f.tenant().ID(), "acme.a", "1.0.0", true))
			return tellable{n.Tenant(), func(ctx context.Context, st outbound.Stores) error { return st.CustomNodes.Insert(ctx, n) }}
		}},
		{"another custom node", onNode(func(ctx context.Context, st outbound.Stores, n *node.Custom) error {
			return st.CustomNodes.Update(ctx, n)
		})},
		{"the end of a custom node", onNode(func(ctx context.Context, st outbound.Stores, n *node.Custom) error {
			return st.CustomNodes.Delete(ctx, tenant.All(n.Tenant()), n.ID())
		})},
		{"the revocation of a key for a part of a tenant", func(f fixture) tellable {
			k := f.limited(f.tenant().ID(), tenant.Secret, "a", "")
			return tellable{k.Tenant(), func(ctx context.Context, st outbound.Stores) error {
				k.Revoke(noon)
				return st.APIKeys.Update(ctx, k)
			}}
		}},
		{"the revocation of embed tokens", func(f fixture) tellable {
			owner := f.limited(f.tenant().ID(), tenant.Embed, "a", "anna").Tenant()
			return tellable{owner, func(ctx context.Context, st outbound.Stores) error {
				_, err := st.EmbedTokens.RevokeAll(ctx, owner, tenant.EmbedTokenFilter{}, noon)
				return err
			}}
		}},
		{"another hook", onHook(func(ctx context.Context, st outbound.Stores, h *hook.Hook) error {
			return st.Hooks.Hooks.Update(ctx, h)
		})},
		{"the end of a hook", onHook(func(ctx context.Context, st outbound.Stores, h *hook.Hook) error {
			return st.Hooks.Hooks.Delete(ctx, tenant.All(h.Tenant()), h.Trigger())
		})},
		{"another connection", onConnection(func(ctx context.Context, st outbound.Stores, c *connection.Connection) error {
			return st.Connections.Update(ctx, c)
		})},
		{"the end of a connection", onConnection(func(ctx context.Context, st outbound.Stores, c *connection.Connection) error {
			return st.Connections.Delete(ctx, tenant.All(c.Tenant()), c.ID())
		})},
		{"the first node secret", func(f fixture) tellable {
			n := tenant.NewNodeSecret(f.tenant().ID(), secretOf("first"), noon)
			return tellable{n.Tenant(), func(ctx context.Context, st outbound.Stores) error { return st.NodeSecrets.Insert(ctx, n) }}
		}},
		{"another node secret", func(f fixture) tellable {
			n := tenant.NewNodeSecret(f.tenant().ID(), secretOf("first"), noon)
			f.insertNodeSecret(n)
			return tellable{n.Tenant(), func(ctx context.Context, st outbound.Stores) error { return st.NodeSecrets.Update(ctx, n) }}
		}},
	}
}
