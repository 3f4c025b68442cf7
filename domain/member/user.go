package member

import (
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// The prefixes of this package's identifiers.
const (
	UserIDPrefix       = "usr"
	MembershipIDPrefix = "mem"
	SessionIDPrefix    = "ses"
)

// MaxName bounds the name of a user, in characters.
const MaxName = 255

// User is a person who signs in to the console. Build one with [NewUser] or [RestoreUser].
type User struct{ state UserState }

// UserState is everything a store keeps of a user.
type UserState struct {
	ID           tenant.UserID
	Email        Email
	Name         string // for people; empty until somebody gives one
	Language     tenant.Language
	IsOperator   bool      // one of the operator's own people
	PasswordHash string    `fact:"password,hidden"` // empty for somebody who has no password
	Identity     Identity  // with whom the person signs in elsewhere; the zero value for nobody
	VouchedBy    tenant.ID // whose admin made the user, or was shown the link that somebody came in by; empty where the address was made sure of
	CreatedAt    time.Time
	DisabledAt   *time.Time
	Revision     int64 // 1 at first; a store raises it with every update and refuses a stale one
}

// Identity is who somebody is at a provider of identities. Issuer and subject decide, never the address.
type Identity struct{ Issuer, Subject string }

// IsZero says whether it is nobody.
func (i Identity) IsZero() bool { return i == Identity{} }

// UserDraft is what a user is made of.
type UserDraft struct {
	Email      string
	Name       string
	Language   *tenant.Language // nil means English
	IsOperator bool
}

// NewUser makes a user who cannot sign in yet: a link or an identity provider lets the person in. Every
// violation is reported at once, with the code user_invalid.
func NewUser(id tenant.UserID, d UserDraft, now time.Time) (*User, error) {
	var r domain.Rules
	language := tenant.English
	domain.Set(&language, d.Language)
	address := readEmail(&r, d.Email, "email")
	r.Text(d.Name, "name", 0, MaxName)
	checkLanguage(&r, language)
	if err := r.Err("user_invalid", "The user is not valid."); err != nil {
		return nil, err
	}
	return &User{UserState{
		ID: id, Email: address, Name: d.Name, Language: language, IsOperator: d.IsOperator, CreatedAt: now, Revision: 1,
	}}, nil
}

// RestoreUser rebuilds a user from what a store kept.
func RestoreUser(s UserState) *User {
	s.DisabledAt = domain.CopyOf(s.DisabledAt)
	return &User{s}
}

// Facts are what the audit log says of it.
func (u *User) Facts() domain.Facts { return domain.FactsOf(u.state) }

// State returns what a store has to keep.
func (u *User) State() UserState {
	s := u.state
	s.DisabledAt = domain.CopyOf(s.DisabledAt)
	return s
}

// ID identifies the user.
func (u *User) ID() tenant.UserID { return u.state.ID }

// Email is where the user gets mail, and what the user signs in with.
func (u *User) Email() Email { return u.state.Email }

// Name is for people; empty where nobody gave one.
func (u *User) Name() string { return u.state.Name }

// Language is in which the user reads the console and is written to.
func (u *User) Language() tenant.Language { return u.state.Language }

// IsOperator says whether the user is one of the operator's own people.
func (u *User) IsOperator() bool { return u.state.IsOperator }

// PasswordHash is what a password is held against; empty for none.
func (u *User) PasswordHash() string { return u.state.PasswordHash }

// Identity is who the user is at a provider of identities.
func (u *User) Identity() Identity { return u.state.Identity }

// CreatedAt is when the user was made.
func (u *User) CreatedAt() time.Time { return u.state.CreatedAt }

// DisabledAt is since when the user cannot sign in; nil for a user who can.
func (u *User) DisabledAt() *time.Time { return domain.CopyOf(u.state.DisabledAt) }

// IsDisabled says whether the user cannot sign in.
func (u *User) IsDisabled() bool { return u.state.DisabledAt != nil }

// HasEntered says whether somebody has come in as this user, and can come in again without a link.
func (u *User) HasEntered() bool { return u.state.PasswordHash != "" || !u.state.Identity.IsZero() }

// Revision counts the user's changes.
func (u *User) Revision() int64 { return u.state.Revision }

// Saved notes that a store kept the changes, which raises the revision by one.
func (u *User) Saved() { u.state.Revision++ }

// VouchedBy is the tenant for whose admin's word alone the user is who has the address; empty for nobody's.
func (u *User) VouchedBy() tenant.ID { return u.state.VouchedBy }

// Vouch notes whose admin says who the user is.
func (u *User) Vouch(by tenant.ID) { u.state.VouchedBy = by }

// CheckJoins returns nil when the user may become a member of the tenant: else a Conflict with the code user_not_confirmed, since
// an admin of another tenant may have come in as the user.
func (u *User) CheckJoins(owner tenant.ID) error {
	if by := u.state.VouchedBy; u.HasEntered() && by != "" && by != owner {
		return domain.Fail(domain.Conflict, "user_not_confirmed",
			"Somebody came in with this address by a link that the admin of another tenant was shown, so nobody knows whose account it is. The operator can make sure: sluice user reset.")
	}
	return nil
}

// ChooseLanguage has the user read and be written to in a language. One that there is not is reported with the code user_invalid.
func (u *User) ChooseLanguage(language tenant.Language) error {
	var r domain.Rules
	checkLanguage(&r, language)
	if err := r.Err("user_invalid", "The user is not valid."); err != nil {
		return err
	}
	u.state.Language = language
	return nil
}

// TakeLanguage has a user whom nothing has changed since they were made read in the language of the browser, unless whoever made
// the user has named another one than English; it says whether that changes anything.
func (u *User) TakeLanguage(preferred tenant.Language) bool {
	if u.state.Revision > 1 || u.state.Language != tenant.English || preferred == tenant.English || !preferred.Valid() {
		return false
	}
	u.state.Language = preferred
	return true
}

func checkLanguage(r *domain.Rules, language tenant.Language) {
	r.Check(language.Valid(), "language", domain.NotAllowed, "must be one of %s, not %q", domain.OneOf(tenant.Languages()...), string(language))
}

// SetPassword keeps the hash of a new password.
func (u *User) SetPassword(hash string) { u.state.PasswordHash = hash }

// Disable keeps the user out. A disabled user stays as it is.
func (u *User) Disable(now time.Time) {
	if u.state.DisabledAt == nil {
		u.state.DisabledAt = &now
	}
}

// Enable lets the user in again.
func (u *User) Enable() { u.state.DisabledAt = nil }

// CheckLink returns nil when the user may get a link of the purpose: else a Conflict with the code user_disabled, or
// user_has_entered for an invitation of somebody who has come in.
func (u *User) CheckLink(p Purpose) error {
	switch {
	case u.IsDisabled():
		return domain.Fail(domain.Conflict, "user_disabled", "The user is disabled.")
	case p == Invitation && u.HasEntered():
		return domain.Fail(domain.Conflict, "user_has_entered", "The user has come in already, and needs no invitation.")
	default:
		return nil
	}
}

// Join ties the user to an identity whose provider has verified the user's address, in place of a password. A user
// who is tied to one stays with it, and another identity with the same address is refused as [SignInRefused].
func (u *User) Join(i Identity, name string) error {
	if !u.state.Identity.IsZero() && u.state.Identity != i || i.Issuer == "" || i.Subject == "" {
		return SignInRefused()
	}
	if u.state.Identity.IsZero() {
		u.state.PasswordHash = ""
	}
	u.state.Identity, u.state.VouchedBy = i, ""
	var r domain.Rules
	if r.Text(name, "name", 1, MaxName); u.state.Name == "" && r.Violations() == nil {
		u.state.Name = name
	}
	return nil
}

// SignInRefused is the error of every sign-in that fails, whatever the reason: Unauthenticated with the code
// sign_in_refused. Nobody is told whether there is such a user.
func SignInRefused() error {
	return domain.Fail(domain.Unauthenticated, "sign_in_refused", "Email and password do not fit together, or nobody with them may sign in here.")
}
