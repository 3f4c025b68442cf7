package directory_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

func (w *env) registry(owner tenant.ID) *node.Registry {
	w.Helper()
	found, err := w.known.Registry(w.Context(), owner)
	if err != nil {
		w.Fatal(err)
	}
	return found
}

func (w *env) configure(owner tenant.ID, change func(*tenant.Settings)) {
	w.Helper()
	w.write(func(ctx context.Context, st outbound.Stores) error {
		ten, err := st.Tenants.Get(ctx, owner)
		if err != nil {
			return err
		}
		settings := ten.Settings()
		change(&settings)
		if err := ten.Configure(settings, func(string) bool { return true }, noon); err != nil {
			return err
		}
		return st.Tenants.Update(ctx, ten)
	})
}

func TestARegistryIsTheSameUntilSomethingChangesInIt(t *testing.T) {
	w := newEnv(t)
	w.follow()
	owner, other := w.key().Tenant(), w.key().Tenant()
	custom := node.RestoreCustom(node.CustomState{
		ID: "cn_1", Tenant: owner, Type: "acme.enrich", Name: "Enrich", Version: "1.0.0", Endpoint: "https://example.com/run",
		IsActive: true, CreatedAt: noon, UpdatedAt: noon, Revision: 1,
	})
	before := w.registry(owner)
	steps := []struct {
		what   string
		change func()
		want   bool // whether the type is there
	}{
		{"a custom node", func() {
			w.write(func(ctx context.Context, st outbound.Stores) error { return st.CustomNodes.Insert(ctx, custom) })
		}, true},
		{"the language", func() { w.configure(owner, func(s *tenant.Settings) { s.Language = tenant.Spanish }) }, true},
		{"a disabled type", func() { w.configure(owner, func(s *tenant.Settings) { s.DisabledNodeTypes = []string{"wait"} }) }, true},
		{"the end of the custom node", func() {
			w.write(func(ctx context.Context, st outbound.Stores) error {
				return st.CustomNodes.Delete(ctx, tenant.All(owner), "cn_1")
			})
		}, false},
	}
	for _, step := range steps {
		elsewhere := w.registry(other)
		step.change()
		after := w.registry(owner)
		if after == before || after.Knows("acme.enrich") != step.want {
			t.Errorf("after %s it is the same: %v, and knows the type: %v", step.what, after == before, after.Knows("acme.enrich"))
		}
		w.key() // a change of somebody else
		if w.registry(owner) != after || w.registry(other) != elsewhere {
			t.Errorf("after %s it is another one each time", step.what)
		}
		before = after
	}
	if before.Knows("wait") {
		t.Error("a disabled type is there")
	}
	if _, err := w.known.Registry(t.Context(), "tenant_absent"); !errors.Is(err, domain.NotFound) {
		t.Errorf("an unknown tenant: %v", err)
	}
}

