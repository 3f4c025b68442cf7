package portstest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// key stores a new key.
func (f fixture) key(owner tenant.ID, kt tenant.KeyType, expiresAt *time.Time) *tenant.APIKey {
	f.Helper()
	k := f.newKey(owner, kt, expiresAt)
	f.write(func(ctx context.Context, st outbound.Stores) error { return st.APIKeys.Insert(ctx, k) })
	return k
}

// limited stores a key of the tenant that is limited to a sub-tenant, and ends an hour later.
func (f fixture) limited(owner tenant.ID, kt tenant.KeyType, sub tenant.SubTenantID, subject string) *tenant.APIKey {
	f.Helper()
	ends := noon.Add(time.Hour)
	st := f.newKey(owner, tenant.Secret, &ends).State()
	st.Type, st.Narrowing = kt, tenant.Narrowing{SubTenant: &sub, Subject: subject}
	k := tenant.RestoreAPIKey(st)
	f.write(func(ctx context.Context, st outbound.Stores) error { return st.APIKeys.Insert(ctx, k) })
	return k
}

func stateOf(k *tenant.APIKey) *tenant.KeyState {
	if k == nil {
		return nil
	}
	st := k.State()
	return &st
}

func (f fixture) getKey(owner tenant.ID, id tenant.KeyID) (k *tenant.APIKey, err error) {
	err = f.work.View(f.Context(), func(ctx context.Context, st outbound.Stores) error {
		k, err = st.APIKeys.Get(ctx, owner, id)
		return err
	})
	return k, err
}

// APIKeyRepository is the contract of outbound.APIKeyRepository.
func APIKeyRepository(t *testing.T, open OpenStore) {
	storedAPIKeys(t, open)
	limitedAPIKeys(t, open)
	usableAPIKeys(t, open)
}

func storedAPIKeys(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"every field comes back": func(f fixture) {
			used, expires, revoked := noon.Add(time.Second), noon.Add(time.Hour), noon.Add(2*time.Second)
			want := f.newKey(f.tenant().ID(), tenant.Public, nil).State()
			want.LastUsedAt, want.ExpiresAt, want.RevokedAt, want.Name, want.Successor = &used, &expires, &revoked, "naïve", "key_next"
			f.write(func(ctx context.Context, st outbound.Stores) error {
				return st.APIKeys.Insert(ctx, tenant.RestoreAPIKey(want))
			})
			got, err := f.getKey(want.Tenant, want.ID)
			if err != nil {
				f.Fatal(err)
			}
			if diff := cmp.Diff(want, got.State()); diff != "" {
				f.Error(diff)
			}
		},
		"a key of another tenant is as if it did not exist": func(f fixture) {
			k, other := f.key(f.tenant().ID(), tenant.Secret, nil), f.tenant()
			_, err := f.getKey(other.ID(), k.ID())
			f.wantError(err, domain.NotFound, "api_key_not_found")
			_, errAbsent := f.getKey(other.ID(), "key_absent")
			if err.Error() != errAbsent.Error() {
				f.Errorf("%q differs from %q", err, errAbsent)
			}
			stolen := k.State()
			stolen.Tenant = other.ID()
			err = f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
				return st.APIKeys.Update(ctx, tenant.RestoreAPIKey(stolen))
			})
			f.wantError(err, domain.NotFound, "api_key_not_found")
			f.read(func(ctx context.Context, st outbound.Stores) error {
				found, err := st.APIKeys.List(ctx, other.ID(), domain.PageRequest{})
				if found.Total != 0 || len(found.Items) != 0 {
					f.Errorf("the other tenant sees %d of %d keys", len(found.Items), found.Total)
				}
				n, errCount := st.APIKeys.CountUsable(ctx, other.ID(), tenant.Secret, noon)
				if n != 0 || errCount != nil {
					f.Errorf("the other tenant counts %d keys, %v", n, errCount)
				}
				return err
			})
		},
		"a rotated key remembers its successor": func(f fixture) {
			k := f.key(f.tenant().ID(), tenant.Secret, nil)
			if err := k.Retire("key_next", time.Hour, noon); err != nil {
				f.Fatal(err)
			}
			f.write(func(ctx context.Context, st outbound.Stores) error { return st.APIKeys.Update(ctx, k) })
			got, err := f.getKey(k.Tenant(), k.ID())
			if err != nil {
				f.Fatal(err)
			}
			if diff := cmp.Diff(k.State(), got.State()); diff != "" {
				f.Error(diff)
			}
		},
		"a stale update is refused": func(f fixture) {
			k := f.key(f.tenant().ID(), tenant.Secret, nil)
			stale := tenant.RestoreAPIKey(k.State())
			k.Revoke(noon)
			f.write(func(ctx context.Context, st outbound.Stores) error { return st.APIKeys.Update(ctx, k) })
			err := f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error { return st.APIKeys.Update(ctx, stale) })
			f.wantError(err, domain.Conflict, "stale_revision")
			if got, err := f.getKey(k.Tenant(), k.ID()); err != nil || got.RevokedAt() == nil || got.Revision() != 2 {
				f.Errorf("the key is %+v, %v", got, err)
			}
		},
		"pages are newest first and know the total": func(f fixture) {
			owner := f.tenant().ID()
			var want []tenant.KeyID
			for range 3 {
				want = append([]tenant.KeyID{f.key(owner, tenant.Secret, nil).ID()}, want...)
			}
			page, err := domain.NewPageRequest(2, 1)
			if err != nil {
				f.Fatal(err)
			}
			f.read(func(ctx context.Context, st outbound.Stores) error {
				found, err := st.APIKeys.List(ctx, owner, page)
				if found.Total != 3 || len(found.Items) != 2 || found.Items[0].ID() != want[1] || found.Items[1].ID() != want[2] {
					f.Errorf("the page is %+v", found)
				}
				return err
			})
		},
	})
}

