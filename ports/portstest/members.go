package portstest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

// user stores a new user.
func (f fixture) user() *member.User {
	f.Helper()
	id := newID(member.UserIDPrefix)
	u, err := member.NewUser(tenant.UserID(id), member.UserDraft{Email: id + "@example.com"}, noon)
	if err != nil {
		f.Fatal(err)
	}
	f.write(func(ctx context.Context, st outbound.Stores) error { return st.Members.Users.Insert(ctx, u) })
	return u
}

// join makes a user a member.
func (f fixture) join(owner tenant.ID, user tenant.UserID, role tenant.Role) *member.Membership {
	f.Helper()
	m, err := member.NewMembership(member.MembershipID(newID(member.MembershipIDPrefix)), owner, user, role, noon)
	if err != nil {
		f.Fatal(err)
	}
	f.write(func(ctx context.Context, st outbound.Stores) error { return st.Members.Memberships.Insert(ctx, m) })
	return m
}

func newToken() member.Token {
	return member.NewToken(sha256.Sum256([]byte(newID("token"))))
}

func (f fixture) try(fn func(ctx context.Context, st outbound.Stores) error) error {
	return f.work.Do(f.Context(), fn)
}

// Members is the contract of outbound.MemberStores.
func Members(t *testing.T, open OpenStore) {
	t.Run("Users", func(t *testing.T) { userRepository(t, open) })
	t.Run("Memberships", func(t *testing.T) { membershipRepository(t, open) })
	t.Run("Sessions", func(t *testing.T) { sessionRepository(t, open) })
	t.Run("Links", func(t *testing.T) { linkRepository(t, open) })
	t.Run("Letters", func(t *testing.T) { letterRepository(t, open) })
	t.Run("Sweeps", func(t *testing.T) { signInSweeps(t, open) })
}

func userRepository(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"every field comes back, whatever a user is found by": func(f fixture) {
			disabled := noon.Add(time.Hour)
			want := member.UserState{
				ID: "usr_1", Email: "anna@example.com", Name: "Änna", Language: tenant.Spanish, IsOperator: true, PasswordHash: "$argon2id$x",
				Identity: member.Identity{Issuer: "https://id.example", Subject: "1"}, VouchedBy: "tenant_1", CreatedAt: noon, DisabledAt: &disabled, Revision: 1,
			}
			f.write(func(ctx context.Context, st outbound.Stores) error {
				return st.Members.Users.Insert(ctx, member.RestoreUser(want))
			})
			f.newest(func(ctx context.Context, st outbound.Stores) error {
				byID, err := st.Members.Users.Get(ctx, want.ID)
				byEmail, errEmail := st.Members.Users.FindByEmail(ctx, want.Email)
				byIdentity, errIdentity := st.Members.Users.FindByIdentity(ctx, want.Identity)
				if err := errors.Join(err, errEmail, errIdentity); err != nil {
					return err
				}
				if diff := cmp.Diff(want, byID.State()) + cmp.Diff(want, byEmail.State()) + cmp.Diff(want, byIdentity.State()); diff != "" {
					f.Error(diff)
				}
				_, err = st.Members.Users.Get(ctx, "usr_2")
				f.wantError(err, domain.NotFound, "user_not_found")
				_, err = st.Members.Users.FindByEmail(ctx, "bert@example.com")
				f.wantError(err, domain.NotFound, "user_not_found")
				_, err = st.Members.Users.FindByIdentity(ctx, member.Identity{Issuer: "https://id.example", Subject: "2"})
				f.wantError(err, domain.NotFound, "user_not_found")
				return nil
			})
		},
		"a change is kept, and a stale one refused": func(f fixture) {
			u := f.user()
			stale := member.RestoreUser(u.State())
			u.SetPassword("$argon2id$y")
			if err := u.Join(member.Identity{Issuer: "https://id.example", Subject: "1"}, "Anna"); err != nil {
				f.Fatal(err)
			}
			u.Disable(noon)
			u.Vouch("tenant_1")
			f.write(func(ctx context.Context, st outbound.Stores) error { return st.Members.Users.Update(ctx, u) })
			f.wantError(f.try(func(ctx context.Context, st outbound.Stores) error { return st.Members.Users.Update(ctx, stale) }), domain.Conflict, "stale_revision")
			f.newest(func(ctx context.Context, st outbound.Stores) error {
				got, err := st.Members.Users.Get(ctx, u.ID())
				if diff := cmp.Diff(u.State(), got.State()); diff != "" || got.Revision() != 2 {
					f.Error(diff)
				}
				return err
			})
		},
		"address and identity belong to one user": func(f fixture) {
			u, other := f.user(), f.user()
			taken := member.UserState{ID: "usr_2", Email: u.Email(), CreatedAt: noon, Revision: 1}
			f.wantError(f.try(func(ctx context.Context, st outbound.Stores) error {
				return st.Members.Users.Insert(ctx, member.RestoreUser(taken))
			}), domain.Conflict, "user_exists")
			for _, one := range []*member.User{u, other} {
				if err := one.Join(member.Identity{Issuer: "https://id.example", Subject: "1"}, ""); err != nil {
					f.Fatal(err)
				}
			}
			f.write(func(ctx context.Context, st outbound.Stores) error { return st.Members.Users.Update(ctx, u) })
			f.wantError(f.try(func(ctx context.Context, st outbound.Stores) error { return st.Members.Users.Update(ctx, other) }), domain.Conflict, "identity_taken")
		},
		"users come in pages, the newest first": func(f fixture) {
			first, second, third := f.user(), f.user(), f.user()
			f.newest(func(ctx context.Context, st outbound.Stores) error {
				for _, c := range []struct {
					limit, offset int
					want          []*member.User
				}{{2, 0, []*member.User{third, second}}, {2, 2, []*member.User{first}}, {2, 4, nil}} {
					page, _ := domain.NewPageRequest(c.limit, c.offset)
					got, err := st.Members.Users.List(ctx, page)
					if err != nil || got.Total != 3 || len(got.Items) != len(c.want) {
						f.Errorf("the page is %+v, %v", got, err)
						continue
					}
					for i, u := range c.want {
						if got.Items[i].ID() != u.ID() {
							f.Errorf("item %d is %s", i, got.Items[i].ID())
						}
					}
				}
				return nil
			})
		},
	})
}