func TestTheCurrentRegistryHasWhatNothingToldOf(t *testing.T) {
	w := newEnv(t)
	owner := w.key().Tenant()
	current := func() *node.Registry {
		found, err := w.known.CurrentRegistry(t.Context(), owner)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	w.known.SetReliable(true)
	before := w.registry(owner)
	if current() != before {
		t.Error("without a change it is another one")
	}
	w.write(func(ctx context.Context, st outbound.Stores) error {
		return st.CustomNodes.Insert(ctx, node.RestoreCustom(node.CustomState{
			ID: "cn_1", Tenant: owner, Type: "acme.enrich", Name: "Enrich", Version: "1.0.0", IsActive: true, CreatedAt: noon, UpdatedAt: noon, Revision: 1,
		}))
	})
	after := current()
	if !after.Knows("acme.enrich") {
		t.Error("a custom node is missing")
	}
	if w.registry(owner) != after || current() != after {
		t.Error("it is not the one that is kept")
	}
	if _, err := w.known.CurrentRegistry(t.Context(), "tenant_absent"); !errors.Is(err, domain.NotFound) {
		t.Errorf("an unknown tenant: %v", err)
	}
}

func TestAllWhoAskForARegistryAtOnceGetTheOneThatIsKept(t *testing.T) {
	w := newEnv(t)
	w.known.SetReliable(true)
	owner := w.key().Tenant()
	const many = 8
	var reads atomic.Int64
	goOn := make(chan struct{})
	w.work.read = func(next func() error) error {
		reads.Add(1)
		<-goOn
		return next()
	}
	found := make(chan *node.Registry, many)
	for range many {
		go func() {
			r, err := w.known.Registry(t.Context(), owner)
			if err != nil {
				t.Error(err)
			}
			found <- r
		}()
	}
	w.await("a reading", func() bool { return reads.Load() > 0 })
	close(goOn)
	all := make(map[*node.Registry]bool)
	for range many {
		all[<-found] = true
	}
	if kept := w.registry(owner); len(all) != 1 || !all[kept] || reads.Load() != 1 {
		t.Errorf("%d registries were handed out, and the one that is kept: %v; it was read %d times", len(all), all[kept], reads.Load())
	}
}

func TestARegistryThatWasReadBeforeAChangeIsNotKept(t *testing.T) {
	w := newEnv(t)
	w.follow()
	owner := w.key().Tenant()
	w.work.read = func(next func() error) error {
		err := next()
		w.configure(owner, func(s *tenant.Settings) { s.DisabledNodeTypes = []string{"wait"} })
		return err
	}
	if !w.registry(owner).Knows("wait") {
		t.Error("the change came before the look-up, which tests nothing")
	}
	w.work.read = nil
	if w.registry(owner).Knows("wait") {
		t.Error("what was read before the change was kept")
	}
}

func TestWhereAVersionBelongsIsLookedUpOnce(t *testing.T) {
	w := newEnv(t) // nothing is told: it never changes
	owner, other := w.key().Tenant(), w.key().Tenant()
	w.write(func(ctx context.Context, st outbound.Stores) error {
		wf := workflow.Restore(workflow.State{ID: "wf_1", Tenant: owner, SubTenant: "team", Name: "Orders", Active: true, Revision: 1})
		ver := workflow.RestoreVersion(workflow.VersionState{ID: "wfv_1", Workflow: "wf_1", Tenant: owner, SubTenant: "team", Number: 1, Revision: 1})
		return errors.Join(st.Workflows.Insert(ctx, wf), st.Versions.Insert(ctx, ver))
	})
	for range 3 {
		found, err := w.known.VersionParent(t.Context(), tenant.All(owner), "wfv_1")
		if want := (outbound.VersionParent{Workflow: "wf_1", SubTenant: "team"}); found != want || err != nil {
			t.Errorf("it belongs to %+v, %v", found, err)
		}
	}
	w.wantReads(1)
	for range 2 {
		if _, err := w.known.VersionParent(t.Context(), tenant.All(other), "wfv_1"); !errors.Is(err, domain.NotFound) {
			t.Errorf("for another tenant: %v", err)
		}
	}
	w.wantReads(3) // that there is none may change
	if _, err := w.known.VersionParent(t.Context(), tenant.Only(owner, "other"), "wfv_1"); !errors.Is(err, domain.NotFound) {
		t.Errorf("for another sub-tenant: %v", err)
	}
	if _, err := w.known.VersionParent(t.Context(), tenant.Only(owner, "team"), "wfv_1"); err != nil {
		t.Errorf("for its sub-tenant: %v", err)
	}
}

func BenchmarkCredential(b *testing.B) {
	w := newEnv(b)
	w.known.SetReliable(true)
	hash := w.key().State().Hash
	w.find(hash)
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := w.known.Credential(context.Background(), hash); err != nil {
				b.Error(err)
			}
		}
	})
	w.wantReads(1)
}

func BenchmarkRegistry(b *testing.B) {
	w := newEnv(b)
	w.known.SetReliable(true)
	owner := w.key().Tenant()
	w.registry(owner)
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := w.known.Registry(context.Background(), owner); err != nil {
				b.Error(err)
			}
		}
	})
	w.wantReads(1)
}

func TestRegistriesAreKeptUpToABoundOfBytes(t *testing.T) {
	w := newEnv(t)
	w.known.SetReliable(true)
	define := func(owner tenant.ID, values int) {
		var schema node.Declarations
		text := `{"a":{"type":"any","default":[` + strings.Repeat("0,", values) + `0]}}`
		if err := json.Unmarshal([]byte(text), &schema); err != nil {
			t.Fatal(err)
		}
		w.write(func(ctx context.Context, st outbound.Stores) error {
			return st.CustomNodes.Insert(ctx, node.RestoreCustom(node.CustomState{
				ID: node.CustomID("cn_" + owner), Tenant: owner, Type: "acme.enrich", Name: "Enrich", Version: "1.0.0", InputSchema: schema,
				IsActive: true, CreatedAt: noon, UpdatedAt: noon, Revision: 1,
			}))
		})
	}
	kept := func(owner tenant.ID) bool {
		before := w.work.reads.Load()
		w.registry(owner)
		runtime.GC()
		w.registry(owner)
		return w.work.reads.Load() <= before+1
	}
	huge := w.key().Tenant()
	define(huge, 100_000)
	if kept(huge) {
		t.Error("one that takes a large part of the memory is kept")
	}
	inUse := w.registry(huge)
	runtime.GC()
	if w.registry(huge) != inUse {
		t.Error("one that is in use is read again")
	}
	w.known.Changed(huge)
	if w.registry(huge) == inUse {
		t.Error("one that is in use outlives a change")
	}
	runtime.KeepAlive(inUse)
	var all []*node.Registry
	var owners []tenant.ID
	for range 8 { // of 6.5 MiB each
		owner := w.key().Tenant()
		define(owner, 50_000)
		w.known.Changed(owner)
		if !kept(owner) {
			t.Error("one that fits is not kept")
		}
		all, owners = append(all, w.registry(owner)), append(owners, owner)
	}
	w.work.read = func(func() error) error { return domain.Unavailable } // from here on only what is kept is there
	still := 0
	for i, owner := range owners {
		if found, err := w.known.Registry(t.Context(), owner); err == nil && found == all[i] {
			still++
		}
	}
	if still < 3 || still > 5 {
		t.Errorf("%d of 8 are kept", still)
	}
}
