package oidc_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/oauth/oauthtest"
	"github.com/sluicehq/sluice/adapters/oidc"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/ports/outbound"
)

const (
	callback = "https://sluice.example.com/console/api/oidc/callback"
	clientID = "sluice-web"
	secret   = "web-secret-0123456789"
)

var asked = outbound.SignInRequest{State: strings.Repeat("s", 43), Nonce: strings.Repeat("n", 43), Verifier: strings.Repeat("v", 43)}

func TestSomebodySignsInAtARealServer(t *testing.T) {
	server := oauthtest.Start(t, callback)
	p := oidc.New(oidc.Settings{Issuer: server.URL, ClientID: oauthtest.WebClient, ClientSecret: oauthtest.WebSecret, RedirectURL: func() string { return callback }})
	back := func() url.Values {
		at, err := p.AuthorizationURL(t.Context(), asked)
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(at)
		if q := u.Query(); err != nil || q.Get("code_challenge_method") != "S256" || q.Get("state") != asked.State || q.Get("nonce") != asked.Nonce || strings.Contains(at, asked.Verifier) {
			t.Errorf("people are sent to %s", at)
		}
		return server.Visit(t, at)
	}
	came := back()
	if came.Get("state") != asked.State {
		t.Errorf("they come back with %v", came)
	}
	who, err := p.Exchange(t.Context(), came.Get("code"), asked)
	if diff := cmp.Diff(outbound.Identity{Issuer: server.URL, Subject: "somebody@example.com"}, who); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	for claim, c := range map[string]struct {
		code  string
		asked outbound.SignInRequest
	}{
		"a code a second time":    {came.Get("code"), asked},
		"a code of nobody":        {"nothing", asked},
		"the nonce of another":    {back().Get("code"), outbound.SignInRequest{State: asked.State, Nonce: strings.Repeat("x", 43), Verifier: asked.Verifier}},
		"the verifier of another": {back().Get("code"), outbound.SignInRequest{State: asked.State, Nonce: asked.Nonce, Verifier: strings.Repeat("x", 43)}},
		"no nonce":                {back().Get("code"), outbound.SignInRequest{State: asked.State, Verifier: asked.Verifier}},
	} {
		if _, err := p.Exchange(t.Context(), c.code, c.asked); !says(err, domain.Unauthenticated, "identity_refused") {
			t.Errorf("%s: %v", claim, err)
		}
	}
}

func says(err error, kind domain.Kind, code string) bool {
	var said *domain.Error
	return errors.As(err, &said) && said.Kind == kind && said.Code == code
}

// forger is a provider that says whatever a test wants.
type forger struct {
	*httptest.Server
	key, published *ecdsa.PrivateKey
	issuer         string // as it is discovered
	claims, info   map[string]any
	answer         http.HandlerFunc // in place of tokens
	away           bool
	basic          bool
}

func forge(t *testing.T) *forger {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	f := &forger{key: key, published: key}
	mux := http.NewServeMux()
	f.Server = httptest.NewServer(mux)
	t.Cleanup(f.Close)
	f.issuer = f.URL
	say := func(w http.ResponseWriter, what any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(what)
	}
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		if f.away {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		say(w, map[string]any{"issuer": f.issuer, "authorization_endpoint": f.URL + "/authorize", "token_endpoint": f.URL + "/token", "userinfo_endpoint": f.URL + "/userinfo",
			"jwks_uri": f.URL + "/keys", "id_token_signing_alg_values_supported": []string{"ES256", "HS256", "none"}})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		say(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: f.published.Public(), KeyID: "k", Algorithm: "ES256", Use: "sig"}}})
	})
	mux.HandleFunc("/userinfo", func(w http.ResponseWriter, _ *http.Request) { say(w, f.info) })
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		if _, password, ok := r.BasicAuth(); ok && password == secret {
			f.basic = true
		}
		if f.answer != nil {
			f.answer(w, r)
			return
		}
		say(w, map[string]any{"access_token": "an-access-token", "token_type": "Bearer", "id_token": f.sign(t)})
	})
	return f
}

func (f *forger) sign(t *testing.T) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: f.key, KeyID: "k"}}, nil)
	if err != nil {
		t.Error(err)
		return ""
	}
	text, err := jwt.Signed(signer).Claims(f.claims).Serialize()
	if err != nil {
		t.Error(err)
	}
	return text
}

func (f *forger) provider() *oidc.Provider {
	return oidc.New(oidc.Settings{Issuer: f.URL, ClientID: clientID, ClientSecret: secret, RedirectURL: func() string { return callback }})
}

