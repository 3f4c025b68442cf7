package oauthtest

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// person is who consents, unless told otherwise.
const person = "somebody@example.com"

// Person is somebody with an account at a server.
type Person struct {
	Subject, Email, Name string
	IsVerified           bool // the address
}

// consentRequest is a request for a person's consent.
type consentRequest struct {
	*oidc.AuthRequest
	id      string
	subject string
	done    bool
}

func (r *consentRequest) GetID() string                      { return r.id }
func (r *consentRequest) GetACR() string                     { return "" }
func (r *consentRequest) GetAMR() []string                   { return nil }
func (r *consentRequest) GetAudience() []string              { return []string{r.ClientID} }
func (r *consentRequest) GetAuthTime() time.Time             { return time.Now() }
func (r *consentRequest) GetClientID() string                { return r.ClientID }
func (r *consentRequest) GetNonce() string                   { return r.Nonce }
func (r *consentRequest) GetRedirectURI() string             { return r.RedirectURI }
func (r *consentRequest) GetResponseType() oidc.ResponseType { return r.ResponseType }
func (r *consentRequest) GetResponseMode() oidc.ResponseMode { return r.ResponseMode }
func (r *consentRequest) GetScopes() []string                { return r.Scopes }
func (r *consentRequest) GetState() string                   { return r.State }
func (r *consentRequest) GetSubject() string                 { return r.subject }
func (r *consentRequest) Done() bool                         { return r.done }
func (r *consentRequest) GetCodeChallenge() *oidc.CodeChallenge {
	if r.CodeChallenge == "" {
		return nil
	}
	return &oidc.CodeChallenge{Challenge: r.CodeChallenge, Method: r.CodeChallengeMethod}
}

// consent is what a person consented to. Its refresh tokens are used once each: one that
// comes a second time ends it (RFC 9700, §4.14.2).
type consent struct {
	client  string
	scopes  []string
	revoked bool
	spent   map[string]bool // refresh tokens
	current string
}

// refreshRequest is a refresh of a consent.
type refreshRequest struct {
	*consent
	scopes []string
}

func (r *refreshRequest) GetAMR() []string              { return nil }
func (r *refreshRequest) GetAudience() []string         { return []string{r.client} }
func (r *refreshRequest) GetAuthTime() time.Time        { return time.Now() }
func (r *refreshRequest) GetClientID() string           { return r.client }
func (r *refreshRequest) GetScopes() []string           { return r.scopes }
func (r *refreshRequest) GetSubject() string            { return person }
func (r *refreshRequest) SetCurrentScopes(all []string) { r.scopes = all }

// accessToken is one that was issued.
type accessToken struct {
	scopes  []string
	of      *consent // nil for a client's own
	expires time.Time
	revoked bool
}

// storage keeps everything in memory, under the server's lock.
type storage Server

var (
	_ op.Storage                  = (*storage)(nil)
	_ op.ClientCredentialsStorage = (*storage)(nil)

	errUnknown = errors.New("unknown")
)

func (s *storage) CreateAuthRequest(_ context.Context, asked *oidc.AuthRequest, _ string) (op.AuthRequest, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &consentRequest{AuthRequest: asked, id: rand.Text(), subject: s.person.Subject}
	s.requests[r.id] = r
	return r, nil
}

func (s *storage) AuthRequestByID(_ context.Context, id string) (op.AuthRequest, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return found(s.requests[id])
}

func (s *storage) AuthRequestByCode(_ context.Context, code string) (op.AuthRequest, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return found(s.requests[s.codes[code]])
}

func found(r *consentRequest) (op.AuthRequest, error) {
	if r == nil {
		return nil, errUnknown
	}
	return r, nil
}

func (s *storage) SaveAuthCode(_ context.Context, id, code string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.codes[code] = id
	return nil
}

func (s *storage) DeleteAuthRequest(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.requests, id)
	return nil
}

func (s *storage) CreateAccessToken(_ context.Context, r op.TokenRequest) (string, time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, at := s.issue(r.GetScopes(), nil)
	return id, at, nil
}

func (s *storage) CreateAccessAndRefreshTokens(_ context.Context, r op.TokenRequest, current string) (id, refresh string, expires time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var of *consent
	switch r := r.(type) {
	case *refreshRequest:
		if of = r.consent; !s.reusable && of.current != current { // another request was quicker
			of.revoked, s.reuses = true, s.reuses+1
			return "", "", time.Time{}, oidc.ErrInvalidGrant()
		}
		s.refreshes++
	case *consentRequest:
		of = &consent{client: r.ClientID, scopes: r.Scopes, spent: make(map[string]bool)}
		s.consents = append(s.consents, of)
	default:
		return "", "", time.Time{}, errUnknown
	}
	id, expires = s.issue(r.GetScopes(), of)
	if of.current == "" || !s.reusable {
		of.spent[of.current] = true
		of.current = rand.Text()
	}
	return id, of.current, expires, nil
}

