package portstest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// nodeSecretText renders a record for comparison, which the secrets refuse to.
func nodeSecretText(n *tenant.NodeSecret) []any {
	st := n.State()
	all := []any{st.Tenant, st.CreatedAt, st.Revision, st.Secrets.Current.Reveal()}
	for _, r := range st.Secrets.Retired {
		all = append(all, r.Secret.Reveal(), r.Until)
	}
	return all
}

func (f fixture) nodeSecret(owner tenant.ID) (n *tenant.NodeSecret, err error) {
	f.Helper()
	err = f.work.Read(f.Context(), func(ctx context.Context, st outbound.Stores) (err error) {
		n, err = st.NodeSecrets.Get(ctx, owner)
		return err
	})
	return n, err
}

func (f fixture) insertNodeSecret(n *tenant.NodeSecret) {
	f.Helper()
	f.write(func(ctx context.Context, st outbound.Stores) error { return st.NodeSecrets.Insert(ctx, n) })
}

// NodeSecretRepository is the contract of outbound.NodeSecretRepository.
func NodeSecretRepository(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"every field comes back, after each change": func(f fixture) {
			owner := f.tenant().ID()
			n := tenant.NewNodeSecret(owner, secretOf("first"), noon)
			f.insertNodeSecret(n)
			for _, next := range []string{"second", "third"} {
				found, err := f.nodeSecret(owner)
				if err != nil {
					f.Fatal(err)
				}
				if diff := cmp.Diff(nodeSecretText(n), nodeSecretText(found)); diff != "" {
					f.Error(diff)
				}
				if err := n.Rotate(secretOf(next), time.Hour, noon.Add(time.Minute)); err != nil {
					f.Fatal(err)
				}
				f.write(func(ctx context.Context, st outbound.Stores) error { return st.NodeSecrets.Update(ctx, n) })
			}
			if n.Revision() != 3 {
				f.Errorf("the revision is %d", n.Revision())
			}
		},
		"a tenant without one has none, whoever else has": func(f fixture) {
			f.insertNodeSecret(tenant.NewNodeSecret(f.tenant().ID(), secretOf("theirs"), noon))
			_, err := f.nodeSecret(f.tenant().ID())
			f.wantError(err, domain.NotFound, "node_secret_not_found")
		},
		"a stale change is refused": func(f fixture) {
			owner := f.tenant().ID()
			n := tenant.NewNodeSecret(owner, secretOf("first"), noon)
			f.insertNodeSecret(n)
			stale := tenant.RestoreNodeSecret(n.State())
			update := func(n *tenant.NodeSecret) error {
				return f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error { return st.NodeSecrets.Update(ctx, n) })
			}
			if err := update(n); err != nil {
				f.Fatal(err)
			}
			f.wantError(update(stale), domain.Conflict, "stale_revision")
			f.wantError(update(tenant.NewNodeSecret(f.tenant().ID(), secretOf("never"), noon)), domain.NotFound, "node_secret_not_found")
		},
		"of units that make the first one at once, all end with the same": func(f fixture) {
			owner := f.tenant().ID()
			const many = 4
			seen := make([]string, many)
			var done sync.WaitGroup
			for i := range many {
				done.Go(func() {
					err := f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
						n, err := st.NodeSecrets.Get(ctx, owner)
						if domain.KindOf(err) == domain.NotFound {
							n = tenant.NewNodeSecret(owner, secretOf(string(rune('a'+i))), noon)
							err = st.NodeSecrets.Insert(ctx, n)
						}
						if err == nil {
							seen[i] = n.Current().Reveal()
						}
						return err
					})
					if err != nil {
						f.Error(err)
					}
				})
			}
			done.Wait()
			found, err := f.nodeSecret(owner)
			if err != nil {
				f.Fatal(err)
			}
			for i, text := range seen {
				if text != found.Current().Reveal() {
					f.Errorf("unit %d ended with another secret than the one that is kept", i)
				}
			}
		},
		"one that is discarded is gone, and another one can be made": func(f fixture) {
			owner, other := f.tenant().ID(), f.tenant().ID()
			f.insertNodeSecret(tenant.NewNodeSecret(owner, secretOf("first"), noon))
			f.insertNodeSecret(tenant.NewNodeSecret(other, secretOf("theirs"), noon))
			for range 2 {
				f.write(func(ctx context.Context, st outbound.Stores) error { return st.NodeSecrets.Discard(ctx, owner) })
			}
			_, err := f.nodeSecret(owner)
			f.wantError(err, domain.NotFound, "node_secret_not_found")
			if _, err := f.nodeSecret(other); err != nil {
				f.Error(err)
			}
			f.insertNodeSecret(tenant.NewNodeSecret(owner, secretOf("second"), noon))
		},
		"it goes with its tenant": func(f fixture) {
			owner := f.tenant().ID()
			f.insertNodeSecret(tenant.NewNodeSecret(owner, secretOf("first"), noon))
			f.write(func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Delete(ctx, owner) })
			_, err := f.nodeSecret(owner)
			f.wantError(err, domain.NotFound, "node_secret_not_found")
		},
	})
}