func TestWhatAProviderSaysIsChecked(t *testing.T) {
	type change = map[string]any
	f := forge(t)
	p := f.provider()
	for claim, c := range map[string]struct {
		change, info change
		want         outbound.Identity // the issuer aside; no subject where it is refused
	}{
		"an address that is theirs":           {nil, nil, outbound.Identity{Subject: "ada", Email: "ada@example.com", EmailVerified: true, Name: "Ada"}},
		"of another subject":                  {change{"sub": "eve"}, nil, outbound.Identity{Subject: "eve", Email: "ada@example.com", EmailVerified: true, Name: "Ada"}},
		"that may not be theirs":              {change{"email_verified": false}, nil, outbound.Identity{Subject: "ada", Email: "ada@example.com", Name: "Ada"}},
		"of which nobody says so":             {change{"email_verified": nil}, nil, outbound.Identity{Subject: "ada", Email: "ada@example.com", Name: "Ada"}},
		"said in another way":                 {change{"email_verified": "true"}, nil, outbound.Identity{Subject: "ada", Email: "ada@example.com", EmailVerified: true, Name: "Ada"}},
		"said in a way that says nothing":     {change{"email_verified": 1}, nil, outbound.Identity{Subject: "ada", Email: "ada@example.com", Name: "Ada"}},
		"asked for":                           {change{"email": nil, "email_verified": true}, change{"sub": "ada", "email": "ada@example.com", "email_verified": true, "name": "Ada"}, outbound.Identity{Subject: "ada", Email: "ada@example.com", EmailVerified: true, Name: "Ada"}},
		"asked for, of somebody else":         {change{"email": nil}, change{"sub": "eve", "email": "ada@example.com", "email_verified": true}, outbound.Identity{}},
		"no address":                          {change{"email": nil}, change{"sub": "ada", "email_verified": true}, outbound.Identity{Subject: "ada"}},
		"another nonce":                       {change{"nonce": strings.Repeat("x", 43)}, nil, outbound.Identity{}},
		"no nonce":                            {change{"nonce": nil}, nil, outbound.Identity{}},
		"another audience":                    {change{"aud": "another-client"}, nil, outbound.Identity{}},
		"several audiences and no party":      {change{"aud": []string{clientID, "another-client"}}, nil, outbound.Identity{}},
		"several audiences and another party": {change{"aud": []string{clientID, "another-client"}, "azp": "another-client"}, nil, outbound.Identity{}},
		"several audiences, and for this one": {change{"aud": []string{clientID, "another-client"}, "azp": clientID}, nil, outbound.Identity{Subject: "ada", Email: "ada@example.com", EmailVerified: true, Name: "Ada"}},
		"another party":                       {change{"azp": "another-client"}, nil, outbound.Identity{}},
		"another issuer":                      {change{"iss": "https://login.example.com"}, nil, outbound.Identity{}},
		"over":                                {change{"exp": time.Now().Add(-time.Minute).Unix()}, nil, outbound.Identity{}},
		"not yet":                             {change{"nbf": time.Now().Add(time.Hour).Unix()}, nil, outbound.Identity{}},
		"nobody":                              {change{"sub": ""}, nil, outbound.Identity{}},
		"of another access token":             {change{"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"}, nil, outbound.Identity{}},
	} {
		f.claims = change{"iss": f.URL, "sub": "ada", "aud": clientID, "nonce": asked.Nonce, "iat": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix(),
			"email": "ada@example.com", "email_verified": true, "name": "Ada"}
		maps.Copy(f.claims, c.change)
		maps.DeleteFunc(f.claims, func(_ string, v any) bool { return v == nil })
		f.info = c.info
		got, err := p.Exchange(t.Context(), "code", asked)
		if c.want.Subject == "" {
			if !says(err, domain.Unauthenticated, "identity_refused") || got != (outbound.Identity{}) {
				t.Errorf("%s: %+v, %v", claim, got, err)
			}
			continue
		}
		c.want.Issuer = f.URL
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", claim, err, diff)
		}
	}
	if !f.basic {
		t.Error("the client does not show its secret as the standard says")
	}
	f.claims["sub"], f.claims["nonce"] = "ada", asked.Nonce
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	f.key = other
	if _, err := p.Exchange(t.Context(), "code", asked); !says(err, domain.Unauthenticated, "identity_refused") {
		t.Errorf("signed by somebody else: %v", err)
	}
}

