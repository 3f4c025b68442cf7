package connection

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"time"
)

// IsZero says whether there is no text, or an empty one.
func (t Text) IsZero() bool { return t.Reveal() == "" }

// IssuedTokens are what an authorization server gave (RFC 6749, §5.1).
type IssuedTokens struct {
	Access  Text
	Refresh Text // none where the server gave none

	Life        time.Duration // of the access token; 0 where the server does not say
	RefreshLife time.Duration // of the refresh token; 0 where the server does not say
	Scopes      []string      // nil where they are those that were asked for
}

// ForPeople says whether tokens are given for a person, who has to consent.
func (o OAuth) ForPeople() bool { return o.AuthorizationURL != "" }

// Fingerprint tells to whom tokens were issued: those for one client are of no use to another. A
// new secret of the same client leaves it as it is, and so do the scopes of what a person
// has consented to.
func (o OAuth) Fingerprint() string {
	parts := []string{"person", o.TokenURL, o.ClientID}
	if !o.ForPeople() {
		parts = append([]string{"client", o.TokenURL, o.ClientID, o.Audience}, o.Scopes...)
	}
	digest := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return base64.RawURLEncoding.EncodeToString(digest[:])
}

// FailureCode says why there is no token. It is part of the public contract.
type FailureCode string

// Why there is none.
const (
	// ConsentMissing: nobody has consented yet, or not to this client.
	ConsentMissing FailureCode = "consent_missing"

	// ConsentLost: the server does not know the consent any more (invalid_grant). It was taken back, or
	// has ended.
	ConsentLost FailureCode = "consent_lost"

	// ConsentExpired: the access token has expired, and the server gave nothing to renew it with.
	ConsentExpired FailureCode = "consent_expired"

	// ClientRefused: the server does not accept the client, or what it asks for.
	ClientRefused FailureCode = "client_refused"

	// ServerFailed: the server could not be reached, or gave no answer that can be used.
	ServerFailed FailureCode = "server_failed"
)

// TokenFailure is a request for tokens that failed.
type TokenFailure struct {
	Code    FailureCode
	Message string // for the tenant: names the host and the standard's error, and quotes nothing of the answer
	At      time.Time
}
