package inbound

import (
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/domain/tenant"
)

// Users is what the operator does with users. An address that nobody has is NotFound with the code user_not_found,
// and a link for a disabled user a Conflict with the code user_disabled.
type Users interface {
	// Create makes a user, with an invitation. A Conflict with the code user_exists, or Invalid with user_invalid.
	Create(ctx context.Context, d member.UserDraft) (UserWithLink, error)

	// Invite makes another invitation for a user who has not come in yet; for any other one it is a Conflict with
	// the code user_has_entered.
	Invite(ctx context.Context, address string) (UserWithLink, error)

	// Reset makes a link that sets another password, or the first one.
	Reset(ctx context.Context, address string) (UserWithLink, error)

	// SignInLink makes a link that only signs in, and is never mailed.
	SignInLink(ctx context.Context, address string) (UserWithLink, error)

	// List returns a page of all users, the newest first.
	List(ctx context.Context, page domain.PageRequest) (domain.Page[*member.User], error)

	// Disable keeps a user out, and ends the sessions and links.
	Disable(ctx context.Context, address string) (*member.User, error)

	// Enable lets a disabled user in again.
	Enable(ctx context.Context, address string) (*member.User, error)
}

// UserWithLink is a user with the link by which the person comes in.
type UserWithLink struct {
	User *member.User
	Link string // empty where nobody but the person may see it

	Mailed bool // another one is on its way to the person by mail
}

// Memberships is what the operator and admins do with the members of a tenant. An id that no member of the tenant has
// is NotFound with the code member_not_found, and a revision that is not among the expected ones a Conflict with the code
// stale_revision.
type Memberships interface {
	// Add makes somebody a member. Who has no account gets one, and who has not come in yet gets an invitation:
	// by mail, and to the operator it is shown as well. An admin sees it only where nothing is mailed and the
	// person is nobody outside the tenant yet, since whoever sees it can come in by it; else it is a Conflict with the
	// code invitation_needs_mail. Somebody who is a member is a Conflict with the code member_exists, mistakes are Invalid
	// with member_invalid. What a repeat gets is a Member.
	Add(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, d MemberDraft) (AddedMember, error)

	// Change gives a member another role, at once in every process. Invalid with the code member_invalid, and the
	// Conflict of Remove for the last admin.
	Change(ctx context.Context, who tenant.Caller, id member.MembershipID, at domain.Expected, role tenant.Role) (Member, error)

	// End is Remove by the identifier.
	End(ctx context.Context, who tenant.Caller, id member.MembershipID, at domain.Expected) error

	// Remove ends the membership of the user with an address, at once in every process. The tenant's last admin stays: a Conflict with the code last_admin. Somebody who is
	// no member is NotFound with the code member_not_found.
	Remove(ctx context.Context, who tenant.Caller, address string) (Member, error)

	// List returns a page of the members, the newest first.
	List(ctx context.Context, who tenant.Caller, page domain.PageRequest) (domain.Page[Member], error)
}

// MemberDraft says who becomes a member.
type MemberDraft struct {
	Email string
	Role  tenant.Role
}

// Member is a membership with the user whose it is.
type Member struct {
	Membership *member.Membership
	User       *member.User
}

// Revision counts the changes of the membership.
func (m Member) Revision() int64 { return m.Membership.Revision() }

// AddedMember is a new member.
type AddedMember struct {
	Member
	Link string // the invitation, shown once; empty for somebody who needs none, and where nobody but the person may see it

	Mailed bool // one is on its way to the person by mail
}
