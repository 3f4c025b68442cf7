package connection

import "slices"

// Kind says how a connection authenticates.
type Kind string

// The kinds.
const (
	Bearer                  Kind = "bearer"                  // Authorization: Bearer (RFC 6750)
	Basic                   Kind = "basic"                   // Authorization: Basic (RFC 7617)
	Header                  Kind = "header"                  // headers with names of their own
	Query                   Kind = "query"                   // parameters in the URL
	OAuth2ClientCredentials Kind = "oauth2ClientCredentials" // RFC 6749, §4.4
	OAuth2AuthorizationCode Kind = "oauth2AuthorizationCode" // RFC 6749, §4.1, with PKCE
	HMAC                    Kind = "hmac"                    // verifies hooks and signs bodies
	MTLS                    Kind = "mtls"                    // a client certificate
)

// Kinds lists every kind.
func Kinds() []Kind {
	return []Kind{Bearer, Basic, Header, Query, OAuth2ClientCredentials, OAuth2AuthorizationCode, HMAC, MTLS}
}

// Valid says whether it is one of [Kinds].
func (k Kind) Valid() bool { return slices.Contains(Kinds(), k) }

// IsOAuth says whether calls bear an access token that an authorization server gives.
func (k Kind) IsOAuth() bool { return k == OAuth2ClientCredentials || k == OAuth2AuthorizationCode }
