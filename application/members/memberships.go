package members

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Memberships implements inbound.Memberships.
type Memberships struct {
	work    outbound.UnitOfWork
	clock   outbound.Clock
	random  outbound.Random
	limiter outbound.Limiter
	letters Letters
}

var _ inbound.Memberships = (*Memberships)(nil)

// NewMemberships returns what the operator and admins do with members.
func NewMemberships(work outbound.UnitOfWork, clock outbound.Clock, random outbound.Random, limiter outbound.Limiter, l Letters) *Memberships {
	return &Memberships{work, clock, random, limiter, l}
}

// Add makes somebody a member.
func (m *Memberships) Add(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, d inbound.MemberDraft) (added inbound.AddedMember, err error) {
	if err := who.May(tenant.AddMember); err != nil {
		return added, err
	}
	if err := member.CheckDraft(d.Email, d.Role); err != nil {
		return added, err
	}
	if err := m.limit(ctx, who, d.Email); err != nil {
		return added, err
	}
	now := m.clock.Now()
	token := newToken(m.random)
	var invited bool
	err = m.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Idempotency.Claim(ctx, who.Tenant(), idempotency, now); err != nil {
			return err
		}
		if _, err := st.Tenants.Get(ctx, who.Tenant()); err != nil {
			return err
		}
		if added, invited, err = m.join(ctx, st, who, d, token); err != nil {
			return err
		}
		return st.Idempotency.Record(ctx, who.Tenant(), idempotency, added.Member, now)
	})
	if err != nil {
		return inbound.AddedMember{}, err
	}
	if added.Mailed = invited && m.letters.Mailer.Enabled(); invited && m.shows(who) {
		added.Link = m.letters.address(token)
	}
	return added, nil
}

// shows says whether who adds a member is shown the invitation.
func (m *Memberships) shows(who tenant.Caller) bool {
	return isOperator(who) || !m.letters.Mailer.Enabled()
}

// How often a tenant may add members within an hour, anybody and the same person: each time a mail may go out in its name.
const (
	addedWithin   = time.Hour
	addedByTenant = 100
	addedOfPerson = 5
)

// limit counts that somebody is added; the operator does it as often as need be.
func (m *Memberships) limit(ctx context.Context, who tenant.Caller, address string) error {
	if isOperator(who) {
		return nil
	}
	of := "invite/" + string(who.Tenant())
	for _, count := range []struct {
		subject string
		most    int
	}{{of + "/" + strings.ToLower(address), addedOfPerson}, {of, addedByTenant}} {
		allowed, err := m.limiter.Allow(ctx, count.subject, count.most, addedWithin)
		if err != nil {
			return err
		}
		if !allowed.Granted {
			e := domain.Fail(domain.RateLimited, "too_many_invitations", "At most %d members are added within an hour, and the same one %d times. Try again in %d seconds.",
				addedByTenant, addedOfPerson, int(allowed.RetryAfter.Seconds())+1)
			e.RetryAfter = allowed.RetryAfter
			return e
		}
	}
	return nil
}

// isOperator says whether it is not the tenant who asks.
func isOperator(who tenant.Caller) bool { return who.Actor().Kind == tenant.ByOperator }

// join makes somebody a member in a unit, with the token as an invitation for who has not come in yet.
func (m *Memberships) join(ctx context.Context, st outbound.Stores, who tenant.Caller, d inbound.MemberDraft, token member.Token) (added inbound.AddedMember, invited bool, err error) {
	now := m.clock.Now()
	u, err := m.findOrMake(ctx, st, who, d.Email)
	if err != nil {
		return added, false, err
	}
	if err := cmp.Or(u.CheckJoins(who.Tenant()), m.checkInvitation(ctx, st, who, u)); err != nil {
		return added, false, err
	}
	one, err := member.NewMembership(member.MembershipID(m.random.ID(member.MembershipIDPrefix)), who.Tenant(), u.ID(), d.Role, now)
	if err != nil {
		return added, false, err
	}
	if err := st.Members.Memberships.Insert(ctx, one); err != nil {
		return added, false, err
	}
	if invited = !u.HasEntered(); invited {
		// Whoever was shown an earlier one would come into this tenant by it.
		if err := st.Members.Links.DeleteAll(ctx, u.ID()); err != nil {
			return added, false, err
		}
		if err := m.invite(ctx, st, who, u, token); err != nil {
			return added, false, err
		}
	}
	added.Member = inbound.Member{Membership: one, User: u}
	return added, invited, nil
}

// invite has an invitation mailed, and makes the one that is shown.
func (m *Memberships) invite(ctx context.Context, st outbound.Stores, who tenant.Caller, u *member.User, token member.Token) error {
	now := m.clock.Now()
	if m.shows(who) {
		link := member.NewLink(u.ID(), member.Invitation, token, now)
		if m.vouches(who) {
			link.ShownTo(who.Tenant())
		}
		if err := st.Members.Links.Insert(ctx, link); err != nil {
			return err
		}
	}
	return m.letters.queue(ctx, st, m.random, u.Email(), member.Invitation, who.Tenant(), now)
}

// vouches says whether nothing but the word of whoever asks tells who a new member is.
func (m *Memberships) vouches(who tenant.Caller) bool {
	return !isOperator(who) && !m.letters.Mailer.Enabled()
}

