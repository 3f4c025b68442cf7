// Package oauthtest is an authorization server for tests: that of zitadel/oidc, with a
// storage that can be told what to do, and an API that takes its tokens.
package oauthtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

const (
	loginPath = "/login"
	tokenPath = "/oauth/token"
)

// Server is an authorization server without TLS. It rotates refresh tokens, and ends a
// consent whose refresh token comes a second time. Whoever comes to its login consents at
// once, unless told otherwise.
type Server struct {
	URL string

	key      signingKey
	provider *op.Provider

	mu       sync.Mutex
	clients  map[string]*client
	requests map[string]*consentRequest
	codes    map[string]string // their ids by code
	consents []*consent
	tokens   map[string]*accessToken

	person    Person // who comes to the login
	life      time.Duration
	refuse    bool // consent
	reusable  bool // refresh tokens
	intercept func(w http.ResponseWriter, r *http.Request, serve http.Handler)

	asked     []url.Values
	basic     []bool
	refreshes int
	reuses    int
}

// Start starts a server until the test ends. Its clients may have people sent back to the
// redirects.
func Start(t testing.TB, redirects ...string) *Server {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{
		key: signingKey{key}, clients: clients(redirects), requests: make(map[string]*consentRequest), codes: make(map[string]string),
		tokens: make(map[string]*accessToken), life: time.Hour, person: Person{Subject: person},
	}
	mux := http.NewServeMux()
	listener := httptest.NewServer(mux)
	t.Cleanup(listener.Close)
	s.URL = listener.URL
	s.provider, err = op.NewProvider(&op.Config{
		CryptoKey: [32]byte([]byte(rand.Text() + rand.Text())[:32]), CodeMethodS256: true, AuthMethodPost: true, GrantTypeRefreshToken: true,
	}, (*storage)(s), op.StaticIssuer(s.URL), op.WithAllowInsecure())
	if err != nil {
		t.Fatal(err)
	}
	mux.HandleFunc(loginPath, s.login)
	mux.HandleFunc(tokenPath, s.token)
	mux.HandleFunc("/api/", s.api)
	mux.Handle("/", s.provider)
	return s
}

// AuthorizationURL is where people consent.
func (s *Server) AuthorizationURL() string { return s.URL + "/authorize" }

// TokenURL is where tokens are asked for.
func (s *Server) TokenURL() string { return s.URL + tokenPath }

// APIURL is an API that answers 401 to whoever has no valid token.
func (s *Server) APIURL() string { return s.URL + "/api/me" }

// IssueFor has access tokens live for so long, from the next one on.
func (s *Server) IssueFor(life time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.life = life
}

// SignIn has somebody else come to the login, from the next one on.
func (s *Server) SignIn(p Person) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.person = p
}

// RefuseConsent has people refuse.
func (s *Server) RefuseConsent() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = true
}

// KeepRefreshTokens has each refresh token be used again and again.
func (s *Server) KeepRefreshTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reusable = true
}

// Revoke takes back what people have consented to.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.consents {
		c.revoked = true
	}
}

// RevokeAccessTokens takes back every access token that was issued so far, and no consent.
func (s *Server) RevokeAccessTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tokens {
		t.revoked = true
	}
}

// Intercept has requests for tokens served by a function, which may have the server serve
// them; nil for none.
func (s *Server) Intercept(serve func(w http.ResponseWriter, r *http.Request, serve http.Handler)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.intercept = serve
}

// Refreshes is how many refreshes have succeeded.
func (s *Server) Refreshes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refreshes
}

// Reuses is how often a refresh token came that had been used.
func (s *Server) Reuses() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reuses
}

// Asked are the requests for tokens so far, as they came.
func (s *Server) Asked() []url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// AskedByHeader says of each of [Server.Asked] whether the client showed its secret in a header.
func (s *Server) AskedByHeader() []bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.basic)
}

func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm() // the provider says what is wrong with it
	_, _, basic := r.BasicAuth()
	s.mu.Lock()
	s.asked, s.basic = append(s.asked, r.PostForm), append(s.basic, basic)
	intercept := s.intercept
	s.mu.Unlock()
	if intercept != nil {
		intercept(w, r, s.provider)
		return
	}
	s.provider.ServeHTTP(w, r)
}

// login is where people say yes or no.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	request, refuse := s.requests[r.URL.Query().Get("request")], s.refuse
	if request != nil && !refuse {
		request.done = true
	}
	s.mu.Unlock()
	switch {
	case request == nil:
		http.NotFound(w, r)
	case refuse:
		op.AuthRequestError(w, r, request, oidc.ErrAccessDenied(), s.provider)
	default:
		http.Redirect(w, r, op.AuthCallbackURL(s.provider)(op.ContextWithIssuer(r.Context(), s.URL), request.id), http.StatusFound)
	}
}

// api answers with what the token allows.
func (s *Server) api(w http.ResponseWriter, r *http.Request) {
	asked := r.Clone(r.Context())
	asked.URL.Path = s.provider.UserinfoEndpoint().Relative()
	given := httptest.NewRecorder()
	s.provider.ServeHTTP(given, asked)
	w.Header().Set("Content-Type", "application/json")
	if given.Code != http.StatusOK {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var info struct {
		Subject string `json:"sub"`
		Scope   string `json:"scope"`
	}
	_ = json.Unmarshal(given.Body.Bytes(), &info) // an empty answer says enough
	_ = json.NewEncoder(w).Encode(info)           // to a recorder of a test
}

// Visit has a browser of its own go to a URL, through the login, and returns what it would bring back to
// one of the redirects, which it does not call.
func (s *Server) Visit(t testing.TB, at string) url.Values {
	t.Helper()
	browser := &http.Client{CheckRedirect: func(req *http.Request, _ []*http.Request) error {
		if own, err := url.Parse(s.URL); err != nil || req.URL.Host != own.Host {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := browser.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	back, err := resp.Location()
	if err != nil {
		body, _ := io.ReadAll(resp.Body) // for the message
		t.Fatalf("the server answers %d and leads nowhere: %s", resp.StatusCode, body)
	}
	return back.Query()
}

// Call is the status with which the API answers who has a token.
func (s *Server) Call(t testing.TB, token string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.APIURL(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}
