package portstest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// customNode is a custom node with every member filled in.
func (f fixture) customNode(owner tenant.ID, t node.Type, version string, active bool) node.CustomState {
	f.Helper()
	var schema node.Declarations
	err := json.Unmarshal([]byte(`{"z":{"type":"string","required":true,"pattern":"^<a>&","maxLength":9,"default":"<a>&"},
		"a":{"type":"array","items":{"type":"enum","enum":["x",1.50,null]}}}`), &schema)
	if err != nil {
		f.Fatal(err)
	}
	return node.CustomState{
		ID: node.CustomID(newID("cn")), Tenant: owner, Type: t, Name: "Enrich", Description: "Looks it up", Version: version,
		InputSchema: schema, OutputSchema: schema, ConfigSchema: schema, Endpoint: "https://example.com/run", CanPause: true,
		IsActive: active, Translations: map[tenant.Language]node.Translation{tenant.Spanish: {Name: "Enriquecer"}},
		CreatedAt: noon, UpdatedAt: noon.Add(time.Second), Revision: 1,
	}
}

func (f fixture) insertCustom(st node.CustomState) error {
	f.Helper()
	return f.work.Do(f.Context(), func(ctx context.Context, stores outbound.Stores) error {
		return stores.CustomNodes.Insert(ctx, node.RestoreCustom(st))
	})
}

// CustomNodeRepository is the contract of outbound.CustomNodeRepository.
func CustomNodeRepository(t *testing.T, open OpenStore) {
	listedCustomNodes(t, open)
	definedCustomNodes(t, open)
}

func listedCustomNodes(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"every field of the active ones comes back, by type and version": func(f fixture) {
			owner := f.tenant().ID()
			b := f.customNode(owner, "acme.b", "1.0.0", true)
			a2 := f.customNode(owner, "acme.a", "2.0.0", true)
			a1 := f.customNode(owner, "acme.a", "1.0.0", true)
			inactive := f.customNode(owner, "acme.c", "1.0.0", false)
			foreign := f.customNode(f.tenant().ID(), "acme.d", "1.0.0", true)
			for _, st := range []node.CustomState{b, a2, a1, inactive, foreign} {
				if err := f.insertCustom(st); err != nil {
					f.Fatal(err)
				}
			}
			f.read(func(ctx context.Context, st outbound.Stores) error {
				found, err := st.CustomNodes.Active(ctx, tenant.All(owner))
				var got []node.CustomState
				for _, n := range found {
					got = append(got, n.State())
				}
				if diff := cmp.Diff(asText(f, a1, a2, b), asText(f, got...)); diff != "" {
					f.Error(diff)
				}
				if err != nil {
					return err
				}
				addresses, err := st.Addresses.Active(ctx, tenant.All(owner))
				var want []outbound.CustomNodeAddress
				for _, n := range []node.CustomState{a1, a2, b} {
					want = append(want, outbound.CustomNodeAddress{Type: n.Type, Version: n.Version, URL: n.Endpoint})
				}
				if diff := cmp.Diff(want, addresses); diff != "" {
					f.Error(diff)
				}
				return err
			})
		},
		"the stamp differs after each change of the tenant's custom nodes and settings": func(f fixture) {
			owner, other := f.tenant(), f.tenant()
			st := f.customNode(owner.ID(), "acme.a", "1.0.0", true)
			stamp := func() (found string) {
				f.read(func(ctx context.Context, stores outbound.Stores) (err error) {
					found, err = stores.Addresses.Stamp(ctx, tenant.All(owner.ID()))
					return err
				})
				return found
			}
			seen := map[string]bool{stamp(): true}
			for _, change := range []func(ctx context.Context, stores outbound.Stores) error{
				func(ctx context.Context, stores outbound.Stores) error {
					return stores.CustomNodes.Insert(ctx, node.RestoreCustom(st))
				},
				func(ctx context.Context, stores outbound.Stores) error {
					return stores.CustomNodes.Update(ctx, node.RestoreCustom(st))
				},
				func(ctx context.Context, stores outbound.Stores) error {
					return stores.CustomNodes.Delete(ctx, tenant.All(owner.ID()), st.ID)
				},
				func(ctx context.Context, stores outbound.Stores) error { return stores.Tenants.Update(ctx, owner) },
			} {
				f.write(change)
				before := stamp()
				if seen[before] {
					f.Errorf("the stamp %q was there before", before)
				}
				seen[before] = true
				f.write(func(ctx context.Context, stores outbound.Stores) error {
					return stores.CustomNodes.Insert(ctx, node.RestoreCustom(f.customNode(other.ID(), "acme.a", fmt.Sprintf("%d.0.0", len(seen)), true)))
				})
				if after := stamp(); after != before {
					f.Errorf("another tenant's change made %q of %q", after, before)
				}
			}
			f.wantError(f.work.Read(f.Context(), func(ctx context.Context, stores outbound.Stores) error {
				_, err := stores.Addresses.Stamp(ctx, tenant.All("tenant_absent"))
				return err
			}), domain.NotFound, "tenant_not_found")
		},
	})
}

