package members

import (
	"context"
	"crypto/subtle"
	"errors"
	"strings"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

var _ inbound.SignInElsewhere = (*Service)(nil)

// Enabled says whether there is a provider of identities.
func (s *Service) Enabled() bool { return s.provider.Enabled() }

// Start sends a browser to the provider, with secrets of this browser alone.
func (s *Service) Start(ctx context.Context, from member.Browser) (inbound.Departure, error) {
	if err := s.attempt(ctx, "departure", network(from.Address), departuresOfAddress); err != nil {
		return inbound.Departure{}, err
	}
	state, nonce, verifier := newToken(s.random).Reveal(), newToken(s.random).Reveal(), newToken(s.random).Reveal()
	to, err := s.provider.AuthorizationURL(ctx, outbound.SignInRequest{State: state, Nonce: nonce, Verifier: verifier})
	return inbound.Departure{URL: to, Kept: strings.Join([]string{state, nonce, verifier}, ".")}, err
}

// Finish begins a session for whoever the provider knows.
func (s *Service) Finish(ctx context.Context, back inbound.Return, from member.Browser) (begun inbound.Begun, err error) {
	kept := strings.Split(back.Kept, ".")
	if len(kept) != 3 || back.Code == "" || subtle.ConstantTimeCompare([]byte(kept[0]), []byte(back.SentState)) != 1 {
		return begun, member.SignInRefused()
	}
	// Any page can make a browser ask for this, though with no state that it keeps: that is not counted.
	if err := s.attemptFrom(ctx, from.Address); err != nil {
		return begun, err
	}
	known, err := s.provider.Exchange(ctx, back.Code, outbound.SignInRequest{State: kept[0], Nonce: kept[1], Verifier: kept[2]})
	if err != nil {
		return begun, err
	}
	now := s.clock.Now()
	err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		u, err := s.whoIs(ctx, st, known, from)
		if err != nil {
			return err
		}
		begun, err = s.begin(ctx, st, u.ID(), from, now)
		return err
	})
	return begun, err
}

// whoIs returns the user with the identity: the one who has it, else the one with the address, if the provider has
// verified it and nobody else has joined under it.
func (s *Service) whoIs(ctx context.Context, st outbound.Stores, known outbound.Identity, from member.Browser) (*member.User, error) {
	identity := member.Identity{Issuer: known.Issuer, Subject: known.Subject}
	u, err := st.Members.Users.FindByIdentity(ctx, identity)
	if errors.Is(err, domain.NotFound) {
		address, ok := member.ParseEmail(known.Email)
		if !ok || !known.EmailVerified {
			return nil, member.SignInRefused()
		}
		if u, err = st.Members.Users.FindByEmail(ctx, address); errors.Is(err, domain.NotFound) {
			return nil, member.SignInRefused()
		}
		if err == nil {
			u.TakeLanguage(from.Language)
			err = s.join(ctx, st, u, identity, known.Name)
		}
	}
	if err == nil && u.IsDisabled() {
		err = member.SignInRefused()
	}
	return u, err
}

// join ties a user to an identity. Whoever came in before may have been shown an invitation that was not theirs: the
// provider has verified the address, and nothing else has. So everything by which they came in ends.
func (s *Service) join(ctx context.Context, st outbound.Stores, u *member.User, i member.Identity, name string) error {
	if u.IsDisabled() {
		return member.SignInRefused()
	}
	if err := u.Join(i, name); err != nil {
		return err
	}
	if err := st.Members.Users.Update(ctx, u); err != nil {
		return err
	}
	return errors.Join(st.Members.Links.DeleteAll(ctx, u.ID()), st.Members.Sessions.DeleteOthers(ctx, u.ID(), ""))
}
