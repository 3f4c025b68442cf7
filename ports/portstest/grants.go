package portstest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// oauthClient is that of [fixture.oauthConnection].
var oauthClient = connection.OAuth{AuthorizationURL: "https://auth.example.com/authorize", TokenURL: "https://auth.example.com/token", ClientID: "app", Scopes: []string{"read", "write"}}

// oauthConnection adds a connection for a person's consent.
func (f fixture) oauthConnection(owner tenant.ID, sub tenant.SubTenantID) *connection.Connection {
	f.Helper()
	c, err := connection.New(connection.ID(newID(connection.IDPrefix)), owner, connection.Draft{
		Name: "Provider", Kind: connection.OAuth2AuthorizationCode, Hosts: []string{"auth.example.com"}, SubTenant: sub,
		Secret: map[string]any{"authorizationUrl": oauthClient.AuthorizationURL, "tokenUrl": oauthClient.TokenURL, "clientId": oauthClient.ClientID, "scopes": "read write"},
	}, func(name string) (string, error) { return name, nil }, noon)
	if err != nil {
		f.Fatal(err)
	}
	f.write(func(ctx context.Context, st outbound.Stores) error { return st.Connections.Insert(ctx, c) })
	return c
}

// grantText renders a grant for comparison, which its tokens refuse to.
func grantText(g *connection.Grant) []any {
	st := g.State()
	return []any{
		st.Tenant, st.Connection, st.Client, st.Access.Reveal(), st.Refresh.Reveal(), append([]string{}, st.Scopes...), st.IssuedAt, st.ExpiresAt, st.RenewAt,
		st.Failure, st.RetryAt, st.LeaseEnds, st.Generation, st.Revision,
	}
}

func (f fixture) grant(scope tenant.Scope, of connection.ID) (g *connection.Grant, now time.Time, err error) {
	f.Helper()
	err = f.work.Read(f.Context(), func(ctx context.Context, st outbound.Stores) (err error) {
		g, now, err = st.Grants.Get(ctx, scope, of)
		return err
	})
	return g, now, err
}

func (f fixture) updateGrant(g *connection.Grant) error {
	return f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error { return st.Grants.Update(ctx, g) })
}

// newGrant adds the grant of a connection.
func (f fixture) newGrant(c *connection.Connection) *connection.Grant {
	f.Helper()
	g := connection.NewGrant(c.Tenant(), c.ID())
	f.write(func(ctx context.Context, st outbound.Stores) error { return st.Grants.Insert(ctx, g) })
	return g
}

func issuedTokens(name string) connection.IssuedTokens {
	return connection.IssuedTokens{Access: connection.NewText("access-" + name), Refresh: connection.NewText("refresh-" + name), Life: time.Hour}
}

// GrantRepository is the contract of outbound.GrantRepository.
func GrantRepository(t *testing.T, open OpenStore) {
	storedGrants(t, open)
	leasedGrants(t, open)
}

