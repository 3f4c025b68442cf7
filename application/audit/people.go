package audit

import (
	"cmp"
	"context"
	"time"

	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

type users struct {
	outbound.UserRepository
	*recorder
}

// Insert adds the record and records it.
func (s users) Insert(ctx context.Context, u *member.User) error {
	return s.made(operators, "user", string(u.ID()), u, s.UserRepository.Insert(ctx, u))
}

// Update writes the record and records what changes.
func (s users) Update(ctx context.Context, u *member.User) error {
	s.byOwner(u.ID(), cmp.Or(u.Name(), string(u.Email())))
	return changed(s.recorder, operators, "user", string(u.ID()), u, func() (*member.User, error) { return s.Get(ctx, u.ID()) }, func() error { return s.UserRepository.Update(ctx, u) })
}

type memberships struct {
	outbound.MembershipRepository
	*recorder
}

// Insert adds the record and records it.
func (s memberships) Insert(ctx context.Context, m *member.Membership) error {
	return s.made(m.Tenant(), "member", string(m.ID()), m, s.MembershipRepository.Insert(ctx, m))
}

func (s memberships) stored(ctx context.Context, owner tenant.ID, id member.MembershipID) func() (*member.Membership, error) {
	return func() (*member.Membership, error) {
		found, err := s.Get(ctx, owner, id)
		return found.Membership, err
	}
}

// Update writes the record and records what changes.
func (s memberships) Update(ctx context.Context, m *member.Membership) error {
	return changed(s.recorder, m.Tenant(), "member", string(m.ID()), m, s.stored(ctx, m.Tenant(), m.ID()), func() error { return s.MembershipRepository.Update(ctx, m) })
}

// Delete removes the record and records what it was.
func (s memberships) Delete(ctx context.Context, owner tenant.ID, id member.MembershipID) error {
	return removed(s.recorder, owner, "member", string(id), s.stored(ctx, owner, id), func() error { return s.MembershipRepository.Delete(ctx, owner, id) })
}

type sessions struct {
	outbound.SessionRepository
	*recorder
}

// Delete removes the record and records what it was.
func (s sessions) Delete(ctx context.Context, user tenant.UserID, id member.SessionID) error {
	s.byOwner(user, "")
	return s.touched(operators, "session", string(id), s.SessionRepository.Delete(ctx, user, id))
}

type links struct {
	outbound.LinkRepository
	*recorder
}

// Insert adds the record and records it.
func (s links) Insert(ctx context.Context, l *member.Link) error {
	return s.touched(operators, "user", string(l.User()), s.LinkRepository.Insert(ctx, l))
}

type consents struct {
	outbound.ConsentRepository
	*recorder
}

// Insert adds the record and records it.
func (s consents) Insert(ctx context.Context, r *connection.ConsentRequest, now time.Time) error {
	return s.touched(r.Tenant(), connectionKind, string(r.Connection()), s.ConsentRepository.Insert(ctx, r, now))
}

type grants struct {
	outbound.GrantRepository
	*recorder
}

// Update writes what an authorization server gave, and records what changes of the connection by it.
func (s grants) Update(ctx context.Context, g *connection.Grant) error {
	return changed(s.recorder, g.Tenant(), connectionKind, string(g.Connection()), g,
		func() (*connection.Grant, error) {
			before, _, err := s.Get(ctx, tenant.All(g.Tenant()), g.Connection())
			return before, err
		}, func() error { return s.GrantRepository.Update(ctx, g) })
}

type nodeSecrets struct {
	outbound.NodeSecretRepository
	*recorder
}

// Insert adds the record and records it.
func (s nodeSecrets) Insert(ctx context.Context, n *tenant.NodeSecret) error {
	return s.made(n.Tenant(), "nodeSecret", "", n, s.NodeSecretRepository.Insert(ctx, n))
}

// Update writes the record and records what changes.
func (s nodeSecrets) Update(ctx context.Context, n *tenant.NodeSecret) error {
	return changed(s.recorder, n.Tenant(), "nodeSecret", "", n, func() (*tenant.NodeSecret, error) { return s.Get(ctx, n.Tenant()) }, func() error { return s.NodeSecretRepository.Update(ctx, n) })
}

// secrets are the gateway's own.
type secrets struct {
	outbound.SecretRepository
	*recorder
}

// BeginRotation adds a key and records that.
func (s secrets) BeginRotation(ctx context.Context, from int64, wrapped []byte) error {
	return s.touched(operators, "secrets", "", s.SecretRepository.BeginRotation(ctx, from, wrapped))
}
