package outbound

import "context"

// IdentityProvider knows people by OpenID Connect: they sign in there, and come back with a code.
type IdentityProvider interface {
	// Enabled says whether there is one. Where there is none, the other methods are not called.
	Enabled() bool

	// AuthorizationURL is where a browser goes to sign in. All of the request are random texts of 43 characters
	// or more that the caller keeps for this browser. The provider may be asked what it offers; an Unavailable
	// with the code identity_provider_unavailable means that it did not answer as it should. ctx ending is an
	// error that wraps its cause.
	AuthorizationURL(ctx context.Context, asked SignInRequest) (string, error)

	// Exchange asks the provider who came back with a code, which is good for one use. That the state is the one
	// of this browser is the caller's to check, before. An Unauthenticated with the code identity_refused means
	// that the provider does not accept the code, or that what it says was not issued by it, for this client and
	// for this nonce, or is of another time. An Unavailable, and ctx ending, are as of AuthorizationURL. No error
	// shows a token or a secret.
	Exchange(ctx context.Context, code string, asked SignInRequest) (Identity, error)
}

// SignInRequest is what ties a browser that comes back to the one that went.
type SignInRequest struct {
	State    string // comes back with the code
	Nonce    string // comes back within what the provider signs
	Verifier string // of PKCE (RFC 7636): the provider sees its hash first, and itself with the code
}

// Identity is whom a provider knows somebody as. Issuer and Subject together never change and stand for nobody
// else; everything else may change, and is only as good as its provider.
type Identity struct {
	Issuer        string
	Subject       string
	Email         string // empty where the provider does not say
	EmailVerified bool   // whether the provider has made sure that the address is theirs
	Name          string // empty where the provider does not say
}
