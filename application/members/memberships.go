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

// Memberships implements inbound.Memberships.
type Memberships struct {
	work    outbound.UnitOfWork
	clock   outbound.Clock
	random  outbound.Random
	letters Letters
}

var _ inbound.Memberships = (*Memberships)(nil)

// NewMemberships returns what the operator and admins do with members.
func NewMemberships(work outbound.UnitOfWork, clock outbound.Clock, random outbound.Random, l Letters) *Memberships {
	return &Memberships{work, clock, random, l}
}

// Add makes somebody a member.
func (m *Memberships) Add(ctx context.Context, who tenant.Caller, d inbound.MemberDraft) (added inbound.AddedMember, err error) {
	token := newToken(m.random)
	var invited bool
	var inviting *tenant.Tenant
	err = m.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if inviting, err = st.Tenants.Get(ctx, who.Tenant()); err != nil {
			return err
		}
		added, invited, err = m.join(ctx, st, who, d, token)
		return err
	})
	if err != nil {
		return inbound.AddedMember{}, err
	}
	if !invited {
		return added, nil
	}
	if isOperator(who) || !m.letters.Mailer.Enabled() {
		added.Link = m.letters.address(token)
	}
	added.Mail = m.letters.send(ctx, added.User, member.Invitation, token, inviting.Name())
	return added, nil
}

// isOperator says whether it is not the tenant who asks.
func isOperator(who tenant.Caller) bool { return who.Actor().Kind == tenant.ByOperator }

// join makes somebody a member in a unit, with the token as an invitation for who has not come in yet.
func (m *Memberships) join(ctx context.Context, st outbound.Stores, who tenant.Caller, d inbound.MemberDraft, token member.Token) (added inbound.AddedMember, invited bool, err error) {
	now := m.clock.Now()
	u, err := m.findOrMake(ctx, st, d.Email)
	if err != nil {
		return added, false, err
	}
	if err := m.checkInvitation(ctx, st, who, u); err != nil {
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
		err = st.Members.Links.Insert(ctx, member.NewLink(u.ID(), member.Invitation, token, now))
	}
	added.Member = inbound.Member{Membership: one, User: u}
	return added, invited, err
}

func (m *Memberships) findOrMake(ctx context.Context, st outbound.Stores, address string) (*member.User, error) {
	u, err := find(ctx, st, address)
	if !errors.Is(err, domain.NotFound) {
		return u, err
	}
	u, err = member.NewUser(tenant.UserID(m.random.ID(member.UserIDPrefix)), member.UserDraft{Email: address}, m.clock.Now())
	if err != nil {
		return nil, err
	}
	return u, st.Members.Users.Insert(ctx, u)
}

// checkInvitation returns nil where the person is reached by mail, or else may be reached through whoever asks: an
// admin who sees an invitation can come in as the person. That harms nobody while the person is nobody elsewhere.
// Where nothing is mailed, an admin has not made sure either who has come in as a user of another tenant.
func (m *Memberships) checkInvitation(ctx context.Context, st outbound.Stores, who tenant.Caller, u *member.User) error {
	if isOperator(who) || m.letters.Mailer.Enabled() {
		return nil
	}
	all, err := st.Members.OfUsers.List(ctx, u.ID())
	if err != nil {
		return err
	}
	elsewhere := u.HasEntered() || u.IsOperator()
	for _, of := range all {
		elsewhere = elsewhere || of.Tenant.ID() != who.Tenant()
	}
	if elsewhere {
		return domain.Fail(domain.Conflict, "invitation_needs_mail", "There is an account with this address already, and without a mail server nobody can ask the person. The operator can add the member: sluice member add.")
	}
	return nil
}

// Remove ends a membership.
func (m *Memberships) Remove(ctx context.Context, who tenant.Caller, address string) (gone inbound.Member, err error) {
	err = m.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		// The admins are locked before the one who leaves, in the same order by everybody.
		admins, err := st.Members.Memberships.CountAdmins(ctx, who.Tenant())
		if err != nil {
			return err
		}
		u, err := find(ctx, st, address)
		if err != nil {
			return noMember(err)
		}
		of, err := st.Members.OfUsers.Find(ctx, u.ID(), who.Tenant())
		if err != nil {
			return noMember(err)
		}
		if !u.IsDisabled() { // who is disabled does not count as an admin
			if err := of.Membership.KeepAnAdmin(admins); err != nil {
				return err
			}
		}
		gone = inbound.Member{Membership: of.Membership, User: u}
		return st.Members.Memberships.Delete(ctx, who.Tenant(), of.Membership.ID())
	})
	return gone, err
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