func (s *storage) issue(scopes []string, of *consent) (id string, expires time.Time) {
	id, expires = rand.Text(), time.Now().Add(s.life)
	s.tokens[id] = &accessToken{scopes: scopes, of: of, expires: expires}
	return id, expires
}

func (s *storage) TokenRequestByRefreshToken(_ context.Context, refresh string) (op.RefreshTokenRequest, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.consents {
		switch {
		case c.spent[refresh]:
			c.revoked, s.reuses = true, s.reuses+1
			return nil, op.ErrInvalidRefreshToken
		case c.current == refresh && !c.revoked:
			return &refreshRequest{consent: c, scopes: c.scopes}, nil
		}
	}
	return nil, op.ErrInvalidRefreshToken
}

func (s *storage) ClientCredentials(ctx context.Context, id, secret string) (op.Client, error) {
	if err := s.AuthorizeClientIDSecret(ctx, id, secret); err != nil {
		return nil, oidc.ErrInvalidClient()
	}
	return s.GetClientByClientID(ctx, id)
}

func (s *storage) ClientCredentialsTokenRequest(_ context.Context, id string, scopes []string) (op.TokenRequest, error) {
	return &oidc.JWTTokenRequest{Subject: id, Issuer: id, Scopes: scopes, Audience: []string{id}}, nil
}

func (s *storage) GetClientByClientID(_ context.Context, id string) (op.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.clients[id]; ok {
		return c, nil
	}
	return nil, oidc.ErrInvalidClient()
}

func (s *storage) AuthorizeClientIDSecret(_ context.Context, id, secret string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.clients[id]; ok && c.secret == secret {
		return nil
	}
	return errUnknown
}

func (s *storage) SetUserinfoFromToken(_ context.Context, info *oidc.UserInfo, id, subject, _ string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.tokens[id]
	if !ok || t.revoked || t.of != nil && t.of.revoked || !time.Now().Before(t.expires) {
		return errUnknown
	}
	info.Subject = subject
	if s.person.Subject == subject {
		info.Email, info.Name, info.EmailVerified = s.person.Email, s.person.Name, oidc.Bool(s.person.IsVerified)
	}
	info.AppendClaims("scope", strings.Join(t.scopes, " "))
	return nil
}

func (s *storage) RevokeToken(context.Context, string, string, string) *oidc.Error { return nil }

func (s *storage) GetRefreshTokenInfo(context.Context, string, string) (user, token string, err error) {
	return "", "", op.ErrInvalidRefreshToken
}

func (s *storage) TerminateSession(context.Context, string, string) error { return nil }

func (s *storage) SetUserinfoFromScopes(_ context.Context, info *oidc.UserInfo, subject, _ string, _ []string) error {
	info.Subject = subject
	return nil
}

func (s *storage) SetIntrospectionFromToken(context.Context, *oidc.IntrospectionResponse, string, string, string) error {
	return errUnknown
}

func (s *storage) GetPrivateClaimsFromScopes(context.Context, string, string, []string) (map[string]any, error) {
	return nil, nil
}

func (s *storage) GetKeyByIDAndClientID(context.Context, string, string) (*jose.JSONWebKey, error) {
	return nil, errUnknown
}

func (s *storage) ValidateJWTProfileScopes(context.Context, string, []string) ([]string, error) {
	return nil, errUnknown
}

func (s *storage) Health(context.Context) error { return nil }

// signingKey signs the tokens of identity, which nobody asks for here.
type signingKey struct{ key *ecdsa.PrivateKey }

func (k signingKey) ID() string                                  { return "key" }
func (k signingKey) SignatureAlgorithm() jose.SignatureAlgorithm { return jose.ES256 }
func (k signingKey) Key() any                                    { return k.key }

func (s *storage) SigningKey(context.Context) (op.SigningKey, error) { return s.key, nil }

func (s *storage) SignatureAlgorithms(context.Context) ([]jose.SignatureAlgorithm, error) {
	return []jose.SignatureAlgorithm{jose.ES256}, nil
}

func (s *storage) KeySet(context.Context) ([]op.Key, error) {
	return []op.Key{publishedKey{s.key}}, nil
}

// publishedKey is what others check signatures with.
type publishedKey struct{ signingKey }

func (publishedKey) Algorithm() jose.SignatureAlgorithm { return jose.ES256 }
func (publishedKey) Use() string                        { return "sig" }
func (k publishedKey) Key() any                         { return k.key.Public() }
