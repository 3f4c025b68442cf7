package outbound

import (
	"context"

	"github.com/sluicehq/sluice/domain/connection"
)

// TokenEndpoint asks authorization servers for tokens (RFC 6749).
type TokenEndpoint interface {
	// RequestTokens makes one request and never repeats it: what it shows may be good for
	// one use. What the server refused or failed to do in time is a failure with one of the codes
	// ConsentLost (only for [RefreshTokens]), ClientRefused and ServerFailed; its message and
	// the tokens never show a secret. An error means that ctx was done.
	RequestTokens(ctx context.Context, client connection.OAuth, by TokenGrant) (connection.IssuedTokens, *connection.TokenFailure, error)
}

// TokenGrant is what tokens are asked for with: [ClientCredentials], [AuthorizationCode] or
// [RefreshTokens].
type TokenGrant interface{ tokenGrant() }

// ClientCredentials asks for the client itself.
type ClientCredentials struct{}

// AuthorizationCode asks with what a person's consent gave.
type AuthorizationCode struct {
	Code        connection.Text
	Verifier    connection.Text // of PKCE (RFC 7636)
	RedirectURI string          // as it was when consent was asked for
}

// RefreshTokens asks for new tokens in place of old ones.
type RefreshTokens struct {
	Refresh connection.Text
}

func (ClientCredentials) tokenGrant() {}
func (AuthorizationCode) tokenGrant() {}
func (RefreshTokens) tokenGrant()     {}