func limitedAPIKeys(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"every field of what limits a key comes back, and its hash finds it": func(f fixture) {
			sub, ends := tenant.SubTenantID("a"), noon.Add(time.Hour)
			for _, kt := range []tenant.KeyType{tenant.Secret, tenant.Embed} {
				want := f.newKey(f.tenant().ID(), tenant.Secret, nil).State()
				want.Type, want.ExpiresAt = kt, &ends
				want.Narrowing = tenant.Narrowing{
					SubTenant: &sub, Rights: []tenant.Right{tenant.ReadRunsRight}, Workflows: []string{"wf_1"}, NodeTypes: []string{"code"},
					Subject: "änna", Origins: []string{"https://example.com"}, Language: tenant.Spanish,
				}
				f.write(func(ctx context.Context, st outbound.Stores) error {
					return st.APIKeys.Insert(ctx, tenant.RestoreAPIKey(want))
				})
				got, err := f.getKey(want.Tenant, want.ID)
				if err != nil {
					f.Fatal(err)
				}
				f.newest(func(ctx context.Context, st outbound.Stores) error {
					found, err := st.Credentials.Find(ctx, want.Hash)
					if diff := cmp.Diff(want, got.State()) + cmp.Diff(&want, stateOf(found.Key)); diff != "" {
						f.Error(diff)
					}
					return err
				})
			}
		},
		"a key that is limited does not count as one of the whole tenant, and a token is in no list of keys": func(f fixture) {
			owner, sub := f.tenant().ID(), tenant.SubTenantID("a")
			whole := f.key(owner, tenant.Secret, nil)
			narrowed, token := f.limited(owner, tenant.Secret, sub, ""), f.limited(owner, tenant.Embed, sub, "anna")
			f.write(func(ctx context.Context, st outbound.Stores) error {
				n, err := st.APIKeys.CountUsable(ctx, owner, tenant.Secret, noon)
				if n != 1 {
					f.Errorf("%d keys count", n)
				}
				return err
			})
			f.newest(func(ctx context.Context, st outbound.Stores) error {
				keys, err := st.APIKeys.List(ctx, owner, domain.PageRequest{})
				if err != nil || keys.Total != 2 || len(keys.Items) != 2 || keys.Items[0].ID() != narrowed.ID() || keys.Items[1].ID() != whole.ID() {
					f.Errorf("the keys are %+v, %v", keys, err)
				}
				tokens, err := st.EmbedTokens.List(ctx, owner, tenant.EmbedTokenFilter{}, domain.PageRequest{})
				if tokens.Total != 1 || len(tokens.Items) != 1 || tokens.Items[0].ID() != token.ID() {
					f.Errorf("the tokens are %+v", tokens)
				}
				return err
			})
		},
		"tokens are listed and revoked by sub-tenant and subject, and swept when they have ended": func(f fixture) {
			owner, anna, sub := f.tenant().ID(), "anna", tenant.SubTenantID("a")
			want := map[tenant.KeyID]bool{f.limited(owner, tenant.Embed, "a", "anna").ID(): true}
			for _, other := range []*tenant.APIKey{
				f.limited(owner, tenant.Embed, "a", "bert"), f.limited(owner, tenant.Embed, "b", "anna"), f.limited(f.tenant().ID(), tenant.Embed, "a", "anna"), f.limited(owner, tenant.Secret, "a", "anna"),
			} {
				want[other.ID()] = false
			}
			filter := tenant.EmbedTokenFilter{SubTenant: &sub, Subject: &anna}
			f.newest(func(ctx context.Context, st outbound.Stores) error {
				found, err := st.EmbedTokens.List(ctx, owner, filter, domain.PageRequest{})
				if found.Total != 1 || len(found.Items) != 1 || !want[found.Items[0].ID()] {
					f.Errorf("found are %+v", found)
				}
				return err
			})
			for _, n := range []int{1, 0} {
				f.write(func(ctx context.Context, st outbound.Stores) error {
					revoked, err := st.EmbedTokens.RevokeAll(ctx, owner, filter, noon)
					if revoked != n {
						f.Errorf("%d were revoked, not %d", revoked, n)
					}
					return err
				})
			}
			for id, isRevoked := range want {
				got, err := f.getKey(owner, id)
				if errors.Is(err, domain.NotFound) {
					continue // of the other tenant
				}
				if err != nil || (got.RevokedAt() != nil) != isRevoked || isRevoked && got.Revision() != 2 {
					f.Errorf("%s is %+v, %v", id, got, err)
				}
			}
			for _, c := range []struct {
				before time.Time
				want   int
			}{{noon.Add(time.Hour), 0}, {noon.Add(2 * time.Hour), 3}, {noon.Add(2 * time.Hour), 1}} {
				f.write(func(ctx context.Context, st outbound.Stores) error {
					n, err := st.EmbedTokens.Sweep(ctx, c.before, 3)
					if n != c.want {
						f.Errorf("%d were swept, not %d", n, c.want)
					}
					return err
				})
			}
		},
	})
}

