package inbound

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/domain/tenant"
)

// Accounts is what people do with their own account, without a tenant. Whoever is signed in is known by the
// token of a session: an unknown or ended one is Unauthenticated with the code signed_out, and beyond the requests that a
// session has a minute everything is RateLimited with the code rate_limit_exceeded.
type Accounts interface {
	// SignIn begins a session. Every reason to refuse it is the same Unauthenticated error with the code
	// sign_in_refused, and takes as long. Too many attempts from one address, or for one account from there
	// or from anywhere, are RateLimited with the code too_many_sign_ins. A session that the browser had before ends,
	// here as wherever else one begins.
	SignIn(ctx context.Context, asked Login, from member.Browser) (Begun, error)

	// WhoAmI returns who is signed in, with the active tenants that the user is a member of.
	WhoAmI(ctx context.Context, token member.Token) (Account, error)

	// SignOut ends the session. One that has ended is no error.
	SignOut(ctx context.Context, token member.Token) error

	// Sessions returns the user's live sessions, the last used first.
	Sessions(ctx context.Context, token member.Token) (OwnSessions, error)

	// EndSession ends a session of the user, which may be this one. An unknown one is NotFound with the code
	// session_not_found.
	EndSession(ctx context.Context, token member.Token, id member.SessionID) error

	// ChooseLanguage sets in which language the user reads and is written to. One that there is not is Invalid with the
	// code user_invalid.
	ChooseLanguage(ctx context.Context, token member.Token, language tenant.Language) error

	// ChangePassword sets another password and ends all other sessions and links of the user. A wrong current one
	// is Forbidden with the code password_wrong, a new one that must not be chosen Invalid, too many attempts
	// RateLimited with the code too_many_sign_ins.
	ChangePassword(ctx context.Context, token member.Token, current, chosen string) error

	// Link says what a link is for, without using it. The errors are those of UseLink; only looks at links that are
	// not good count.
	Link(ctx context.Context, link member.Token, from member.Browser) (OpenLink, error)

	// UseLink begins a session by a link, once. An invitation or a reset sets the password, which is needed and may
	// be Invalid, and ends all other sessions and links of the user. A link that is unknown, was used or has ended
	// is NotFound with the code link_ended, too many attempts from one address are RateLimited with the code
	// too_many_sign_ins.
	UseLink(ctx context.Context, link member.Token, password string, from member.Browser) (Begun, error)
}

// OpenLink is a link that can be used.
type OpenLink struct {
	User         *member.User // who comes in by it
	SetsPassword bool
}

// Login is what somebody signs in with.
type Login struct{ Email, Password string }

// Begun is a session that has begun. Its token is shown once.
type Begun struct {
	Token  member.Token
	EndsAt time.Time // in any case
}

// Account is who is signed in.
type Account struct {
	User        *member.User
	Session     *member.Session
	Memberships []AccountMembership
}

// AccountMembership is a tenant that the user is a member of.
type AccountMembership struct {
	Membership *member.Membership
	TenantName string
	Language   tenant.Language
}

// OwnSessions are the sessions of a user, and which of them asks.
type OwnSessions struct {
	Current  member.SessionID
	Sessions []*member.Session
}

// ForgottenPasswords lets people who cannot sign in choose another password.
type ForgottenPasswords interface {
	// CanAsk says whether there is a mail server, without which nobody can.
	CanAsk() bool

	// Ask has a link mailed by which the person chooses another password. Whether an account has the address shows neither
	// in the outcome nor in the time that it takes. Too many requests from one address or for one account are RateLimited with
	// the code too_many_sign_ins.
	Ask(ctx context.Context, email string, from member.Browser) error
}

// MailQueue mails the links that wait, and tries again for as long as they live.
type MailQueue interface {
	// Run sends mails until ctx ends, and reports what fails.
	Run(ctx context.Context, failed func(error))

	// Panics is how often it panicked, which is a defect each time.
	Panics() int64
}

// SignInElsewhere lets people sign in with a provider of identities.
type SignInElsewhere interface {
	// Enabled says whether there is a provider.
	Enabled() bool

	// Start returns where a browser goes, and what it has to bring back. Too many of them from one address are
	// RateLimited with the code too_many_sign_ins.
	Start(ctx context.Context, from member.Browser) (Departure, error)

	// Finish begins a session for whoever came back with a code. A state that is not the browser's, and whatever
	// else is wrong with somebody, is Unauthenticated with the code sign_in_refused or identity_refused. A user
	// joins at the first sign-in if the provider has verified the address: from then on issuer and subject decide.
	Finish(ctx context.Context, back Return, from member.Browser) (Begun, error)
}

// Departure is how a browser is sent to a provider.
type Departure struct {
	URL  string
	Kept string // secret of this browser, which it brings back
}

// Return is what a browser comes back with.
type Return struct {
	Code      string
	SentState string // which came with the code
	Kept      string
}