func membershipRepository(t *testing.T, open OpenStore) {
	membersOfTenants(t, open)
	leavingAdmins(t, open)
}

func membersOfTenants(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"a member of another tenant is as if it did not exist": func(f fixture) {
			owner, other, u := f.tenant().ID(), f.tenant().ID(), f.user()
			m := f.join(owner, u.ID(), tenant.EditorRole)
			f.newest(func(ctx context.Context, st outbound.Stores) error {
				got, err := st.Members.Memberships.Get(ctx, owner, m.ID())
				if err != nil {
					return err
				}
				if diff := cmp.Diff(m.State(), got.Membership.State()) + cmp.Diff(u.State(), got.User.State()); diff != "" {
					f.Error(diff)
				}
				_, err = st.Members.Memberships.Get(ctx, other, m.ID())
				f.wantError(err, domain.NotFound, "member_not_found")
				_, err = st.Members.OfUsers.Find(ctx, u.ID(), other)
				f.wantError(err, domain.NotFound, "tenant_not_found")
				_, errAbsent := st.Members.OfUsers.Find(ctx, u.ID(), "tenant_absent")
				if fmt.Sprint(err) != fmt.Sprint(errAbsent) {
					f.Errorf("%v differs from %v", err, errAbsent)
				}
				all, err := st.Members.Memberships.List(ctx, other, domain.PageRequest{})
				if all.Total != 0 || len(all.Items) != 0 {
					f.Errorf("the other tenant sees %+v", all)
				}
				return err
			})
			stolen := m.State()
			stolen.Tenant, stolen.Role = other, tenant.AdminRole
			for _, steal := range []func(ctx context.Context, st outbound.Stores) error{
				func(ctx context.Context, st outbound.Stores) error {
					return st.Members.Memberships.Update(ctx, member.RestoreMembership(stolen))
				},
				func(ctx context.Context, st outbound.Stores) error {
					return st.Members.Memberships.Delete(ctx, other, m.ID())
				},
			} {
				f.wantError(f.try(steal), domain.NotFound, "member_not_found")
			}
		},
		"a user is a member of a tenant once, and of several tenants": func(f fixture) {
			first, second, u := f.tenant(), f.tenant(), f.user()
			one, two := f.join(first.ID(), u.ID(), tenant.AdminRole), f.join(second.ID(), u.ID(), tenant.ViewerRole)
			again, _ := member.NewMembership("mem_again", first.ID(), u.ID(), tenant.ViewerRole, noon)
			f.wantError(f.try(func(ctx context.Context, st outbound.Stores) error { return st.Members.Memberships.Insert(ctx, again) }), domain.Conflict, "member_exists")
			f.newest(func(ctx context.Context, st outbound.Stores) error {
				all, err := st.Members.OfUsers.List(ctx, u.ID())
				if err != nil || len(all) != 2 || all[0].Membership.ID() != one.ID() || all[1].Membership.ID() != two.ID() || all[1].Tenant.ID() != second.ID() {
					f.Errorf("the memberships are %+v, %v", all, err)
				}
				found, err := st.Members.OfUsers.Find(ctx, u.ID(), first.ID())
				if err != nil {
					return err
				}
				if diff := cmp.Diff(first.State(), found.Tenant.State()) + cmp.Diff(one.State(), found.Membership.State()); diff != "" {
					f.Error(diff)
				}
				return nil
			})
			f.write(func(ctx context.Context, st outbound.Stores) error { return st.Tenants.Delete(ctx, first.ID()) })
			f.newest(func(ctx context.Context, st outbound.Stores) error {
				all, err := st.Members.OfUsers.List(ctx, u.ID())
				if len(all) != 1 {
					f.Errorf("after the tenant is gone there are %+v", all)
				}
				return err
			})
		},
		"members come in pages, and a change and a removal are kept": func(f fixture) {
			owner := f.tenant().ID()
			first, second := f.join(owner, f.user().ID(), tenant.AdminRole), f.join(owner, f.user().ID(), tenant.ViewerRole)
			stale := member.RestoreMembership(second.State())
			if err := second.Change(tenant.ApproverRole); err != nil {
				f.Fatal(err)
			}
			f.write(func(ctx context.Context, st outbound.Stores) error { return st.Members.Memberships.Update(ctx, second) })
			f.wantError(f.try(func(ctx context.Context, st outbound.Stores) error { return st.Members.Memberships.Update(ctx, stale) }), domain.Conflict, "stale_revision")
			page, _ := domain.NewPageRequest(1, 0)
			f.newest(func(ctx context.Context, st outbound.Stores) error {
				got, err := st.Members.Memberships.List(ctx, owner, page)
				if err != nil || got.Total != 2 || len(got.Items) != 1 || got.Items[0].Membership.State() != second.State() {
					f.Errorf("the page is %+v, %v", got, err)
				}
				return nil
			})
			f.write(func(ctx context.Context, st outbound.Stores) error {
				return st.Members.Memberships.Delete(ctx, owner, second.ID())
			})
			f.newest(func(ctx context.Context, st outbound.Stores) error {
				page, _ := domain.NewPageRequest(1, 1)
				got, err := st.Members.Memberships.List(ctx, owner, page)
				if got.Total != 1 || len(got.Items) != 0 {
					f.Errorf("the page is %+v", got)
				}
				_ = first
				return err
			})
		},
	})
}