func storedGrants(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"every field comes back, after each change": func(f fixture) {
			c := f.oauthConnection(f.tenant().ID(), "")
			g := f.newGrant(c)
			var lease connection.Lease
			for step, change := range []func(){
				func() {},
				func() { g.Consented(oauthClient, issuedTokens("1"), noon) },
				func() { lease = g.Lease(noon.Add(time.Minute)) },
				func() {
					g.Fail(lease, oauthClient, connection.TokenFailure{Code: connection.ServerFailed, Message: "It is down."}, noon.Add(2*time.Minute))
				},
				func() { lease = g.Lease(noon.Add(3 * time.Minute)) },
				func() { g.Accept(lease, oauthClient, issuedTokens("2"), noon.Add(4*time.Minute)) },
				func() { lease = g.Lease(noon.Add(5 * time.Minute)) },
				func() {
					g.Fail(lease, oauthClient, connection.TokenFailure{Code: connection.ConsentLost, Message: "It was taken back."}, noon.Add(6*time.Minute))
				},
			} {
				change()
				if err := f.updateGrant(g); err != nil {
					f.Fatal(err)
				}
				found, now, err := f.grant(tenant.All(c.Tenant()), c.ID())
				if err != nil {
					f.Fatal(err)
				}
				if diff := cmp.Diff(grantText(g), grantText(found)); diff != "" {
					f.Errorf("step %d: %s", step, diff)
				}
				if time.Since(now).Abs() > time.Minute || now.Location() != time.UTC || !now.Equal(now.Truncate(time.Millisecond)) {
					f.Errorf("the database's clock says %s", now)
				}
			}
		},
		"its state comes without its tokens": func(f fixture) {
			c, other := f.oauthConnection(f.tenant().ID(), "team"), connection.ID(newID(connection.IDPrefix))
			g := f.newGrant(c)
			g.Consented(oauthClient, issuedTokens("1"), noon)
			if err := f.updateGrant(g); err != nil {
				f.Fatal(err)
			}
			without := f.oauthConnection(c.Tenant(), "team")
			f.read(func(ctx context.Context, st outbound.Stores) error {
				all, err := st.Grants.States(ctx, tenant.All(c.Tenant()), c.ID(), without.ID(), other)
				if err != nil {
					return err
				}
				if len(all) != 1 || !all[c.ID()].IsFor(oauthClient) || all[c.ID()].Access().Equal(g.Access()) || !all[c.ID()].Refresh().IsZero() {
					f.Errorf("%v", all)
				}
				for name, scope := range map[string]tenant.Scope{"another tenant": tenant.All(f.tenant().ID()), "another segment": tenant.Only(c.Tenant(), "other")} {
					if found, err := st.Grants.States(ctx, scope, c.ID()); err != nil || len(found) != 0 {
						f.Errorf("%s sees %v: %v", name, found, err)
					}
				}
				none, err := st.Grants.States(ctx, tenant.All(c.Tenant()))
				if len(none) != 0 {
					f.Errorf("of no connection there are %v", none)
				}
				return err
			})
		},
		"nobody else sees it, and nobody has one at first": func(f fixture) {
			c := f.oauthConnection(f.tenant().ID(), "team")
			_, _, err := f.grant(tenant.All(c.Tenant()), c.ID())
			f.wantError(err, domain.NotFound, "grant_not_found")
			f.newGrant(c)
			if _, _, err := f.grant(tenant.Only(c.Tenant(), "team"), c.ID()); err != nil {
				f.Error(err)
			}
			for _, scope := range []tenant.Scope{tenant.All(f.tenant().ID()), tenant.Only(c.Tenant(), "other")} {
				_, _, err := f.grant(scope, c.ID())
				f.wantError(err, domain.NotFound, "grant_not_found")
			}
		},
		"a stale change is refused": func(f fixture) {
			c := f.oauthConnection(f.tenant().ID(), "")
			g := f.newGrant(c)
			stale := connection.RestoreGrant(g.State())
			if err := f.updateGrant(g); err != nil {
				f.Fatal(err)
			}
			f.wantError(f.updateGrant(stale), domain.Conflict, "stale_revision")
			f.wantError(f.updateGrant(connection.NewGrant(c.Tenant(), f.oauthConnection(c.Tenant(), "").ID())), domain.NotFound, "grant_not_found")
		},
		"an unknown connection has none": func(f fixture) {
			owner := f.tenant().ID()
			err := f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
				return st.Grants.Insert(ctx, connection.NewGrant(owner, connection.ID(newID(connection.IDPrefix))))
			})
			f.wantError(err, domain.NotFound, "connection_not_found")
		},
		"it goes with its connection": func(f fixture) {
			c := f.oauthConnection(f.tenant().ID(), "")
			f.newGrant(c)
			f.write(func(ctx context.Context, st outbound.Stores) error {
				return st.Connections.Delete(ctx, tenant.All(c.Tenant()), c.ID())
			})
			_, _, err := f.grant(tenant.All(c.Tenant()), c.ID())
			f.wantError(err, domain.NotFound, "grant_not_found")
		},
	})
}

func leasedGrants(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"of units that lease at once, one does": func(f fixture) {
			c := f.oauthConnection(f.tenant().ID(), "")
			const many = 8
			var leased [many]bool
			var done sync.WaitGroup
			for i := range many {
				done.Go(func() {
					err := f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error {
						leased[i] = false
						g, now, err := st.Grants.Get(ctx, tenant.All(c.Tenant()), c.ID())
						if domain.KindOf(err) == domain.NotFound {
							if err = st.Grants.Insert(ctx, connection.NewGrant(c.Tenant(), c.ID())); err != nil {
								return err
							}
							g, now, err = st.Grants.Get(ctx, tenant.All(c.Tenant()), c.ID())
						}
						own := connection.OAuth{TokenURL: oauthClient.TokenURL, ClientID: oauthClient.ClientID}
						if err != nil || g.Next(own, connection.Need{}, now) != connection.AskForMore {
							return err
						}
						g.Lease(now)
						leased[i] = true
						return st.Grants.Update(ctx, g)
					})
					if err != nil {
						f.Error(err)
					}
				})
			}
			done.Wait()
			n := 0
			for _, one := range leased {
				if one {
					n++
				}
			}
			if n != 1 {
				f.Errorf("%d have the lease", n)
			}
		},
		"those are due that nobody uses, the longest due first": func(f fixture) {
			owner := f.tenant().ID()
			due := func(c *connection.Connection, at time.Time) outbound.GrantKey {
				g := f.newGrant(c)
				g.Consented(oauthClient, issuedTokens("1"), at.Add(-24*time.Hour))
				if err := f.updateGrant(g); err != nil {
					f.Fatal(err)
				}
				return outbound.GrantKey{Tenant: c.Tenant(), Connection: c.ID()}
			}
			second := due(f.oauthConnection(owner, ""), time.Now().UTC().Add(-time.Minute))
			first := due(f.oauthConnection(owner, "team"), time.Now().UTC().Add(-time.Hour))
			due(f.oauthConnection(owner, ""), time.Now().UTC().Add(time.Hour))
			off := f.oauthConnection(owner, "")
			due(off, time.Now().UTC().Add(-2*time.Hour))
			no := false
			if err := off.Revise(connection.Patch{Active: &no}, nil, noon); err != nil {
				f.Fatal(err)
			}
			f.write(func(ctx context.Context, st outbound.Stores) error { return st.Connections.Update(ctx, off) })
			f.newGrant(f.oauthConnection(owner, ""))
			for limit, want := range map[int][]outbound.GrantKey{9: {first, second}, 1: {first}} {
				f.read(func(ctx context.Context, st outbound.Stores) error {
					got, err := st.Grants.Due(ctx, limit)
					if diff := cmp.Diff(want, got); diff != "" {
						f.Errorf("of %d: %s", limit, diff)
					}
					return err
				})
			}
		},
	})
}

