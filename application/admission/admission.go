// Package admission implements inbound.Admission: it finds out who is asking and
// whether they may.
package admission

import (
	"context"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// minute is the span that requests are counted over.
const minute = time.Minute

// Service implements inbound.Admission.
type Service struct {
	directory outbound.Directory
	members   inbound.MemberSessions
	limiter   outbound.Limiter
	clock     outbound.Clock
}

var _ inbound.Admission = (*Service)(nil)

// New returns the service.
func New(directory outbound.Directory, members inbound.MemberSessions, limiter outbound.Limiter, clock outbound.Clock) *Service {
	return &Service{directory: directory, members: members, limiter: limiter, clock: clock}
}

// Admit recognizes the caller, counts the request and checks the permission.
func (s *Service) Admit(ctx context.Context, with inbound.Credentials, op tenant.Operation) (inbound.Admitted, error) {
	in := inbound.Admitted{Leave: func() {}}
	who, err := s.recognize(ctx, with)
	isKnown := err == nil || who.Member.Session != "" // who tries one tenant after the other is counted, too
	if !isKnown {
		return in, err
	}
	in.Caller = who
	if counted := s.count(ctx, &in); counted != nil {
		return in, counted
	}
	if err != nil {
		return in, err
	}
	return in, allow(who, with.Origin, op)
}

// Confirm recognizes the caller again, which is no use of its key or session.
func (s *Service) Confirm(ctx context.Context, with inbound.Credentials, op tenant.Operation) (err error) {
	var who tenant.Caller
	if with.Member != nil {
		who, err = s.members.ConfirmMember(ctx, *with.Member)
	} else {
		who, _, err = s.identify(ctx, with.Key)
	}
	if err != nil {
		return err
	}
	return allow(who, with.Origin, op)
}

// allow says whether a caller may perform an operation from a page of the origin, empty for none.
func allow(who tenant.Caller, origin string, op tenant.Operation) error {
	if origin != "" && !who.Narrowing.AllowsOrigin(origin) {
		return domain.Fail(domain.Forbidden, "origin_not_allowed", "The token may not be used by pages of %s: its origins are %s.", origin, strings.Join(who.Narrowing.Origins, ", "))
	}
	return who.May(op)
}

// recognize finds out who is asking, and notes that the key or the session was used.
func (s *Service) recognize(ctx context.Context, with inbound.Credentials) (tenant.Caller, error) {
	if with.Member != nil {
		return s.members.RecognizeMember(ctx, *with.Member)
	}
	who, found, err := s.identify(ctx, with.Key)
	if err == nil {
		s.directory.RecordUse(ctx, found, s.clock.Now())
	}
	return who, err
}

func (s *Service) identify(ctx context.Context, keyText string) (who tenant.Caller, found outbound.Credential, err error) {
	text, err := tenant.ParseKeyText(keyText)
	if err != nil {
		return who, found, errUnknownKey()
	}
	found, err = s.directory.Credential(ctx, text.Hash())
	switch {
	case errors.Is(err, domain.NotFound):
		return who, found, errUnknownKey()
	case err != nil:
		return who, found, err
	}
	if !found.Key.Usable(s.clock.Now()) || found.Tenant.Status() != tenant.Active {
		return who, found, errUnknownKey()
	}
	return tenant.CallerWith(found.Key, found.Tenant), found, nil
}

// count takes one of the caller's requests of this minute and one of its places.
func (s *Service) count(ctx context.Context, in *inbound.Admitted) error {
	who := in.Caller
	quota := who.Settings.Quota(who.KeyType)
	entry, err := s.limiter.Acquire(ctx, who.Counted(), quota.PerMinute, minute, quota.Concurrent)
	in.Leave = entry.Release
	if err != nil {
		return err
	}
	in.Allowance = &inbound.Allowance{Limit: quota.PerMinute, Remaining: entry.Remaining, Reset: entry.Reset}
	switch {
	case !entry.Granted:
		seconds := int(math.Ceil(entry.RetryAfter.Seconds()))
		e := domain.Fail(domain.RateLimited, "rate_limit_exceeded",
			"Rate limit exceeded: %d requests a minute with %s. Try again in %d seconds.", quota.PerMinute, who.KeyType.Called(), seconds)
		e.RetryAfter = entry.RetryAfter
		return e
	case !entry.Acquired:
		e := domain.Fail(domain.RateLimited, "too_many_concurrent_requests",
			"Too many requests at the same time: at most %d with %s. Try again in 1 second.", quota.Concurrent, who.KeyType.Called())
		e.RetryAfter = time.Second
		return e
	}
	return nil
}

func errUnknownKey() *domain.Error {
	return domain.Fail(domain.Unauthenticated, "unauthenticated",
		"A valid API key is required in the header X-API-Key.")
}
