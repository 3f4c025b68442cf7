package directory_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/directory"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

// runs stores a custom node that runs at the URL.
func (w *env) runs(owner tenant.ID, id node.CustomID, t node.Type, version, url string) *node.Custom {
	w.Helper()
	n := node.RestoreCustom(node.CustomState{
		ID: id, Tenant: owner, Type: t, Name: "Score", Version: version, Endpoint: url, IsActive: true, CreatedAt: noon, UpdatedAt: noon, Revision: 1,
	})
	w.write(func(ctx context.Context, st outbound.Stores) error { return st.CustomNodes.Insert(ctx, n) })
	return n
}

func (w *env) revise(n *node.Custom, p node.CustomPatch) {
	w.Helper()
	if err := n.Revise(p, noon); err != nil {
		w.Fatal(err)
	}
	w.write(func(ctx context.Context, st outbound.Stores) error { return st.CustomNodes.Update(ctx, n) })
}

func TestACustomNodeRunsAtItsOwnEndpointElseAtItsTenants(t *testing.T) {
	w := newEnv(t)
	w.follow()
	clock := &portstest.ManualClock{}
	clock.Set(noon)
	endpoints := directory.NewEndpoints(w.known, clock)
	owner, other := w.key().Tenant(), w.key().Tenant()
	want := func(step string, kind node.Type, version, url string) {
		t.Helper()
		found, err := endpoints.Endpoint(t.Context(), owner, kind, version)
		if found.URL != url || (url == "") != errors.Is(err, domain.NotFound) {
			t.Errorf("%s: %s %s runs at %q, not %q: %v", step, kind, version, found.URL, url, err)
		}
		var coded *domain.Error
		if errors.As(err, &coded) && coded.Code != "node_endpoint_not_found" {
			t.Errorf("%s: the code is %s", step, coded.Code)
		}
	}
	want("before there is one", "score", "1.0.0", "")
	score := w.runs(owner, "cn_1", "score", "1.0.0", "https://score.example")
	shared := w.runs(owner, "cn_2", "enrich", "1.0.0", "")
	want("a custom node's own", "score", "1.0.0", "https://score.example")
	want("neither its own nor the tenant's", "enrich", "1.0.0", "")
	w.configure(owner, func(s *tenant.Settings) { s.CustomNodeEndpoint = "https://all.example" })
	want("beside the tenant's", "score", "1.0.0", "https://score.example")
	want("the tenant's", "enrich", "1.0.0", "https://all.example")
	w.revise(shared, node.CustomPatch{Endpoint: new("https://enrich.example")})
	want("one of its own from now on", "enrich", "1.0.0", "https://enrich.example")
	w.revise(score, node.CustomPatch{Version: new("1.2.0"), Endpoint: new("https://new.example")})
	w.runs(owner, "cn_3", "score", "2.0.0", "https://next.example")
	want("a version that its node has moved on from", "score", "1.0.0", "https://new.example")
	want("the version it moved on to", "score", "1.2.0", "https://new.example")
	want("a version between two", "score", "1.5.0", "https://next.example")
	want("a version above all", "score", "3.0.0", "")
	want("no version at all", "score", "newest", "")
	w.revise(score, node.CustomPatch{IsActive: new(false)})
	want("a version whose node was switched off", "score", "1.2.0", "https://next.example")
	if _, err := endpoints.Endpoint(t.Context(), other, "score", "2.0.0"); !errors.Is(err, domain.NotFound) {
		t.Errorf("another tenant's node runs: %v", err)
	}
	w.work.reads.Store(0)
	for range 3 {
		want("from memory", "score", "2.0.0", "https://next.example")
	}
	w.wantReads(0)
}

func TestTheSecretsOfAnEndpointAreThoseThatSignNow(t *testing.T) {
	w := newEnv(t)
	w.follow()
	clock := &portstest.ManualClock{}
	clock.Set(noon)
	endpoints := directory.NewEndpoints(w.known, clock)
	owner := w.key().Tenant()
	w.runs(owner, "cn_1", "score", "1.0.0", "https://score.example")
	first, second := domain.NewSigningSecret([domain.SecretEntropy]byte{1}), domain.NewSigningSecret([domain.SecretEntropy]byte{2})
	want := func(step string, secrets ...domain.SigningSecret) {
		t.Helper()
		found, err := endpoints.Endpoint(t.Context(), owner, "score", "1.0.0")
		if err != nil || len(found.Secrets) != len(secrets) {
			t.Fatalf("%s: %d secrets sign, not %d: %v", step, len(found.Secrets), len(secrets), err)
		}
		for i, s := range secrets {
			if !found.Secrets[i].Equal(s) {
				t.Errorf("%s: secret %d is another one", step, i)
			}
		}
	}
	want("before there is one")
	secret := tenant.NewNodeSecret(owner, first, noon)
	w.write(func(ctx context.Context, st outbound.Stores) error { return st.NodeSecrets.Insert(ctx, secret) })
	want("the first one", first)
	if err := secret.Rotate(second, time.Hour, noon); err != nil {
		t.Fatal(err)
	}
	w.write(func(ctx context.Context, st outbound.Stores) error { return st.NodeSecrets.Update(ctx, secret) })
	want("both while they overlap", second, first)
	clock.Set(noon.Add(time.Hour))
	want("the newer one after that", second)
}