func usableAPIKeys(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"usable keys are those neither revoked nor expired": func(f fixture) {
			owner := f.tenant().ID()
			end := noon.Add(time.Minute)
			f.key(owner, tenant.Secret, nil)
			f.key(owner, tenant.Secret, &end)
			f.key(owner, tenant.Public, nil)
			revoked := f.key(owner, tenant.Secret, nil)
			revoked.Revoke(noon)
			f.write(func(ctx context.Context, st outbound.Stores) error { return st.APIKeys.Update(ctx, revoked) })
			for at, want := range map[time.Time]int{noon: 2, end: 1} {
				f.write(func(ctx context.Context, st outbound.Stores) error {
					n, err := st.APIKeys.CountUsable(ctx, owner, tenant.Secret, at)
					if n != want {
						f.Errorf("at %s %d secret keys are usable, not %d", at, n, want)
					}
					return err
				})
			}
		},
		"two units that each end the last key but one cannot both succeed": func(f fixture) {
			owner := f.tenant().ID()
			keys := []*tenant.APIKey{f.key(owner, tenant.Secret, nil), f.key(owner, tenant.Secret, nil)}
			var done sync.WaitGroup
			for _, k := range keys {
				done.Go(func() {
					err := f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
						n, err := st.APIKeys.CountUsable(ctx, owner, tenant.Secret, noon)
						if err != nil || n < 2 {
							return err
						}
						mine, err := st.APIKeys.Get(ctx, owner, k.ID())
						if err != nil {
							return err
						}
						mine.Revoke(noon)
						return st.APIKeys.Update(ctx, mine)
					})
					if err != nil {
						f.Error(err)
					}
				})
			}
			done.Wait()
			f.read(func(ctx context.Context, st outbound.Stores) error {
				n, err := st.APIKeys.CountUsable(ctx, owner, tenant.Secret, noon)
				if n != 1 {
					f.Errorf("%d keys are left", n)
				}
				return err
			})
		},
	})
}

// CredentialRepository is the contract of outbound.CredentialRepository.
func CredentialRepository(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"a hash finds the key with its tenant": func(f fixture) {
			ten := f.tenant()
			f.key(f.tenant().ID(), tenant.Secret, nil)
			k := f.key(ten.ID(), tenant.Secret, nil)
			f.read(func(ctx context.Context, st outbound.Stores) error {
				found, err := st.Credentials.Find(ctx, k.State().Hash)
				if err != nil {
					return err
				}
				if diff := cmp.Diff(k.State(), found.Key.State()) + cmp.Diff(ten.State(), found.Tenant.State()); diff != "" {
					f.Error(diff)
				}
				return nil
			})
		},
		"an unknown hash is not found": func(f fixture) {
			f.read(func(ctx context.Context, st outbound.Stores) error {
				_, err := st.Credentials.Find(ctx, tenant.KeyHash{1})
				f.wantError(err, domain.NotFound, "api_key_not_found")
				return nil
			})
		},
		"a use is noted at most once a minute and leaves the revision alone": func(f fixture) {
			k := f.key(f.tenant().ID(), tenant.Secret, nil)
			for _, use := range []struct{ at, want time.Duration }{{0, 0}, {59 * time.Second, 0}, {time.Minute, time.Minute}} {
				f.write(func(ctx context.Context, st outbound.Stores) error {
					return st.Credentials.RecordUse(ctx, k.Tenant(), k.ID(), noon.Add(use.at))
				})
				got, err := f.getKey(k.Tenant(), k.ID())
				if err != nil || got.LastUsedAt() == nil || !got.LastUsedAt().Equal(noon.Add(use.want)) || got.Revision() != 1 {
					f.Errorf("after a use at %s: %+v, %v", use.at, got, err)
				}
			}
		},
		"a use is not noted for another tenant": func(f fixture) {
			other := f.tenant()
			k := f.key(f.tenant().ID(), tenant.Secret, nil)
			f.write(func(ctx context.Context, st outbound.Stores) error {
				return st.Credentials.RecordUse(ctx, other.ID(), k.ID(), noon)
			})
			if got, err := f.getKey(k.Tenant(), k.ID()); err != nil || got.LastUsedAt() != nil {
				f.Errorf("the key is %+v, %v", got, err)
			}
		},
	})
}
