package oauthtest

import (
	"time"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// The clients that a [Server] knows.
const (
	WebClient     = "sluice-web"     // confidential, for consent
	NativeClient  = "sluice-native"  // public: without a secret
	ServiceClient = "sluice-service" // for its own credentials
)

// Secrets of the clients. They hold what the two ways of sending them have to encode.
const (
	WebSecret     = "web secret/+&=%:é"
	ServiceSecret = "service-secret-0123456789"
)

// client is a registered client.
type client struct {
	id, secret string
	method     oidc.AuthMethod
	grants     []oidc.GrantType
	redirects  []string
}

var _ op.Client = (*client)(nil)

func clients(redirects []string) map[string]*client {
	consent := []oidc.GrantType{oidc.GrantTypeCode, oidc.GrantTypeRefreshToken}
	return map[string]*client{
		WebClient:     {WebClient, WebSecret, oidc.AuthMethodBasic, consent, redirects},
		NativeClient:  {NativeClient, "", oidc.AuthMethodNone, consent, redirects},
		ServiceClient: {ServiceClient, ServiceSecret, oidc.AuthMethodBasic, []oidc.GrantType{oidc.GrantTypeClientCredentials}, nil},
	}
}

func (c *client) GetID() string                    { return c.id }
func (c *client) RedirectURIs() []string           { return c.redirects }
func (c *client) PostLogoutRedirectURIs() []string { return nil }
func (c *client) AuthMethod() oidc.AuthMethod      { return c.method }
func (c *client) ResponseTypes() []oidc.ResponseType {
	return []oidc.ResponseType{oidc.ResponseTypeCode}
}
func (c *client) GrantTypes() []oidc.GrantType        { return c.grants }
func (c *client) LoginURL(request string) string      { return loginPath + "?request=" + request }
func (c *client) AccessTokenType() op.AccessTokenType { return op.AccessTokenTypeBearer }
func (c *client) IDTokenLifetime() time.Duration      { return time.Hour }
func (c *client) DevMode() bool                       { return true } // redirects without TLS
func (c *client) IsScopeAllowed(string) bool          { return true }
func (c *client) ClockSkew() time.Duration            { return 0 }

func (c *client) ApplicationType() op.ApplicationType {
	if c.secret == "" {
		return op.ApplicationTypeNative
	}
	return op.ApplicationTypeWeb
}

func (c *client) RestrictAdditionalIdTokenScopes() func([]string) []string { return unchanged }

func (c *client) RestrictAdditionalAccessTokenScopes() func([]string) []string { return unchanged }

func (c *client) IDTokenUserinfoClaimsAssertion() bool { return false }

func unchanged(scopes []string) []string { return scopes }
