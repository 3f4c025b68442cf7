package inbound

import (
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/member"
)

// Users is what the operator does with users. An address that nobody has is NotFound with the code user_not_found.
type Users interface {
	// Create makes a user, with an invitation. A Conflict with the code user_exists, or Invalid with user_invalid.
	Create(ctx context.Context, d member.UserDraft) (UserWithLink, error)

	// Link makes another link for a user: an invitation for one who has not come in yet, else one that sets another
	// password. A disabled one is a Conflict with the code user_disabled.
	Link(ctx context.Context, address string) (UserWithLink, error)

	// List returns a page of all users, the newest first.
	List(ctx context.Context, page domain.PageRequest) (domain.Page[*member.User], error)

	// Disable keeps a user out, and ends the sessions and links.
	Disable(ctx context.Context, address string) (*member.User, error)
}

// UserWithLink is a user with the link by which the person comes in.
type UserWithLink struct {
	User *member.User
	Link string // empty where it was mailed
}
