package httpapi

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
)

// registryOf is the registry of a tenant without the types that are named.
func registryOf(owner tenant.ID, disabled ...string) *node.Registry {
	registry := node.RegistryFor(owner, tenant.English, disabled, nil)
	return &registry
}

// types reads the node types off an answer.
func types(t *testing.T, text []byte) map[string]bool {
	t.Helper()
	var body struct {
		Nodes []struct{ Type string }
		Total int
	}
	if err := json.Unmarshal(text, &body); err != nil {
		t.Fatal(err)
	}
	all := make(map[string]bool)
	for _, n := range body.Nodes {
		all[n.Type] = true
	}
	if len(all) != body.Total {
		t.Errorf("the total is %d of %d", body.Total, len(all))
	}
	return all
}

func render(t *testing.T, r *registries, owner tenant.ID, of *node.Registry) []byte {
	t.Helper()
	text, err := r.rendered(owner, of)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestARegistryIsRenderedOnce(t *testing.T) {
	var r registries
	whole := registryOf("tenant_1")
	first, again := render(t, &r, "tenant_1", whole), render(t, &r, "tenant_1", whole)
	if &first[0] != &again[0] {
		t.Error("the same registry was rendered twice")
	}
	if !types(t, first)["wait"] {
		t.Errorf("the answer is %s", first)
	}
}

func TestARegistryThatChangedIsRenderedAgain(t *testing.T) {
	var r registries
	render(t, &r, "tenant_1", registryOf("tenant_1"))
	text := render(t, &r, "tenant_1", registryOf("tenant_1", "wait"))
	if found := types(t, text); found["wait"] || !found["condition"] {
		t.Errorf("the answer is %s", text)
	}
	if !types(t, render(t, &r, "tenant_2", registryOf("tenant_2")))["wait"] {
		t.Error("a tenant got the registry of another one")
	}
}

// A request that was handed a registry before it changed may be slower than one that
// was handed the next.
func TestALateRequestDoesNotBringAnOldRegistryBack(t *testing.T) {
	var r registries
	before, after := registryOf("tenant_1"), registryOf("tenant_1", "wait")
	var done sync.WaitGroup
	for i := range 64 {
		done.Go(func() {
			of := []*node.Registry{before, after}[i%2]
			text, err := r.rendered("tenant_1", of)
			if err != nil || types(t, text)["wait"] != (of == before) {
				t.Errorf("it got %s, %v", text, err)
			}
		})
	}
	done.Wait()
	if types(t, render(t, &r, "tenant_1", after))["wait"] {
		t.Error("the old registry is answered")
	}
}

func TestRenderedRegistriesAreBounded(t *testing.T) {
	var r registries
	shared := registryOf("tenant_1")
	for i := range maxRegistries + 2 {
		render(t, &r, tenant.ID(fmt.Sprint("tenant_", i)), shared)
		if len(r.kept) > maxRegistries {
			t.Fatalf("%d are kept", len(r.kept))
		}
	}
}

func BenchmarkRegistryAnswer(b *testing.B) {
	var r registries
	whole := registryOf("tenant_1")
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := r.rendered("tenant_1", whole); err != nil {
				b.Error(err)
			}
		}
	})
}
