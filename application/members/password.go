package members

import (
	"context"
	"errors"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// ChangePassword sets another password.
func (s *Service) ChangePassword(ctx context.Context, token member.Token, current, chosen string) error {
	found, err := s.counted(ctx, token)
	if err != nil {
		return err
	}
	u := found.User
	if err := s.attempt(ctx, "password", string(u.ID()), attemptsOfAccount); err != nil {
		return err
	}
	fresh, err := member.NewPassword(chosen, "new", string(u.Email()), u.Name())
	if err != nil {
		return err
	}
	fits, err := s.passwords.Verify(ctx, u.PasswordHash(), current)
	if err != nil {
		return err
	}
	if !fits || u.PasswordHash() == "" {
		return domain.Fail(domain.Forbidden, "password_wrong", "The current password is not right. Who has none sets one by a link.")
	}
	hash, err := s.passwords.Hash(ctx, fresh.Reveal())
	if err != nil {
		return err
	}
	return s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		now, err := st.Members.Users.Get(ctx, u.ID())
		if err != nil {
			return err
		}
		if now.PasswordHash() != u.PasswordHash() || now.IsDisabled() {
			return errSignedOut()
		}
		now.SetPassword(hash)
		if err := st.Members.Users.Update(ctx, now); err != nil {
			return err
		}
		if err := st.Members.Links.DeleteAll(ctx, u.ID()); err != nil {
			return err
		}
		return st.Members.Sessions.DeleteOthers(ctx, u.ID(), found.Session.ID())
	})
}

// Link says what a link is for. Any page can make a browser ask for one that is not good: only those are counted, so
// that nobody is kept from one that is.
func (s *Service) Link(ctx context.Context, link member.Token, from member.Browser) (open inbound.OpenLink, err error) {
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, u, err := usable(ctx, st, link, s.clock)
		if err == nil {
			open = inbound.OpenLink{User: u, SetsPassword: found.SetsPassword()}
		}
		return err
	})
	if errors.Is(err, domain.NotFound) {
		if limited := s.attempt(ctx, "no-link", network(from.Address), attemptsOfAddress); limited != nil {
			return open, limited
		}
	}
	return open, err
}

// UseLink begins a session by a link. Only who has a link that is good has a password hashed.
func (s *Service) UseLink(ctx context.Context, link member.Token, password string, from member.Browser) (begun inbound.Begun, err error) {
	if err := s.attempt(ctx, "link", network(from.Address), attemptsOfAddress); err != nil {
		return begun, err
	}
	now := s.clock.Now()
	var found *member.Link
	var u *member.User
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, u, err = usable(ctx, st, link, s.clock)
		return err
	})
	if err != nil {
		return begun, err
	}
	var hash string
	if found.SetsPassword() {
		fresh, err := member.NewPassword(password, "password", string(u.Email()), u.Name())
		if err != nil {
			return begun, err
		}
		if hash, err = s.passwords.Hash(ctx, fresh.Reveal()); err != nil {
			return begun, err
		}
	}
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, u, err := usable(ctx, st, link, s.clock)
		if err != nil {
			return err
		}
		if err := st.Members.Links.Take(ctx, link.Hash()); err != nil {
			return err
		}
		if u.TakeLanguage(from.Language) {
			if err := st.Members.Users.Update(ctx, u); err != nil {
				return err
			}
		}
		if found.SetsPassword() {
			found.Vouches(u)
			if err := s.reset(ctx, st, u, hash); err != nil {
				return err
			}
		}
		begun, err = s.begin(ctx, st, u.ID(), from, now)
		return err
	})
	return begun, err
}

// reset sets a password without knowing the one before, which ends whatever came of that.
func (s *Service) reset(ctx context.Context, st outbound.Stores, u *member.User, hash string) error {
	u.SetPassword(hash)
	if err := st.Members.Users.Update(ctx, u); err != nil {
		return err
	}
	if err := st.Members.Links.DeleteAll(ctx, u.ID()); err != nil {
		return err
	}
	return st.Members.Sessions.DeleteOthers(ctx, u.ID(), "")
}

// usable returns a link that is good, with whose it is.
func usable(ctx context.Context, st outbound.Stores, link member.Token, clock outbound.Clock) (*member.Link, *member.User, error) {
	found, err := st.Members.Links.Find(ctx, link.Hash())
	if err == nil {
		err = found.Check(clock.Now())
	}
	if err != nil {
		return nil, nil, err
	}
	u, err := st.Members.Users.Get(ctx, found.User())
	if err == nil && u.IsDisabled() {
		err = member.LinkEnded()
	}
	return found, u, err
}
