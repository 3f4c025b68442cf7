package inbound

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/tenant"
)

// Consents is how people let connections of the kind oauth2AuthorizationCode act for them. Whoever opens a link or
// comes back from an authorization server has no key: the link, and the key that only their browser
// has, say who they are. What is wrong with those is NotFound with the code consent_ended, always the same.
type Consents interface {
	// Authorize makes a link for a person. It is a Conflict with the code connection_needs_no_consent for a
	// connection of another kind.
	Authorize(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id connection.ID) (ConsentLink, error)

	// Open says where a link leads, and gives the browser its key. It changes nothing.
	Open(ctx context.Context, link connection.Text) (ConsentPage, error)

	// Complete takes what the authorization server sent back by the browser that has the key. A
	// refusal, or a server that does not give tokens, is a Conflict with the code consent_refused or consent_failed; its
	// message is for the person, and repeats nothing of what came.
	Complete(ctx context.Context, back ConsentAnswer) (*connection.Connection, error)

	// State says what there is of the grant of a connection of an OAuth kind, without its tokens. Of another kind it
	// is NotFound with the code grant_not_found.
	State(ctx context.Context, who tenant.Caller, id connection.ID) (GrantState, error)
}

// GrantState is a grant as its tenant sees it.
type GrantState struct {
	Grant        *connection.Grant // without tokens
	NeedsConsent bool              // only a person can help
}

// ConsentLink is a link to be opened by a person, once and in one browser.
type ConsentLink struct {
	URL    string `json:"url"` // holds a secret
	EndsAt time.Time
}

// ConsentPage is what a person is told before they go on.
type ConsentPage struct {
	Tenant     string // who asks
	Connection string // what for
	Host       string // where they go on
	TokenHost  string // who gives the tokens
	URL        string // of the authorization server
	OAuthState string // by which the answer is told from others
	Key        connection.Text
	Secure     bool // people reach the gateway over TLS
	EndsAt     time.Time
}

// ConsentAnswer is what a browser brings back.
type ConsentAnswer struct {
	OAuthState string
	Key        connection.Text // from the browser's cookie; none where it has none
	Code       connection.Text
	Error      string // of the authorization server (RFC 6749, §4.1.2.1); empty where there is a code
	Issuer     string // RFC 9207; empty where the server does not say
}

// GrantKeeper keeps grants that nobody uses from being lost.
type GrantKeeper interface {
	// RenewUnused renews some of those that are due, and returns how many it looked after. Several processes may do so at
	// the same time.
	RenewUnused(ctx context.Context) (renewed int, err error)
}
