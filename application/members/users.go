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

// Users implements inbound.Users.
type Users struct {
	of      *Service
	letters Letters
}

var _ inbound.Users = (*Users)(nil)

// NewUsers returns what the operator does with users.
func NewUsers(of *Service, l Letters) *Users { return &Users{of, l} }

// Create makes a user, with an invitation.
func (o *Users) Create(ctx context.Context, d member.UserDraft) (made inbound.UserWithLink, err error) {
	now, token := o.of.clock.Now(), o.of.token()
	u, err := member.NewUser(tenant.UserID(o.of.random.ID(member.UserIDPrefix)), d, now)
	if err != nil {
		return made, err
	}
	err = o.of.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Members.Users.Insert(ctx, u); err != nil {
			return err
		}
		return st.Members.Links.Insert(ctx, member.NewLink(u.ID(), member.Invitation, token, now))
	})
	if err != nil {
		return made, err
	}
	made.User = u
	made.Link, err = o.letters.hand(ctx, u, member.Invitation, token, "Sluice")
	return made, err
}

// find returns who has an address.
func find(ctx context.Context, st outbound.Stores, address string) (*member.User, error) {
	email, ok := member.ParseEmail(address)
	if !ok {
		return nil, domain.Fail(domain.NotFound, "user_not_found", "There is no such user.")
	}
	return st.Members.Users.FindByEmail(ctx, email)
}

// Link makes another link for a user: an invitation for one who has not come in yet, else one that sets another
// password.
func (o *Users) Link(ctx context.Context, address string) (made inbound.UserWithLink, err error) {
	now, token := o.of.clock.Now(), o.of.token()
	purpose := member.Reset
	err = o.of.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		u, err := find(ctx, st, address)
		if err != nil {
			return err
		}
		if u.IsDisabled() {
			return domain.Fail(domain.Conflict, "user_disabled", "The user is disabled.")
		}
		if made.User = u; !u.HasEntered() {
			purpose = member.Invitation
		}
		return st.Members.Links.Insert(ctx, member.NewLink(u.ID(), purpose, token, now))
	})
	if err != nil {
		return made, err
	}
	made.Link, err = o.letters.hand(ctx, made.User, purpose, token, "Sluice")
	return made, err
}

// List returns a page of all users.
func (o *Users) List(ctx context.Context, page domain.PageRequest) (found domain.Page[*member.User], err error) {
	err = o.of.work.View(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err = st.Members.Users.List(ctx, page)
		return err
	})
	return found, err
}

// Disable keeps a user out, and ends the sessions and links.
func (o *Users) Disable(ctx context.Context, address string) (u *member.User, err error) {
	now := o.of.clock.Now()
	err = o.of.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if u, err = find(ctx, st, address); err != nil {
			return err
		}
		u.Disable(now)
		if err := st.Members.Users.Update(ctx, u); err != nil {
			return err
		}
		return errors.Join(st.Members.Links.DeleteAll(ctx, u.ID()), st.Members.Sessions.DeleteOthers(ctx, u.ID(), ""))
	})
	return u, err
}
