package oauth_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/egress"
	"github.com/sluicehq/sluice/adapters/oauth"
	"github.com/sluicehq/sluice/adapters/oauth/oauthtest"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/ports/outbound"
)

func endpoint(t *testing.T, allow ...string) *oauth.TokenEndpoint {
	t.Helper()
	ranges := make([]netip.Prefix, len(allow))
	for i, text := range allow {
		ranges[i] = netip.MustParsePrefix(text)
	}
	g := egress.New(egress.Options{Allow: ranges})
	t.Cleanup(g.Close)
	return oauth.New(g.Client(egress.Stay))
}

func local(t *testing.T) *oauth.TokenEndpoint { return endpoint(t, "127.0.0.0/8") }

const callback = "https://sluice.example.com/oauth/callback"

var verifier = connection.SecretText([connection.SecretBytes]byte{1})

// consent has somebody consent, and returns the code.
func consent(t *testing.T, s *oauthtest.Server, c connection.OAuth) outbound.AuthorizationCode {
	t.Helper()
	r := connection.NewConsentRequest("tenant_1", "conn_1", c, connection.NewText("link"), time.Now())
	at, err := r.AuthorizationRequest(c, verifier, callback)
	if err != nil {
		t.Fatal(err)
	}
	back := s.Visit(t, at)
	if back.Get("code") == "" {
		t.Fatalf("the person came back with %v", back)
	}
	return outbound.AuthorizationCode{Code: connection.NewText(back.Get("code")), Verifier: verifier, RedirectURI: callback}
}

func web(s *oauthtest.Server) connection.OAuth {
	return connection.OAuth{
		AuthorizationURL: s.AuthorizationURL(), TokenURL: s.TokenURL(), ClientID: oauthtest.WebClient,
		ClientSecret: connection.NewText(oauthtest.WebSecret), Scopes: []string{"openid", "offline_access"},
	}
}

func service(s *oauthtest.Server) connection.OAuth {
	return connection.OAuth{TokenURL: s.TokenURL(), ClientID: oauthtest.ServiceClient, ClientSecret: connection.NewText(oauthtest.ServiceSecret)}
}

func mustRequest(t *testing.T, e *oauth.TokenEndpoint, c connection.OAuth, by outbound.TokenGrant) connection.IssuedTokens {
	t.Helper()
	issued, failure, err := e.RequestTokens(t.Context(), c, by)
	if err != nil || failure != nil {
		t.Fatalf("%+v %v", failure, err)
	}
	return issued
}

func TestTokensOfEachGrantAreGoodForTheAPI(t *testing.T) {
	public := func(c connection.OAuth) connection.OAuth {
		c.ClientID, c.ClientSecret = oauthtest.NativeClient, connection.Text{}
		return c
	}
	inBody := func(c connection.OAuth) connection.OAuth {
		c.AuthStyle = connection.AuthInBody
		return c
	}
	for name, c := range map[string]struct {
		client func(*oauthtest.Server) connection.OAuth
		header bool
	}{
		"a client's own, with the secret in a header":       {service, true},
		"a client's own, with the secret in the body":       {func(s *oauthtest.Server) connection.OAuth { return inBody(service(s)) }, false},
		"a person's consent, with the secret in a header":   {web, true},
		"a person's consent, with the secret in the body":   {func(s *oauthtest.Server) connection.OAuth { return inBody(web(s)) }, false},
		"a person's consent to a client without any secret": {func(s *oauthtest.Server) connection.OAuth { return public(web(s)) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, e := oauthtest.Start(t, callback), local(t)
			client := c.client(s)
			by := outbound.TokenGrant(outbound.ClientCredentials{})
			if client.ForPeople() {
				by = consent(t, s, client)
			}
			issued := mustRequest(t, e, client, by)
			if status := s.Call(t, issued.Access.Reveal()); status != http.StatusOK {
				t.Errorf("the API answers %d", status)
			}
			if issued.Life < 59*time.Minute || issued.Life > time.Hour {
				t.Errorf("the token lives for %s", issued.Life)
			}
			if got := s.AskedByHeader(); !slices.Equal(got, []bool{c.header}) {
				t.Errorf("the secret came in a header: %v", got)
			}
			if issued.Refresh.IsZero() != !client.ForPeople() {
				t.Errorf("there is a refresh token: %v", !issued.Refresh.IsZero())
			}
			if client.ForPeople() {
				next := mustRequest(t, e, client, outbound.RefreshTokens{Refresh: issued.Refresh})
				if next.Refresh.Equal(issued.Refresh) || s.Call(t, next.Access.Reveal()) != http.StatusOK {
					t.Error("the refresh gave no other refresh token, or no good access token")
				}
			}
		})
	}
}

