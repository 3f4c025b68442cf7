package member

import (
	"time"

	"github.com/sluicehq/sluice/domain/tenant"
)

// LetterID identifies a letter.
type LetterID string

// LetterIDPrefix begins every [LetterID].
const LetterIDPrefix = "let"

// Letter is a link that waits to be mailed. It names an address: whether that is a user's is found out when it is sent, and
// the link is made then, so that none is kept.
type Letter struct {
	ID       LetterID
	To       Email
	Purpose  Purpose
	Inviting tenant.ID // into whose tenant; empty for the installation
	Attempts int       // to send it
	EndsAt   time.Time // after which it is given up
}

// NewLetter makes one.
func NewLetter(id LetterID, to Email, purpose Purpose, inviting tenant.ID, now time.Time) Letter {
	return Letter{ID: id, To: to, Purpose: purpose, Inviting: inviting, EndsAt: now.Add(LinkLife)}
}

// maxLetterPause is the longest pause between two attempts.
const maxLetterPause = 30 * time.Minute

// Pause is how long to wait after the attempts that have failed.
func (l Letter) Pause() time.Duration {
	const first = 15 * time.Second
	return min(first<<min(max(0, l.Attempts-1), 10), maxLetterPause)
}

// IsFor says whether the user gets it. Who was disabled, has come in since an invitation, or signs in with an identity provider
// does not.
func (l Letter) IsFor(u *User) bool {
	if l.Purpose == Reset && u.state.PasswordHash == "" && !u.state.Identity.IsZero() {
		return false
	}
	return u.CheckLink(l.Purpose) == nil
}
