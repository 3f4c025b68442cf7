package connection

import (
	"cmp"
	"net/url"
	"slices"
)

// OAuth is what a connection of an OAuth kind knows of its authorization server.
type OAuth struct {
	AuthorizationURL string // empty for OAuth2ClientCredentials
	TokenURL         string // at one of the connection's hosts
	ClientID         string
	ClientSecret     Text // empty for a public client
	Scopes           []string
	Audience         string // empty for none
	AuthStyle        AuthStyle
}

// OAuth returns the settings of a connection of an OAuth kind; ok is false for another.
func (c *Connection) OAuth() (settings OAuth, ok bool) {
	s := c.state.Secret
	if !s.kind.IsOAuth() {
		return settings, false
	}
	return OAuth{
		AuthorizationURL: s.reveal(authorizationURLMember), TokenURL: s.reveal(tokenURLMember), ClientID: s.reveal(clientIDMember),
		ClientSecret: s.members[clientSecretMember], Scopes: slices.Clone(s.scopes), Audience: s.reveal(audienceMember),
		AuthStyle: cmp.Or(AuthStyle(s.reveal(authStyleMember)), AuthInHeader),
	}, true
}

// tokenURL is nil when the secret has none that can be read.
func (s Secret) tokenURL() *url.URL {
	text, ok := s.members[tokenURLMember]
	if !ok {
		return nil
	}
	u, err := url.Parse(text.Reveal())
	if err != nil || u.Hostname() == "" {
		return nil
	}
	return u
}