func TestAProviderThatIsAwayIsAskedAgain(t *testing.T) {
	f := forge(t)
	f.away = true
	p := f.provider()
	if _, err := p.AuthorizationURL(t.Context(), asked); !says(err, domain.Unavailable, "identity_provider_unavailable") {
		t.Errorf("while it is away: %v", err)
	}
	f.away, f.issuer = false, "https://login.example.com"
	if _, err := p.AuthorizationURL(t.Context(), asked); !says(err, domain.Unavailable, "identity_provider_unavailable") {
		t.Errorf("while it says that it is another: %v", err)
	}
	f.issuer = f.URL
	if at, err := p.AuthorizationURL(t.Context(), asked); err != nil || !strings.HasPrefix(at, f.URL+"/authorize?") {
		t.Errorf("afterwards: %s, %v", at, err)
	}
	f.away = true
	if _, err := p.AuthorizationURL(t.Context(), asked); err != nil {
		t.Errorf("once it is known: %v", err)
	}
}

func TestNoErrorShowsASecret(t *testing.T) {
	f := forge(t)
	p := f.provider()
	for claim, c := range map[string]struct {
		answer http.HandlerFunc
		kind   domain.Kind
	}{
		"it repeats what it was sent": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprintf(w, "%v %s %s", r.Header, secret, asked.Verifier)
		}, domain.Unavailable},
		"it does not know the client": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = fmt.Fprintf(w, `{"error": "invalid_client", "error_description": %q}`, secret)
		}, domain.Unavailable},
		"it sends on": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere?"+secret, http.StatusTemporaryRedirect)
		}, domain.Unavailable},
		"it never ends": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"access_token": "` + strings.Repeat("x", 2<<20) + secret + `"}`))
		}, domain.Unavailable},
		"it gives no ID token": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"access_token": "` + secret + `", "token_type": "Bearer"}`))
		}, domain.Unauthenticated},
		"it gives something else as that": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"access_token": "a", "token_type": "Bearer", "id_token": "` + secret + `"}`))
		}, domain.Unauthenticated},
	} {
		f.answer = c.answer
		_, err := p.Exchange(t.Context(), "code", asked)
		if domain.KindOf(err) != c.kind {
			t.Errorf("%s: %v", claim, err)
		}
		for _, hidden := range []string{secret, asked.Verifier, asked.Nonce} {
			if strings.Contains(fmt.Sprint(err), hidden) {
				t.Errorf("%s: the error shows %s", claim, hidden)
			}
		}
	}
	released := make(chan struct{})
	defer close(released)
	f.answer = func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-released:
		}
	}
	if _, err := f.provider().Within(100*time.Millisecond).Exchange(t.Context(), "code", asked); !says(err, domain.Unavailable, "identity_provider_unavailable") {
		t.Errorf("it does not answer: %v", err)
	}
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if _, err := p.Exchange(ctx, "code", asked); !errors.Is(err, gone) {
		t.Errorf("stopped: %v", err)
	}
}

func TestAddressesAreOfAllowedDomains(t *testing.T) {
	f := forge(t)
	p := oidc.New(oidc.Settings{Issuer: f.URL, ClientID: clientID, ClientSecret: secret, RedirectURL: func() string { return callback }, Domains: []string{"example.com", "example.org"}})
	for email, verified := range map[string]bool{"ada@example.com": true, "ada@Example.ORG": true, "ada@example.com.evil.example": false, "ada@evil.example": false, "ada@sub.example.com": false, "": false, "example.com": false, "ada@evil.example@example.com": false} {
		f.claims = map[string]any{"iss": f.URL, "sub": "ada", "aud": clientID, "nonce": asked.Nonce, "iat": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix(), "email": email, "email_verified": true}
		f.info = map[string]any{"sub": "ada", "email": email, "email_verified": true}
		if _, err := p.Exchange(t.Context(), "code", asked); (err == nil) != verified || err != nil && !says(err, domain.Unauthenticated, "identity_refused") {
			t.Errorf("%q: %v", email, err)
		}
		f.claims["email_verified"], f.info["email_verified"] = false, false
		if _, err := p.Exchange(t.Context(), "code", asked); !says(err, domain.Unauthenticated, "identity_refused") {
			t.Errorf("%q, which nobody has verified: %v", email, err)
		}
	}
}

func TestThereMayBeNone(t *testing.T) {
	if new(oidc.Provider).Enabled() || !forge(t).provider().Enabled() {
		t.Error("one that is none is enabled, or the other way round")
	}
}
