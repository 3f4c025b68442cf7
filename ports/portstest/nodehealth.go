package portstest

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// healthOf reads what is noted of custom nodes.
func (f fixture) healthOf(owner tenant.ID, ids ...node.CustomID) (found map[node.CustomID]node.Health) {
	f.Helper()
	f.read(func(ctx context.Context, st outbound.Stores) (err error) {
		found, err = st.NodeHealth.Get(ctx, owner, ids...)
		return err
	})
	return found
}

func (f fixture) note(owner tenant.ID, id node.CustomID, h node.Health) {
	f.Helper()
	f.write(func(ctx context.Context, st outbound.Stores) error { return st.NodeHealth.Record(ctx, owner, id, h) })
}

// insertCustomNode stores a custom node with this endpoint.
func (f fixture) insertCustomNode(owner tenant.ID, t node.Type, endpoint string) node.CustomID {
	f.Helper()
	st := f.customNode(owner, t, "1.0.0", true)
	st.Endpoint = endpoint
	f.write(func(ctx context.Context, stores outbound.Stores) error {
		return stores.CustomNodes.Insert(ctx, node.RestoreCustom(st))
	})
	return st.ID
}

// NodeHealthRepository is the contract of outbound.NodeHealthRepository.
func NodeHealthRepository(t *testing.T, open OpenStore) {
	ill := node.Health{
		Endpoint: "https://example.com/run", CheckedAt: noon, Latency: 1234 * time.Millisecond, Code: "timeout", Message: "é <b> did not answer.",
	}
	well := node.Health{Endpoint: "https://example.com/run", Healthy: true, CheckedAt: noon.Add(time.Minute), Latency: 7 * time.Millisecond}
	cases(t, open, map[string]func(f fixture){
		"every field comes back, of those that were asked for": func(f fixture) {
			owner := f.tenant().ID()
			a, b, c := f.insertCustomNode(owner, "acme.a", "x"), f.insertCustomNode(owner, "acme.b", "x"), f.insertCustomNode(owner, "acme.c", "x")
			f.note(owner, a, ill)
			f.note(owner, b, well)
			f.note(owner, c, well)
			if diff := cmp.Diff(map[node.CustomID]node.Health{a: ill, b: well}, f.healthOf(owner, a, b, "cn_absent")); diff != "" {
				f.Error(diff)
			}
			if found := f.healthOf(f.tenant().ID(), a); len(found) != 0 {
				f.Errorf("another tenant sees %v", found)
			}
			if found := f.healthOf(owner); len(found) != 0 {
				f.Errorf("of none there is %v", found)
			}
		},
		"what was asked later stands, whatever comes last": func(f fixture) {
			owner := f.tenant().ID()
			id := f.insertCustomNode(owner, "acme.a", "x")
			for _, h := range []node.Health{ill, well, ill} {
				f.note(owner, id, h)
			}
			if diff := cmp.Diff(map[node.CustomID]node.Health{id: well}, f.healthOf(owner, id)); diff != "" {
				f.Error(diff)
			}
		},
		"it leaves the custom node's revision alone, and goes with it": func(f fixture) {
			owner := f.tenant().ID()
			id := f.insertCustomNode(owner, "acme.a", "x")
			f.note(owner, id, well)
			f.read(func(ctx context.Context, st outbound.Stores) error {
				n, err := st.CustomNodes.Get(ctx, tenant.All(owner), id)
				if err == nil && n.Revision() != 1 {
					f.Errorf("the revision is %d", n.Revision())
				}
				return err
			})
			f.write(func(ctx context.Context, st outbound.Stores) error {
				return st.CustomNodes.Delete(ctx, tenant.All(owner), id)
			})
			f.note(owner, id, well)
			if found := f.healthOf(owner, id); len(found) != 0 {
				f.Errorf("there is %v of a custom node that is gone", found)
			}
		},
		"the tenant's endpoint is that of the custom nodes without one of their own": func(f fixture) {
			owner, other := f.tenant().ID(), f.tenant().ID()
			shares := func(owner tenant.ID) (shares bool) {
				f.read(func(ctx context.Context, st outbound.Stores) (err error) {
					shares, err = st.NodeHealth.HasShared(ctx, owner)
					return err
				})
				return shares
			}
			own := f.insertCustomNode(owner, "acme.a", "x")
			if shares(owner) {
				f.Error("one with an endpoint of its own shares the tenant's")
			}
			b, c, theirs := f.insertCustomNode(owner, "acme.b", ""), f.insertCustomNode(owner, "acme.c", ""), f.insertCustomNode(other, "acme.b", "")
			if !shares(owner) {
				f.Error("none shares the tenant's endpoint")
			}
			f.write(func(ctx context.Context, st outbound.Stores) error {
				return st.NodeHealth.RecordShared(ctx, owner, well)
			})
			if diff := cmp.Diff(map[node.CustomID]node.Health{b: well, c: well}, f.healthOf(owner, own, b, c)); diff != "" {
				f.Error(diff)
			}
			if found := f.healthOf(other, theirs); len(found) != 0 {
				f.Errorf("another tenant's has %v", found)
			}
		},
	})
}