func (m *Memberships) findOrMake(ctx context.Context, st outbound.Stores, who tenant.Caller, address string) (*member.User, error) {
	u, err := find(ctx, st, address)
	if !errors.Is(err, domain.NotFound) {
		return u, err
	}
	u, err = member.NewUser(tenant.UserID(m.random.ID(member.UserIDPrefix)), member.UserDraft{Email: address}, m.clock.Now())
	if err != nil {
		return nil, err
	}
	if m.vouches(who) {
		u.Vouch(who.Tenant())
	}
	return u, st.Members.Users.Insert(ctx, u)
}

// checkInvitation returns nil where the person is reached by mail, or else may be reached through whoever asks: an
// admin who sees an invitation can come in as the person. That harms nobody while the person is somebody for this tenant
// only, and nobody else has made the user.
func (m *Memberships) checkInvitation(ctx context.Context, st outbound.Stores, who tenant.Caller, u *member.User) error {
	if !m.vouches(who) {
		return nil
	}
	all, err := st.Members.OfUsers.List(ctx, u.ID())
	if err != nil {
		return err
	}
	elsewhere := u.VouchedBy() != who.Tenant() || u.IsOperator()
	for _, of := range all {
		if of.Tenant.ID() == who.Tenant() {
			return nil // who is a member already is refused as that
		}
		elsewhere = true
	}
	if elsewhere {
		return domain.Fail(domain.Conflict, "invitation_needs_mail", "There is an account with this address already, and without a mail server nobody can ask the person. The operator can add the member: sluice member add.")
	}
	return nil
}

// Remove ends the membership of who has the address.
func (m *Memberships) Remove(ctx context.Context, who tenant.Caller, address string) (gone inbound.Member, err error) {
	if err := who.May(tenant.RemoveMember); err != nil {
		return gone, err
	}
	err = m.work.Read(ctx, func(ctx context.Context, st outbound.Stores) error {
		u, err := find(ctx, st, address)
		if err != nil {
			return noMember(err)
		}
		of, err := st.Members.OfUsers.Find(ctx, u.ID(), who.Tenant())
		gone = inbound.Member{Membership: of.Membership, User: u}
		return noMember(err)
	})
	if err != nil {
		return inbound.Member{}, err
	}
	return gone, m.End(ctx, who, gone.Membership.ID(), domain.Expected{})
}

// End ends a membership.
func (m *Memberships) End(ctx context.Context, who tenant.Caller, id member.MembershipID, at domain.Expected) error {
	if err := who.May(tenant.RemoveMember); err != nil {
		return err
	}
	return m.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err := m.locked(ctx, st, who.Tenant(), id, at, "")
		if err != nil {
			return err
		}
		return st.Members.Memberships.Delete(ctx, who.Tenant(), found.Membership.ID())
	})
}

// Change gives a member another role.
func (m *Memberships) Change(ctx context.Context, who tenant.Caller, id member.MembershipID, at domain.Expected, role tenant.Role) (changed inbound.Member, err error) {
	if err := who.May(tenant.ChangeMember); err != nil {
		return changed, err
	}
	err = m.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err := m.locked(ctx, st, who.Tenant(), id, at, role)
		if err != nil {
			return err
		}
		if err := found.Membership.Change(role); err != nil {
			return err
		}
		changed = inbound.Member(found)
		return st.Members.Memberships.Update(ctx, found.Membership)
	})
	if err != nil {
		return inbound.Member{}, err
	}
	return changed, nil
}

// locked returns a member who becomes what the role says, empty for nothing, if an admin stays. The admins are locked
// before the member, in the same order by everybody.
func (m *Memberships) locked(ctx context.Context, st outbound.Stores, owner tenant.ID, id member.MembershipID, at domain.Expected, becomes tenant.Role) (found outbound.Member, err error) {
	admins, err := st.Members.Memberships.CountAdmins(ctx, owner)
	if err != nil {
		return found, err
	}
	if found, err = st.Members.Memberships.Get(ctx, owner, id); err != nil {
		return found, err
	}
	if err := at.Check(found.Membership.Revision()); err != nil {
		return found, err
	}
	if becomes == tenant.AdminRole || found.User.IsDisabled() {
		return found, nil
	}
	if !found.User.HasEntered() { // not among those who are counted, of whom one stays all the same
		admins++
	}
	return found, found.Membership.KeepAnAdmin(admins)
}

// noMember says of somebody who is unknown, or a member of another tenant only, the same.
func noMember(err error) error {
	if errors.Is(err, domain.NotFound) {
		return domain.Fail(domain.NotFound, "member_not_found", "There is no such member.")
	}
	return err
}

// List returns a page of the members.
func (m *Memberships) List(ctx context.Context, who tenant.Caller, page domain.PageRequest) (found domain.Page[inbound.Member], err error) {
	if err := who.May(tenant.ReadMembers); err != nil {
		return found, err
	}
	err = m.work.View(ctx, func(ctx context.Context, st outbound.Stores) error {
		all, err := st.Members.Memberships.List(ctx, who.Tenant(), page)
		found = domain.Page[inbound.Member]{Total: all.Total, Limit: all.Limit, Offset: all.Offset}
		for _, one := range all.Items {
			found.Items = append(found.Items, inbound.Member(one))
		}
		return err
	})
	return found, err
}
