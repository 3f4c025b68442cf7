// Package members implements what people do with their accounts, and what admins and the operator do with
// members and users.
package members

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// How often somebody may try to come in, whether or not there is such an account.
const (
	attemptsOfAddress = 30  // from one address, or from one network of IPv6
	attemptsOfAccount = 10  // for one account from one address or network, so that others keep nobody out
	attemptsOfAll     = 100 // for one account from anywhere
	attemptsWithin    = 5 * time.Minute

	departuresOfAddress = 120 // to a provider of identities: more, since any page can make a browser ask for them
)

// Service is what all use cases of people share.
type Service struct {
	work      outbound.UnitOfWork
	passwords outbound.Passwords
	provider  outbound.IdentityProvider
	limiter   outbound.Limiter
	clock     outbound.Clock
	random    outbound.Random
}

// New returns the service.
func New(work outbound.UnitOfWork, passwords outbound.Passwords, provider outbound.IdentityProvider, limiter outbound.Limiter,
	clock outbound.Clock, random outbound.Random) *Service {
	return &Service{work: work, passwords: passwords, provider: provider, limiter: limiter, clock: clock, random: random}
}

func newToken(from outbound.Random) member.Token {
	var random [member.TokenBytes]byte
	from.Fill(random[:])
	return member.NewToken(random)
}

// attempt counts an attempt to come in.
func (s *Service) attempt(ctx context.Context, sort, subject string, limit int) error {
	return s.limit(ctx, sort, subject, limit, attemptsWithin)
}

func (s *Service) limit(ctx context.Context, sort, subject string, limit int, within time.Duration) error {
	allowed, err := s.limiter.Allow(ctx, "sign-in/"+sort+"/"+subject, limit, within)
	if err == nil && !allowed.Granted {
		e := domain.Fail(domain.RateLimited, "too_many_sign_ins", "Too many attempts to sign in. Try again in %d seconds.", int(allowed.RetryAfter.Seconds())+1)
		e.RetryAfter = allowed.RetryAfter
		return e
	}
	return err
}

// attemptOn counts an attempt to sign in with an account.
func (s *Service) attemptOn(ctx context.Context, account, address string) error {
	if err := s.attempt(ctx, "account-from", network(address)+" "+account, attemptsOfAccount); err != nil {
		return err
	}
	return s.attempt(ctx, "account", account, attemptsOfAll)
}

func (s *Service) attemptFrom(ctx context.Context, address string) error {
	return s.attempt(ctx, "address", network(address), attemptsOfAddress)
}

// network is what one attacker has of addresses at least: of IPv6, 2^64.
func network(address string) string {
	at, err := netip.ParseAddr(address)
	if err != nil {
		return "unknown"
	}
	if at = at.Unmap(); at.Is4() {
		return at.String()
	}
	prefix, err := at.WithZone("").Prefix(64)
	if err != nil {
		return "unknown"
	}
	return prefix.String()
}

// begin makes a session of the user in a unit. The one that the browser had before ends: with its
// cookie gone, nobody could sign it out there any more.
func (s *Service) begin(ctx context.Context, st outbound.Stores, user tenant.UserID, from member.Browser, now time.Time) (inbound.Begun, error) {
	if err := endEarlier(ctx, st, from.Session); err != nil {
		return inbound.Begun{}, err
	}
	token := newToken(s.random)
	one := member.NewSession(member.SessionID(s.random.ID(member.SessionIDPrefix)), user, token, from, now)
	return inbound.Begun{Token: token, EndsAt: now.Add(member.SessionLife)}, st.Members.Sessions.Insert(ctx, one)
}

// endEarlier ends the session with a token, if there is one.
func endEarlier(ctx context.Context, st outbound.Stores, token member.Token) error {
	if token.Reveal() == "" {
		return nil
	}
	found, err := st.Members.Sessions.Find(ctx, token.Hash())
	if err == nil {
		err = st.Members.Sessions.Delete(ctx, found.User.ID(), found.Session.ID())
	}
	if errors.Is(err, domain.NotFound) {
		return nil
	}
	return err
}

func errSignedOut() error {
	return domain.Fail(domain.Unauthenticated, "signed_out", "Nobody is signed in. Sign in to the console first.")
}

// recognize finds out who is signed in, and notes the use of the session.
func (s *Service) recognize(ctx context.Context, token member.Token) (found outbound.SignedIn, err error) {
	found, err = s.identify(ctx, token)
	if now := s.clock.Now(); err == nil && found.Session.NeedsNote(now) {
		err = s.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
			return st.Members.Sessions.Touch(ctx, found.User.ID(), found.Session.ID(), now)
		})
	}
	return found, err
}

func (s *Service) identify(ctx context.Context, token member.Token) (found outbound.SignedIn, err error) {
	err = s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err = st.Members.Sessions.Find(ctx, token.Hash())
		return err
	})
	if errors.Is(err, domain.NotFound) || err == nil && (!found.Session.IsLive(s.clock.Now()) || found.User.IsDisabled()) {
		return found, errSignedOut()
	}
	return found, err
}
