package outbound

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/domain/tenant"
)

// MemberStores keep who uses the console.
type MemberStores struct {
	Users       UserRepository
	Memberships MembershipRepository
	OfUsers     MembershipsOfUsers
	Sessions    SessionRepository
	Links       LinkRepository
	Letters     LetterRepository

	EndedSessions Ended
	EndedLinks    Ended
	EndedLetters  Ended
}

// Ended are the records of a kind that have ended, whosever they are.
type Ended interface {
	// Sweep removes at most limit of those that ended before the time, and returns how many.
	Sweep(ctx context.Context, before time.Time, limit int) (int, error)
}

// UserRepository keeps users. They belong to no tenant, so it is scoped to none: a caller of a tenant
// reaches users through their memberships only.
type UserRepository interface {
	// Insert adds a user. An address that another one has is a Conflict with the code user_exists.
	Insert(ctx context.Context, u *member.User) error

	// Get returns NotFound with the code user_not_found for an unknown id.
	Get(ctx context.Context, id tenant.UserID) (*member.User, error)

	// FindByEmail returns NotFound with the code user_not_found where nobody has the address.
	FindByEmail(ctx context.Context, address member.Email) (*member.User, error)

	// FindByIdentity returns NotFound with the code user_not_found for an identity that nobody has.
	FindByIdentity(ctx context.Context, identity member.Identity) (*member.User, error)

	// Update writes a user. An identity that another user has is a Conflict with the code identity_taken.
	Update(ctx context.Context, u *member.User) error

	// List returns a page of all users, the newest first, and their exact number.
	List(ctx context.Context, page domain.PageRequest) (domain.Page[*member.User], error)
}

// Member is a membership with the user whose it is.
type Member struct {
	Membership *member.Membership
	User       *member.User
}

// MembershipRepository keeps who is a member of a tenant.
type MembershipRepository interface {
	// Insert adds a membership. One of the same user and tenant is a Conflict with the code member_exists.
	Insert(ctx context.Context, m *member.Membership) error

	// Get returns NotFound with the code member_not_found for an unknown id.
	Get(ctx context.Context, owner tenant.ID, id member.MembershipID) (Member, error)

	Update(ctx context.Context, m *member.Membership) error

	// Delete removes a membership. An unknown id is NotFound with the code member_not_found.
	Delete(ctx context.Context, owner tenant.ID, id member.MembershipID) error

	// List returns a page of a tenant's members, the newest first, and their exact number.
	List(ctx context.Context, owner tenant.ID, page domain.PageRequest) (domain.Page[Member], error)

	// CountAdmins counts the tenant's admins who can sign in: who have come in, and are not disabled. In a unit that writes, it also holds back other
	// units that count the same tenant's, so that two of them cannot each remove the last but one.
	CountAdmins(ctx context.Context, owner tenant.ID) (int, error)
}

// MembershipsOfUsers answers of which tenants a user is a member.
type MembershipsOfUsers interface {
	// List returns all memberships of a user with their tenants, whatever the tenants' state, the oldest first.
	List(ctx context.Context, user tenant.UserID) ([]MembershipOf, error)

	// Find returns the user's membership of a tenant, or NotFound with the code tenant_not_found: for an
	// unknown tenant as for one that the user is no member of.
	Find(ctx context.Context, user tenant.UserID, owner tenant.ID) (MembershipOf, error)
}

// MembershipOf is a membership with its tenant.
type MembershipOf struct {
	Membership *member.Membership
	Tenant     *tenant.Tenant
}

// SessionRepository keeps sessions without their tokens.
type SessionRepository interface {
	// Insert adds a session. Of more than member.MaxSessions of the user, those that were not used for the
	// longest time are removed.
	Insert(ctx context.Context, s *member.Session) error

	// Find returns the session with this hash and its user, whatever their state, or NotFound with the code
	// session_not_found. Nothing is kept in memory, so that a session that was ended anywhere is not found.
	Find(ctx context.Context, hash member.TokenHash) (SignedIn, error)

	// List returns the user's sessions, the last used first.
	List(ctx context.Context, user tenant.UserID) ([]*member.Session, error)

	// Touch records that the session was used at the time, unless a later use is on record.
	Touch(ctx context.Context, user tenant.UserID, id member.SessionID, at time.Time) error

	// Delete ends a session. One that the user has not is NotFound with the code session_not_found.
	Delete(ctx context.Context, user tenant.UserID, id member.SessionID) error

	// DeleteOthers ends all sessions of the user but one; all of them where none is named.
	DeleteOthers(ctx context.Context, user tenant.UserID, but member.SessionID) error
}

// SignedIn is a session with its user.
type SignedIn struct {
	Session *member.Session
	User    *member.User
}

// LinkRepository keeps links without their tokens.
type LinkRepository interface {
	// Insert adds a link. Of more than member.MaxLinks of the user for the same purpose, those that end first are removed.
	Insert(ctx context.Context, l *member.Link) error

	// Find returns the link with this hash, or the error member.LinkEnded.
	Find(ctx context.Context, hash member.TokenHash) (*member.Link, error)

	// Take removes a link. Of two units that take the same one only one commits; the other gets the
	// error member.LinkEnded, as does one that takes an unknown link.
	Take(ctx context.Context, hash member.TokenHash) error

	// DeleteAll removes the links of a user.
	DeleteAll(ctx context.Context, user tenant.UserID) error
}

// LetterRepository keeps links that wait to be mailed.
type LetterRepository interface {
	// Insert adds a letter, which is due at a time.
	Insert(ctx context.Context, l member.Letter, due time.Time) error

	// Claim returns the letter that is due for longest, with this attempt counted, and keeps it from others until a time.
	// ok is false where none is due.
	Claim(ctx context.Context, now, until time.Time) (l member.Letter, ok bool, err error)

	// Postpone says when a letter is due again, as it was claimed: one that somebody else has claimed since stays as it is.
	Postpone(ctx context.Context, claimed member.Letter, due time.Time) error

	// Delete removes a letter as it was claimed; one that is gone, or that somebody else has claimed since, is no error.
	Delete(ctx context.Context, claimed member.Letter) error
}
