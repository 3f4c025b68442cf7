package member

import (
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// Purpose says what a link is for.
type Purpose string

// The purposes of links.
const (
	Invitation Purpose = "invitation" // sets the first password
	Reset      Purpose = "reset"      // sets another password
	SignIn     Purpose = "signIn"     // only signs in
)

// How long links live.
const (
	LinkLife   = 72 * time.Hour
	SignInLife = 15 * time.Minute
)

// MaxLinks is how many links a user has at once for one purpose. The one that ends first makes room: asking for resets takes nobody's
// invitation away.
const MaxLinks = 10

// Link lets whoever has it come in as a user, once.
type Link struct{ state LinkState }

// LinkState is everything a store keeps of a link.
type LinkState struct {
	Hash    TokenHash
	User    tenant.UserID
	Purpose Purpose
	ShownTo tenant.ID // whose admin was shown it; empty for one that was mailed, or that the operator was shown
	EndsAt  time.Time
}

// NewLink makes a link of the token.
func NewLink(user tenant.UserID, purpose Purpose, token Token, now time.Time) *Link {
	life := LinkLife
	if purpose == SignIn {
		life = SignInLife
	}
	return &Link{LinkState{Hash: token.Hash(), User: user, Purpose: purpose, EndsAt: now.Add(life)}}
}

// RestoreLink rebuilds a link from what a store kept.
func RestoreLink(s LinkState) *Link { return &Link{s} }

// State returns what a store has to keep.
func (l *Link) State() LinkState { return l.state }

// User is who comes in by it.
func (l *Link) User() tenant.UserID { return l.state.User }

// ShownTo notes whose admin is shown the link.
func (l *Link) ShownTo(owner tenant.ID) *Link {
	l.state.ShownTo = owner
	return l
}

// Vouches notes in the user that somebody came in by the link.
func (l *Link) Vouches(u *User) { u.Vouch(l.state.ShownTo) }

// Purpose says what it is for.
func (l *Link) Purpose() Purpose { return l.state.Purpose }

// SetsPassword says whether whoever uses it chooses a password.
func (l *Link) SetsPassword() bool { return l.state.Purpose != SignIn }

// LinkEnded is the error of a link that is unknown, has ended or was used: NotFound with the code link_ended.
// Nobody is told which.
func LinkEnded() error {
	return domain.Fail(domain.NotFound, "link_ended", "The link is not valid any more: it is used once, and has a last day. Ask for a new one.")
}

// Check says whether the link can still be used.
func (l *Link) Check(now time.Time) error {
	if !now.Before(l.state.EndsAt) {
		return LinkEnded()
	}
	return nil
}