// ConsentRepository is the contract of outbound.ConsentRepository.
func ConsentRepository(t *testing.T, open OpenStore) {
	insert := func(f fixture, c *connection.Connection, link string, at time.Time) *connection.ConsentRequest {
		f.Helper()
		r := connection.NewConsentRequest(c.Tenant(), c.ID(), oauthClient, connection.NewText(link), at)
		f.write(func(ctx context.Context, st outbound.Stores) error { return st.Consents.Insert(ctx, r, at) })
		return r
	}
	get := func(f fixture, digest string) (r *connection.ConsentRequest, err error) {
		err = f.work.Read(f.Context(), func(ctx context.Context, st outbound.Stores) error {
			r, err = st.Consents.Get(ctx, digest)
			return err
		})
		return r, err
	}
	take := func(f fixture, digest string) error {
		return f.work.Do(f.Context(), func(ctx context.Context, st outbound.Stores) error { return st.Consents.Take(ctx, digest) })
	}
	cases(t, open, map[string]func(f fixture){
		"every field comes back": func(f fixture) {
			want := insert(f, f.oauthConnection(f.tenant().ID(), ""), "a", noon)
			got, err := get(f, want.Digest())
			if err != nil {
				f.Fatal(err)
			}
			if diff := cmp.Diff(want.State(), got.State()); diff != "" {
				f.Error(diff)
			}
		},
		"of those who take one at once, one does": func(f fixture) {
			r := insert(f, f.oauthConnection(f.tenant().ID(), ""), "a", noon)
			const many = 8
			errs := make([]error, many)
			var done sync.WaitGroup
			for i := range many {
				done.Go(func() { errs[i] = take(f, r.Digest()) })
			}
			done.Wait()
			taken := 0
			for _, err := range errs {
				if err == nil {
					taken++
					continue
				}
				f.wantError(err, domain.NotFound, "consent_ended")
			}
			if taken != 1 {
				f.Errorf("%d took it", taken)
			}
			_, err := get(f, r.Digest())
			f.wantError(err, domain.NotFound, "consent_ended")
		},
		"those that have ended go, and the oldest beyond the bound": func(f fixture) {
			c := f.oauthConnection(f.tenant().ID(), "")
			ended := insert(f, c, "ended", noon.Add(-connection.ConsentLife))
			other := insert(f, f.oauthConnection(c.Tenant(), ""), "other", noon)
			var all []*connection.ConsentRequest
			for i := range connection.MaxConsents + 2 {
				all = append(all, insert(f, c, fmt.Sprint(i), noon.Add(time.Duration(i)*time.Second)))
			}
			for _, r := range append(all[:2:2], ended) {
				_, err := get(f, r.Digest())
				f.wantError(err, domain.NotFound, "consent_ended")
			}
			for _, r := range append(all[2:], other) {
				if _, err := get(f, r.Digest()); err != nil {
					f.Error(err)
				}
			}
		},
		"it goes with its connection": func(f fixture) {
			c := f.oauthConnection(f.tenant().ID(), "")
			r := insert(f, c, "a", noon)
			f.write(func(ctx context.Context, st outbound.Stores) error {
				return st.Connections.Delete(ctx, tenant.All(c.Tenant()), c.ID())
			})
			_, err := get(f, r.Digest())
			f.wantError(err, domain.NotFound, "consent_ended")
		},
	})
}