func leavingAdmins(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"of two admins who leave at once one stays, whoever else is one and cannot sign in": func(f fixture) {
			owner := f.tenant().ID()
			elsewhere := f.user()
			if err := elsewhere.Join(member.Identity{Issuer: "https://id.example", Subject: newID("s")}, ""); err != nil {
				f.Fatal(err)
			}
			entered, gone := f.user(), f.user()
			entered.SetPassword("$argon2id$x")
			gone.SetPassword("$argon2id$x")
			gone.Disable(noon)
			f.write(func(ctx context.Context, st outbound.Stores) error {
				return errors.Join(st.Members.Users.Update(ctx, elsewhere), st.Members.Users.Update(ctx, entered), st.Members.Users.Update(ctx, gone))
			})
			both := []*member.Membership{f.join(owner, elsewhere.ID(), tenant.AdminRole), f.join(owner, entered.ID(), tenant.AdminRole)}
			f.join(owner, f.user().ID(), tenant.EditorRole)
			f.join(owner, f.user().ID(), tenant.AdminRole) // who never came in
			f.join(owner, gone.ID(), tenant.AdminRole)
			left := f.leaveAtOnce(owner, both)
			if (left[0] == nil) == (left[1] == nil) {
				f.Errorf("left have %v", left)
			}
			f.newest(func(ctx context.Context, st outbound.Stores) error {
				n, err := st.Members.Memberships.CountAdmins(ctx, owner)
				if n != 1 {
					f.Errorf("%d admins are left", n)
				}
				return err
			})
		},
	})
}

