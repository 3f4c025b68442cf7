package members

import (
	"context"
	"errors"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

var _ inbound.Accounts = (*Service)(nil)

// SignIn begins a session. A password is checked whether or not there is such a user, against the hash of nobody
// where there is none.
func (s *Service) SignIn(ctx context.Context, asked inbound.Login, from member.Browser) (begun inbound.Begun, err error) {
	address, isAddress := member.ParseEmail(asked.Email)
	if err := s.attemptFrom(ctx, from.Address); err != nil {
		return begun, err
	}
	if err := s.attemptOn(ctx, string(address), from.Address); err != nil {
		return begun, err
	}
	var u *member.User
	var hash string
	if isAddress {
		err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
			u, err = st.Members.Users.FindByEmail(ctx, address)
			return err
		})
		if err != nil && !errors.Is(err, domain.NotFound) {
			return begun, err
		}
		if err == nil && !u.IsDisabled() {
			hash = u.PasswordHash()
		}
	}
	fits, err := s.passwords.Verify(ctx, hash, asked.Password)
	if err != nil {
		return begun, err
	}
	if !fits || hash == "" {
		return begun, member.SignInRefused()
	}
	now := s.clock.Now()
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		current, err := st.Members.Users.Get(ctx, u.ID())
		if err != nil {
			return err
		}
		if current.IsDisabled() || current.PasswordHash() != hash { // both may have changed meanwhile
			return member.SignInRefused()
		}
		begun, err = s.begin(ctx, st, u.ID(), from, now)
		return err
	})
	return begun, err
}

// SignOut ends the session. Whoever sends a token of none is given no unit that writes.
func (s *Service) SignOut(ctx context.Context, token member.Token) error {
	var found outbound.SignedIn
	err := s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
		found, err = st.Members.Sessions.Find(ctx, token.Hash())
		return err
	})
	if err == nil {
		err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
			return st.Members.Sessions.Delete(ctx, found.User.ID(), found.Session.ID())
		})
	}
	if errors.Is(err, domain.NotFound) {
		return nil
	}
	return err
}

// WhoAmI returns who is signed in.
func (s *Service) WhoAmI(ctx context.Context, token member.Token) (who inbound.Account, err error) {
	found, err := s.counted(ctx, token)
	if err != nil {
		return who, err
	}
	who.User, who.Session = found.User, found.Session
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		all, err := st.Members.OfUsers.List(ctx, found.User.ID())
		who.Memberships = nil
		for _, m := range all {
			if isOpen(m) {
				who.Memberships = append(who.Memberships, inbound.AccountMembership{
					Membership: m.Membership, TenantName: m.Tenant.Name(), Language: m.Tenant.Settings().Language,
				})
			}
		}
		return err
	})
	return who, err
}

// Sessions returns the sessions of who is signed in.
func (s *Service) Sessions(ctx context.Context, token member.Token) (own inbound.OwnSessions, err error) {
	found, err := s.counted(ctx, token)
	if err != nil {
		return own, err
	}
	own.Current = found.Session.ID()
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		all, err := st.Members.Sessions.List(ctx, found.User.ID())
		own.Sessions = nil
		for _, one := range all {
			if one.IsLive(s.clock.Now()) {
				own.Sessions = append(own.Sessions, one)
			}
		}
		return err
	})
	return own, err
}

// EndSession ends one of them.
func (s *Service) EndSession(ctx context.Context, token member.Token, id member.SessionID) error {
	found, err := s.counted(ctx, token)
	if err != nil {
		return err
	}
	return s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		return st.Members.Sessions.Delete(ctx, found.User.ID(), id)
	})
}

// isOpen says whether members of a tenant may enter it.
func isOpen(m outbound.MembershipOf) bool { return m.Tenant.Status() == tenant.Active }