func TestScopesAndAudienceAreAskedFor(t *testing.T) {
	s := oauthtest.Start(t)
	c := service(s)
	c.Scopes, c.Audience = []string{"read", "write"}, "https://api.example.com"
	issued := mustRequest(t, local(t), c, outbound.ClientCredentials{})
	asked := s.Asked()[0]
	if asked.Get("scope") != "read write" || asked.Get("audience") != c.Audience {
		t.Errorf("it was asked for %v", asked)
	}
	if !slices.Equal(issued.Scopes, c.Scopes) {
		t.Errorf("the scopes are %q", issued.Scopes)
	}
}

func TestWhatTheServerRefusesIsToldApart(t *testing.T) {
	type request struct {
		client connection.OAuth
		by     outbound.TokenGrant
	}
	for name, c := range map[string]struct {
		ask  func(t *testing.T, s *oauthtest.Server, e *oauth.TokenEndpoint) request
		code connection.FailureCode
	}{
		"a wrong secret": {func(_ *testing.T, s *oauthtest.Server, _ *oauth.TokenEndpoint) request {
			c := service(s)
			c.ClientSecret = connection.NewText("a-wrong-one")
			return request{c, outbound.ClientCredentials{}}
		}, connection.ClientRefused},
		"a code of another browser": {func(t *testing.T, s *oauthtest.Server, _ *oauth.TokenEndpoint) request {
			by := consent(t, s, web(s))
			by.Verifier = connection.SecretText([connection.SecretBytes]byte{2})
			return request{web(s), by}
		}, connection.ClientRefused},
		"a code that was used": {func(t *testing.T, s *oauthtest.Server, e *oauth.TokenEndpoint) request {
			by := consent(t, s, web(s))
			mustRequest(t, e, web(s), by)
			return request{web(s), by}
		}, connection.ClientRefused},
		"a refresh token that was used": {func(t *testing.T, s *oauthtest.Server, e *oauth.TokenEndpoint) request {
			issued := mustRequest(t, e, web(s), consent(t, s, web(s)))
			mustRequest(t, e, web(s), outbound.RefreshTokens{Refresh: issued.Refresh})
			return request{web(s), outbound.RefreshTokens{Refresh: issued.Refresh}}
		}, connection.ConsentLost},
		"a consent that was taken back": {func(t *testing.T, s *oauthtest.Server, e *oauth.TokenEndpoint) request {
			issued := mustRequest(t, e, web(s), consent(t, s, web(s)))
			s.Revoke()
			return request{web(s), outbound.RefreshTokens{Refresh: issued.Refresh}}
		}, connection.ConsentLost},
	} {
		t.Run(name, func(t *testing.T) {
			s, e := oauthtest.Start(t, callback), local(t)
			r := c.ask(t, s, e)
			_, failure, err := e.RequestTokens(t.Context(), r.client, r.by)
			if err != nil || failure == nil || failure.Code != c.code {
				t.Fatalf("%+v %v", failure, err)
			}
			wantNoSecret(t, *failure, r.client)
		})
	}
}

// wantNoSecret checks what a tenant reads, and what holds it.
func wantNoSecret(t *testing.T, f connection.TokenFailure, c connection.OAuth) {
	t.Helper()
	text := fmt.Sprintf("%+v %#v", f, c)
	for _, secret := range []string{oauthtest.WebSecret, oauthtest.ServiceSecret, url.QueryEscape(oauthtest.WebSecret), echoed} {
		if strings.Contains(text, secret) {
			t.Errorf("%s shows %s", text, secret)
		}
	}
}

const echoed = "what-the-server-repeats"

