package members

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

var _ inbound.MemberSessions = (*Service)(nil)

// RecognizeMember finds out who asks, and notes the use of the session.
func (s *Service) RecognizeMember(ctx context.Context, of inbound.MemberOfTenant) (tenant.Caller, error) {
	found, err := s.recognize(ctx, of.Session)
	if err != nil {
		return tenant.Caller{}, err
	}
	return s.memberOf(ctx, found, of.Tenant)
}

// ConfirmMember finds out who asks.
func (s *Service) ConfirmMember(ctx context.Context, of inbound.MemberOfTenant) (tenant.Caller, error) {
	found, err := s.identify(ctx, of.Session)
	if err != nil {
		return tenant.Caller{}, err
	}
	return s.memberOf(ctx, found, of.Tenant)
}

// memberOf is who is signed in as a member of a tenant. Nothing of it is kept in memory: a membership that has ended
// anywhere counts no more.
func (s *Service) memberOf(ctx context.Context, found outbound.SignedIn, owner tenant.ID) (tenant.Caller, error) {
	who := tenant.Member{User: found.User.ID(), Session: string(found.Session.ID()), Name: cmp.Or(found.User.Name(), string(found.User.Email()))}
	var as outbound.MembershipOf
	err := s.work.Read(ctx, func(ctx context.Context, st outbound.Stores) (err error) {
		as, err = st.Members.OfUsers.Find(ctx, who.User, owner)
		return err
	})
	if err == nil && !isOpen(as) {
		err = errNoTenant()
	}
	if errors.Is(err, domain.NotFound) {
		return tenant.Caller{KeyType: tenant.Session, Member: who}, errNoTenant()
	}
	if err != nil {
		return tenant.Caller{}, err
	}
	who.Role = as.Membership.Role()
	return tenant.CallerBy(who, as.Tenant), nil
}

// counted finds out who asks for something of the own account, which is one of the requests of the session like any other.
func (s *Service) counted(ctx context.Context, token member.Token) (found outbound.SignedIn, err error) {
	if found, err = s.recognize(ctx, token); err != nil {
		return found, err
	}
	who := tenant.Caller{KeyType: tenant.Session, Member: tenant.Member{Session: string(found.Session.ID())}}
	most := tenant.DefaultQuota(tenant.Session).PerMinute
	allowed, err := s.limiter.Allow(ctx, who.Counted(), most, time.Minute)
	if err == nil && !allowed.Granted {
		e := domain.Fail(domain.RateLimited, "rate_limit_exceeded", "Rate limit exceeded: %d requests a minute with a session. Try again in %d seconds.", most, int(allowed.RetryAfter.Seconds())+1)
		e.RetryAfter = allowed.RetryAfter
		return found, e
	}
	return found, err
}

// errNoTenant is the error for a tenant that somebody is no member of, whether or not there is such a tenant.
func errNoTenant() error {
	return domain.Fail(domain.NotFound, "tenant_not_found", "You are no member of such a tenant.")
}