func definedCustomNodes(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"a version stays taken when its node moves on to a higher one or is deleted": func(f fixture) {
			owner := f.tenant().ID()
			st := f.customNode(owner, "acme.a", "1.0.0", true)
			if err := f.insertCustom(st); err != nil {
				f.Fatal(err)
			}
			st.Version, st.Name = "1.1.0", "Renamed"
			f.write(func(ctx context.Context, stores outbound.Stores) error {
				return stores.CustomNodes.Update(ctx, node.RestoreCustom(st))
			})
			st.Name, st.Revision = "Again", 2 // the same version once more is no new one
			f.write(func(ctx context.Context, stores outbound.Stores) error {
				return stores.CustomNodes.Update(ctx, node.RestoreCustom(st))
			})
			f.wantError(f.insertCustom(f.customNode(owner, "acme.a", "1.0.0", true)), domain.Conflict, "custom_node_exists")
			f.write(func(ctx context.Context, stores outbound.Stores) error {
				return stores.CustomNodes.Delete(ctx, tenant.All(owner), st.ID)
			})
			f.wantError(f.insertCustom(f.customNode(owner, "acme.a", "1.1.0", true)), domain.Conflict, "custom_node_exists")
			if err := f.insertCustom(f.customNode(owner, "acme.a", "1.2.0", true)); err != nil {
				f.Error(err)
			}
		},
		"a tenant defines no more than there is room for": func(f fixture) {
			owner := f.tenant().ID()
			var large node.Declarations
			if err := json.Unmarshal([]byte(`{"a":{"type":"string","description":"`+strings.Repeat("a", node.MaxCustomNodeBytes/4)+`"}}`), &large); err != nil {
				f.Fatal(err)
			}
			sized := func(t node.Type) node.CustomState {
				st := f.customNode(owner, t, "1.0.0", true)
				st.InputSchema = large
				return st
			}
			for _, t := range []node.Type{"acme.a", "acme.b", "acme.c"} {
				if err := f.insertCustom(sized(t)); err != nil {
					f.Fatal(err)
				}
			}
			f.wantError(f.insertCustom(sized("acme.d")), domain.Conflict, "storage_exceeded")
			small := f.customNode(owner, "acme.d", "1.0.0", true)
			if err := f.insertCustom(small); err != nil {
				f.Errorf("a small one: %v", err)
			}
			small.InputSchema = large
			f.wantError(f.work.Do(f.Context(), func(ctx context.Context, stores outbound.Stores) error {
				return stores.CustomNodes.Update(ctx, node.RestoreCustom(small))
			}), domain.Conflict, "storage_exceeded")
			if err := f.insertCustom(f.customNode(f.tenant().ID(), "acme.d", "1.0.0", true)); err != nil {
				f.Errorf("one of another tenant: %v", err)
			}
		},
		"a tenant describes no more fields than there is memory for": func(f fixture) {
			owner := f.tenant().ID()
			defined := f.customNode(owner, "acme.values", "1.0.0", true)
			text := `{"a":{"type":"any","default":[` + strings.Repeat("0,", node.MaxCustomNodeBytes/8) + `0]}}`
			if err := json.Unmarshal([]byte(text), &defined.InputSchema); err != nil {
				f.Fatal(err)
			}
			f.wantError(f.insertCustom(defined), domain.Conflict, "storage_exceeded")
			small := f.customNode(owner, "acme.values", "1.0.0", true)
			if err := f.insertCustom(small); err != nil {
				f.Errorf("a small one: %v", err)
			}
			small.InputSchema = defined.InputSchema
			f.wantError(f.work.Do(f.Context(), func(ctx context.Context, stores outbound.Stores) error {
				return stores.CustomNodes.Update(ctx, node.RestoreCustom(small))
			}), domain.Conflict, "storage_exceeded")
		},
		"a type and version exists once in a tenant": func(f fixture) {
			owner := f.tenant().ID()
			if err := f.insertCustom(f.customNode(owner, "acme.a", "1.0.0", true)); err != nil {
				f.Fatal(err)
			}
			f.wantError(f.insertCustom(f.customNode(owner, "acme.a", "1.0.0", false)), domain.Conflict, "custom_node_exists")
			if err := f.insertCustom(f.customNode(f.tenant().ID(), "acme.a", "1.0.0", true)); err != nil {
				f.Errorf("another tenant may not define it: %v", err)
			}
		},
	})
}

// asText renders states for comparison, spelling of numbers included.
func asText(f fixture, states ...node.CustomState) string {
	f.Helper()
	text, err := json.MarshalIndent(states, "", " ")
	if err != nil {
		f.Fatal(err)
	}
	return string(text)
}