func TestAServerThatFailsIsNotTakenForOneThatRefuses(t *testing.T) {
	answer := func(status int, contentType, body string) func(http.ResponseWriter, *http.Request, http.Handler) {
		return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	const isJSON = "application/json"
	for name, c := range map[string]struct {
		serve func(http.ResponseWriter, *http.Request, http.Handler)
		code  connection.FailureCode
	}{
		"a failure":                    {answer(500, isJSON, `{"error":"`+echoed+`"}`), connection.ServerFailed},
		"a failure that is no JSON":    {answer(502, "text/html", "<p>"+echoed), connection.ServerFailed},
		"too many requests":            {answer(429, isJSON, `{}`), connection.ServerFailed},
		"a server that is busy":        {answer(400, isJSON, `{"error":"temporarily_unavailable"}`), connection.ServerFailed},
		"an error that nobody knows":   {answer(400, isJSON, `{"error":"`+echoed+`","error_description":"`+echoed+`"}`), connection.ClientRefused},
		"no JSON":                      {answer(200, isJSON, echoed), connection.ServerFailed},
		"no token":                     {answer(200, isJSON, `{"token_type":"Bearer"}`), connection.ServerFailed},
		"an error with the status 200": {answer(200, isJSON, `{"ok":false,"error":"invalid_client"}`), connection.ClientRefused},
		"an unknown error with 200":    {answer(200, isJSON, `{"ok":false,"error":"`+echoed+`"}`), connection.ServerFailed},
		"a token with a line break":    {answer(200, isJSON, `{"access_token":"a\r\nX-Injected: `+echoed+`"}`), connection.ServerFailed},
		"a token that is too long":     {answer(200, isJSON, `{"access_token":"`+strings.Repeat("a", 20<<10)+`"}`), connection.ServerFailed},
		"an answer that is too long":   {answer(200, isJSON, strings.Repeat(" ", 2<<20)+`{"access_token":"a"}`), connection.ServerFailed},
		"a redirect, which is not followed": {func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			http.Redirect(w, r, "/oauth/token", http.StatusTemporaryRedirect)
		}, connection.ServerFailed},
		"no answer in time": {func(_ http.ResponseWriter, r *http.Request, _ http.Handler) { <-r.Context().Done() }, connection.ServerFailed},
	} {
		t.Run(name, func(t *testing.T) {
			s, e := oauthtest.Start(t), local(t)
			if name == "no answer in time" {
				e = e.Within(50 * time.Millisecond)
			}
			s.Intercept(c.serve)
			_, failure, err := e.RequestTokens(t.Context(), service(s), outbound.ClientCredentials{})
			if err != nil || failure == nil || failure.Code != c.code {
				t.Fatalf("%+v %v", failure, err)
			}
			if n := len(s.Asked()); n != 1 {
				t.Errorf("it was asked %d times", n)
			}
			wantNoSecret(t, *failure, service(s))
		})
	}
}

func TestAnswersOfEverySpellingAreRead(t *testing.T) {
	for name, c := range map[string]struct {
		contentType, body string
		want              connection.IssuedTokens
	}{
		"a form": {"application/x-www-form-urlencoded", "access_token=a&expires_in=60&scope=repo,user",
			connection.IssuedTokens{Life: time.Minute, Scopes: []string{"repo", "user"}}},
		"a life that is text":                 {"application/json", `{"access_token":"a","expires_in":"60"}`, connection.IssuedTokens{Life: time.Minute}},
		"no life":                             {"application/json", `{"access_token":"a"}`, connection.IssuedTokens{}},
		"a life of nothing, which is unknown": {"application/json", `{"access_token":"a","expires_in":0}`, connection.IssuedTokens{}},
		"a life that has ended":               {"application/json", `{"access_token":"a","expires_in":-5}`, connection.IssuedTokens{Life: time.Second}},
		"a life of a thousand years":          {"application/json", `{"access_token":"a","expires_in":31536000000}`, connection.IssuedTokens{Life: 10 * 365 * 24 * time.Hour}},
		"the life of a refresh token":         {"application/json", `{"access_token":"a","refresh_expires_in":1800}`, connection.IssuedTokens{RefreshLife: 30 * time.Minute}},
		"the life of a refresh token, again":  {"application/json", `{"access_token":"a","refresh_token_expires_in":"1800"}`, connection.IssuedTokens{RefreshLife: 30 * time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			s := oauthtest.Start(t)
			s.Intercept(func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
				if r.Header.Get("Accept") != "application/json" {
					t.Error("JSON was not asked for")
				}
				w.Header().Set("Content-Type", c.contentType)
				_, _ = io.WriteString(w, c.body)
			})
			got := mustRequest(t, local(t), service(s), outbound.ClientCredentials{})
			if got.Access.Reveal() != "a" || got.Life != c.want.Life || got.RefreshLife != c.want.RefreshLife || !slices.Equal(got.Scopes, c.want.Scopes) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestNoServerIsAskedThatTheOperatorDoesNotAllow(t *testing.T) {
	s := oauthtest.Start(t)
	_, failure, err := endpoint(t).RequestTokens(t.Context(), service(s), outbound.ClientCredentials{})
	if err != nil || failure == nil || failure.Code != connection.ServerFailed || !strings.Contains(failure.Message, "not one that calls may go to") {
		t.Errorf("%+v %v", failure, err)
	}
	if n := len(s.Asked()); n != 0 {
		t.Errorf("it was asked %d times", n)
	}
}

func TestARequestThatIsStoppedHasNoOutcome(t *testing.T) {
	reached := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // until then the server does not see that the client has gone
		close(reached)
		<-r.Context().Done()
	}))
	defer s.Close()
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		<-reached
		stop()
	}()
	_, failure, err := local(t).RequestTokens(ctx, connection.OAuth{TokenURL: s.URL}, outbound.ClientCredentials{})
	if failure != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%+v %v", failure, err)
	}
}