// leaveAtOnce has two admins leave, the second while the first has counted how many there are and has not left yet.
func (f fixture) leaveAtOnce(owner tenant.ID, both []*member.Membership) (left [2]error) {
	f.Helper()
	leave := func(m *member.Membership, counted func()) error {
		return f.try(func(ctx context.Context, st outbound.Stores) error {
			admins, err := st.Members.Memberships.CountAdmins(ctx, owner)
			if err != nil {
				return err
			}
			counted()
			if err := m.KeepAnAdmin(admins); err != nil {
				return err
			}
			return st.Members.Memberships.Delete(ctx, owner, m.ID())
		})
	}
	var begins, counts sync.Once
	var second sync.WaitGroup
	secondCounted := make(chan struct{})
	left[0] = leave(both[0], func() {
		begins.Do(func() {
			second.Go(func() { left[1] = leave(both[1], func() { counts.Do(func() { close(secondCounted) }) }) })
		})
		select {
		case <-secondCounted: // nothing has held it back
		case <-time.After(200 * time.Millisecond): // it waits for the first to end
		}
	})
	second.Wait()
	return left
}

// signIn stores a session that was last used at a time.
func (f fixture) signIn(user tenant.UserID, used time.Time) *member.Session {
	f.Helper()
	st := member.NewSession(member.SessionID(newID(member.SessionIDPrefix)), user, newToken(), member.Browser{Agent: "Browser/1", Address: "192.0.2.1"}, noon).State()
	st.LastUsedAt = used
	one := member.RestoreSession(st)
	f.write(func(ctx context.Context, st outbound.Stores) error { return st.Members.Sessions.Insert(ctx, one) })
	return one
}

func (f fixture) sessions(user tenant.UserID) (ids []member.SessionID) {
	f.Helper()
	f.newest(func(ctx context.Context, st outbound.Stores) error {
		all, err := st.Members.Sessions.List(ctx, user)
		for _, one := range all {
			ids = append(ids, one.ID())
		}
		return err
	})
	return ids
}

func sessionRepository(t *testing.T, open OpenStore) {
	cases(t, open, map[string]func(f fixture){
		"a session is found by its hash, with its user": func(f fixture) {
			u := f.user()
			one := f.signIn(u.ID(), noon.Add(time.Minute))
			f.newest(func(ctx context.Context, st outbound.Stores) error {
				got, err := st.Members.Sessions.Find(ctx, one.State().Hash)
				if err != nil {
					return err
				}
				if diff := cmp.Diff(one.State(), got.Session.State()) + cmp.Diff(u.State(), got.User.State()); diff != "" {
					f.Error(diff)
				}
				_, err = st.Members.Sessions.Find(ctx, newToken().Hash())
				f.wantError(err, domain.NotFound, "session_not_found")
				return nil
			})
		},
		"the last use counts": func(f fixture) {
			u := f.user()
			one := f.signIn(u.ID(), noon)
			for _, at := range []time.Duration{time.Hour, time.Minute} {
				f.write(func(ctx context.Context, st outbound.Stores) error {
					return st.Members.Sessions.Touch(ctx, u.ID(), one.ID(), noon.Add(at))
				})
			}
			f.newest(func(ctx context.Context, st outbound.Stores) error {
				got, err := st.Members.Sessions.Find(ctx, one.State().Hash)
				if used := got.Session.State().LastUsedAt; !used.Equal(noon.Add(time.Hour)) {
					f.Errorf("it was last used at %s", used)
				}
				return err
			})
		},
		"a user ends sessions of his own": func(f fixture) {
			u, other := f.user().ID(), f.user().ID()
			first, second, third, theirs := f.signIn(u, noon), f.signIn(u, noon.Add(time.Hour)), f.signIn(u, noon.Add(time.Minute)), f.signIn(other, noon)
			if diff := cmp.Diff([]member.SessionID{second.ID(), third.ID(), first.ID()}, f.sessions(u)); diff != "" {
				f.Error(diff)
			}
			f.wantError(f.try(func(ctx context.Context, st outbound.Stores) error {
				return st.Members.Sessions.Delete(ctx, u, theirs.ID())
			}), domain.NotFound, "session_not_found")
			f.write(func(ctx context.Context, st outbound.Stores) error {
				return st.Members.Sessions.Delete(ctx, u, first.ID())
			})
			f.write(func(ctx context.Context, st outbound.Stores) error {
				return st.Members.Sessions.DeleteOthers(ctx, u, third.ID())
			})
			if diff := cmp.Diff([]member.SessionID{third.ID()}, f.sessions(u)); diff != "" {
				f.Error(diff)
			}
			f.write(func(ctx context.Context, st outbound.Stores) error {
				return st.Members.Sessions.DeleteOthers(ctx, u, "")
			})
			if mine, others := f.sessions(u), f.sessions(other); len(mine) != 0 || len(others) != 1 {
				f.Errorf("left are %v and %v", mine, others)
			}
		},
		"the sessions that were not used for the longest time make room": func(f fixture) {
			u, other := f.user().ID(), f.user().ID()
			theirs := f.signIn(other, noon)
			oldest := f.signIn(u, noon.Add(-time.Hour))
			for i := range member.MaxSessions {
				f.signIn(u, noon.Add(time.Duration(i)*time.Second))
			}
			mine := f.sessions(u)
			if len(mine) != member.MaxSessions || mine[len(mine)-1] == oldest.ID() || cmp.Diff(f.sessions(other), []member.SessionID{theirs.ID()}) != "" {
				f.Errorf("there are %d sessions: %v", len(mine), mine)
			}
		},
	})
}

