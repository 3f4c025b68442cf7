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
	work    outbound.UnitOfWork
	clock   outbound.Clock
	random  outbound.Random
	letters Letters
}

var _ inbound.Users = (*Users)(nil)

// NewUsers returns what the operator does with users.
func NewUsers(work outbound.UnitOfWork, clock outbound.Clock, random outbound.Random, l Letters) *Users {
	return &Users{work, clock, random, l}
}

// installation is what an invitation names that is not of a tenant.
const installation = "Sluice"

// Create makes a user, with an invitation.
func (o *Users) Create(ctx context.Context, d member.UserDraft) (made inbound.UserWithLink, err error) {
	now, token := o.clock.Now(), newToken(o.random)
	u, err := member.NewUser(tenant.UserID(o.random.ID(member.UserIDPrefix)), d, now)
	if err != nil {
		return made, err
	}
	err = o.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if err := st.Members.Users.Insert(ctx, u); err != nil {
			return err
		}
		if err := st.Members.Links.Insert(ctx, member.NewLink(u.ID(), member.Invitation, token, now)); err != nil {
			return err
		}
		return o.letters.queue(ctx, st, o.random, u.Email(), member.Invitation, "", now)
	})
	if err != nil {
		return made, err
	}
	return inbound.UserWithLink{User: u, Link: o.letters.address(token), Mailed: o.letters.Mailer.Enabled()}, nil
}

// find returns who has an address.
func find(ctx context.Context, st outbound.Stores, address string) (*member.User, error) {
	email, ok := member.ParseEmail(address)
	if !ok {
		return nil, domain.Fail(domain.NotFound, "user_not_found", "There is no such user.")
	}
	return st.Members.Users.FindByEmail(ctx, email)
}

// Invite makes another invitation.
func (o *Users) Invite(ctx context.Context, address string) (inbound.UserWithLink, error) {
	return o.link(ctx, address, member.Invitation)
}

// Reset makes a link that sets another password.
func (o *Users) Reset(ctx context.Context, address string) (inbound.UserWithLink, error) {
	return o.link(ctx, address, member.Reset)
}

// SignInLink makes a link that only signs in.
func (o *Users) SignInLink(ctx context.Context, address string) (inbound.UserWithLink, error) {
	return o.link(ctx, address, member.SignIn)
}

// link makes a link for a user, and has one mailed that sets a password.
func (o *Users) link(ctx context.Context, address string, purpose member.Purpose) (made inbound.UserWithLink, err error) {
	now, token := o.clock.Now(), newToken(o.random)
	err = o.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		u, err := find(ctx, st, address)
		if err != nil {
			return err
		}
		if err := u.CheckLink(purpose); err != nil {
			return err
		}
		link := member.NewLink(u.ID(), purpose, token, now)
		made = inbound.UserWithLink{User: u, Link: o.letters.address(token), Mailed: link.SetsPassword() && o.letters.Mailer.Enabled()}
		if err := st.Members.Links.Insert(ctx, link); err != nil || !made.Mailed {
			return err
		}
		return o.letters.queue(ctx, st, o.random, u.Email(), purpose, "", now)
	})
	if err != nil {
		return inbound.UserWithLink{}, err
	}
	return made, nil
}

// List returns a page of all users.
func (o *Users) List(ctx context.Context, page domain.PageRequest) (found domain.Page[*member.User], err error) {
	err = o.work.View(ctx, func(ctx context.Context, st outbound.Stores) error {
		found, err = st.Members.Users.List(ctx, page)
		return err
	})
	return found, err
}

// Disable keeps a user out, and ends the sessions and links.
func (o *Users) Disable(ctx context.Context, address string) (*member.User, error) {
	now := o.clock.Now()
	return o.change(ctx, address, func(ctx context.Context, st outbound.Stores, u *member.User) error {
		u.Disable(now)
		return errors.Join(st.Members.Links.DeleteAll(ctx, u.ID()), st.Members.Sessions.DeleteOthers(ctx, u.ID(), ""))
	})
}

// Enable lets a user in again.
func (o *Users) Enable(ctx context.Context, address string) (*member.User, error) {
	return o.change(ctx, address, func(_ context.Context, _ outbound.Stores, u *member.User) error {
		u.Enable()
		return nil
	})
}

func (o *Users) change(ctx context.Context, address string, verb func(context.Context, outbound.Stores, *member.User) error) (u *member.User, err error) {
	err = o.work.Do(ctx, func(ctx context.Context, st outbound.Stores) error {
		if u, err = find(ctx, st, address); err != nil {
			return err
		}
		if err := verb(ctx, st, u); err != nil {
			return err
		}
		return st.Members.Users.Update(ctx, u)
	})
	return u, err
}