func linkRepository(t *testing.T, open OpenStore) {
	insert := func(f fixture, user tenant.UserID, at time.Time) member.LinkState {
		one := member.NewLink(user, member.Reset, newToken(), at).ShownTo("tenant_1")
		f.write(func(ctx context.Context, st outbound.Stores) error { return st.Members.Links.Insert(ctx, one) })
		return one.State()
	}
	find := func(f fixture, hash member.TokenHash) (got member.LinkState, err error) {
		err = f.work.Read(f.Context(), func(ctx context.Context, st outbound.Stores) error {
			one, err := st.Members.Links.Find(ctx, hash)
			if err == nil {
				got = one.State()
			}
			return err
		})
		return got, err
	}
	cases(t, open, map[string]func(f fixture){
		"a link is taken once": func(f fixture) {
			want := insert(f, f.user().ID(), noon)
			if got, err := find(f, want.Hash); err != nil || got != want {
				f.Errorf("found is %+v, %v", got, err)
			}
			taken := make([]error, 4)
			var all sync.WaitGroup
			for i := range taken {
				all.Go(func() {
					taken[i] = f.try(func(ctx context.Context, st outbound.Stores) error { return st.Members.Links.Take(ctx, want.Hash) })
				})
			}
			all.Wait()
			n := 0
			for _, err := range taken {
				if err == nil {
					n++
				} else {
					f.wantError(err, domain.NotFound, "link_ended")
				}
			}
			if n != 1 {
				f.Errorf("%d took it", n)
			}
			_, err := find(f, want.Hash)
			f.wantError(err, domain.NotFound, "link_ended")
		},
		"a user has so many links, and loses all of them at once": func(f fixture) {
			u, other := f.user().ID(), f.user().ID()
			theirs, oldest := insert(f, other, noon), insert(f, u, noon)
			invitation := member.NewLink(u, member.Invitation, newToken(), noon).State()
			f.write(func(ctx context.Context, st outbound.Stores) error {
				return st.Members.Links.Insert(ctx, member.RestoreLink(invitation))
			})
			var last member.LinkState
			for i := range member.MaxLinks {
				last = insert(f, u, noon.Add(time.Duration(i+1)*time.Second))
			}
			_, err := find(f, oldest.Hash)
			f.wantError(err, domain.NotFound, "link_ended")
			if _, err := find(f, last.Hash); err != nil {
				f.Error(err)
			}
			if _, err := find(f, invitation.Hash); err != nil {
				f.Error("links for something else have pushed out an invitation:", err)
			}
			f.write(func(ctx context.Context, st outbound.Stores) error { return st.Members.Links.DeleteAll(ctx, u) })
			_, err = find(f, last.Hash)
			f.wantError(err, domain.NotFound, "link_ended")
			if _, err := find(f, theirs.Hash); err != nil {
				f.Error(err)
			}
		},
	})
}
