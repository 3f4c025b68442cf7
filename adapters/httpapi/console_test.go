package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/ports/outbound"
)

const (
	goodPassword    = "correct horse battery staple"
	anotherPassword = "seven green lamps in winter"
)

type noProvider struct{ outbound.IdentityProvider }

func (noProvider) Enabled() bool { return false }

// people is a gateway whose console one person was invited to.
type people struct {
	*gateway
	link string
}

func newPeople(t *testing.T, public string, options ...option) *people {
	t.Helper()
	g := newGateway(t, append(options, func(o *httpapi.Options, _ *httpapi.Ports) { o.PublicURL = func() string { return public } })...)
	p := &people{gateway: g, link: member.NewToken([member.TokenBytes]byte{1}).Reveal()}
	link, _ := member.ParseToken(p.link)
	user, err := member.NewUser("usr_1", member.UserDraft{Email: "anna@example.com"}, noon)
	if err != nil {
		t.Fatal(err)
	}
	p.write(func(ctx context.Context, st outbound.Stores) error {
		return errors.Join(st.Members.Users.Insert(ctx, user), st.Members.Links.Insert(ctx, member.NewLink(user.ID(), member.Invitation, link, noon)))
	})
	return p
}

// ask makes a request with a cookie; headers are pairs.
func (p *people) ask(method, path, body, cookie string, headers ...string) *httptest.ResponseRecorder {
	p.Helper()
	r := httptest.NewRequestWithContext(p.Context(), method, "/console/api"+path, strings.NewReader(body))
	r.Host = "localhost:8080"
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if cookie != "" {
		r.Header.Set("Cookie", cookie)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	p.handler.ServeHTTP(w, r)
	return w
}

func (p *people) want(got *httptest.ResponseRecorder, status int) *httptest.ResponseRecorder {
	p.Helper()
	if got.Code != status {
		p.Fatalf("the status is %d, not %d", got.Code, status)
	}
	return got
}

// given is the one cookie of an answer.
func (p *people) given(got *httptest.ResponseRecorder) *http.Cookie {
	p.Helper()
	all := got.Header().Values("Set-Cookie")
	if len(all) != 1 {
		p.Fatalf("the cookies are %v", all)
	}
	cookie, err := http.ParseSetCookie(all[0])
	if err != nil {
		p.Fatal(err)
	}
	return cookie
}

func (p *people) enter() *http.Cookie {
	p.Helper()
	return p.given(p.want(p.ask("POST", "/links/"+p.link, `{"password":"`+goodPassword+`"}`, ""), 204))
}

const login = `{"email":"anna@example.com","password":"` + goodPassword + `"}`

func sent(c *http.Cookie) string { return c.Name + "=" + c.Value }

func TestAPersonChoosesTheLanguageOfTheConsole(t *testing.T) {
	p := newPeople(t, "http://localhost:8080")
	session := sent(p.enter())
	p.want(p.ask("PATCH", "/session", `{"language":"fr"}`, session), 400)
	p.want(p.ask("PATCH", "/session", `{"language":"pt-BR"}`, session), 204)
	if got := p.want(p.ask("GET", "/session", "", session), 200).Body.String(); !strings.Contains(got, `"language":"pt-BR"`) {
		t.Error(got)
	}
	p.want(p.ask("PATCH", "/session", `{"language":"es"}`, ""), 401)
}

func TestPeopleSignInAndOut(t *testing.T) {
	for public, name := range map[string]string{"https://sluice.example": "__Host-sluice", "http://localhost:8080": "sluice_session"} {
		p := newPeople(t, public)
		p.enter()
		p.want(p.ask("POST", "/links/"+p.link, `{"password":"`+goodPassword+`"}`, ""), 404)
		fixed := name + "=" + member.NewToken([member.TokenBytes]byte{9}).Reveal()
		c := p.given(p.want(p.ask("POST", "/session", login, fixed), 204))
		if c.Name != name || !c.HttpOnly || c.Path != "/" || c.Domain != "" || c.SameSite != http.SameSiteLaxMode || c.Secure != strings.HasPrefix(public, "https:") {
			t.Errorf("the cookie is %v", c)
		}
		if sent(c) == fixed {
			t.Error("a cookie from before the sign-in is kept")
		}
		p.want(p.ask("GET", "/session", "", fixed), 401)
		p.want(p.ask("GET", "/session", "", ""), 401)
		p.want(p.ask("GET", "/session", "", sent(c)+"; "+fixed), 401)
		p.want(p.ask("GET", "/session", "", sent(c)), 200)
		p.want(p.ask("GET", "/sessions", "", sent(c)), 200)
		p.want(p.ask("DELETE", "/sessions/ses_none", "", sent(c)), 404)
		if out := p.given(p.want(p.ask("DELETE", "/session", "", sent(c)), 204)); out.MaxAge >= 0 {
			t.Errorf("the cookie stays: %v", out)
		}
		p.want(p.ask("GET", "/session", "", sent(c)), 401)
	}
}

func TestAChangedPasswordEndsOtherSessions(t *testing.T) {
	p := newPeople(t, "https://sluice.example")
	first := p.enter()
	second := p.given(p.want(p.ask("POST", "/session", login, ""), 204))
	p.want(p.ask("POST", "/password", `{"current":"wrong","new":"`+anotherPassword+`"}`, sent(second)), 403)
	p.want(p.ask("POST", "/password", `{"current":"`+goodPassword+`","new":"`+anotherPassword+`"}`, sent(second)), 204)
	p.want(p.ask("GET", "/session", "", sent(first)), 401)
	p.want(p.ask("GET", "/session", "", sent(second)), 200)
}

func TestAnotherSiteDoesNothing(t *testing.T) {
	p := newPeople(t, "https://sluice.example")
	c := p.enter()
	for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}} {
		for _, r := range [][3]string{{"POST", "/session", login}, {"DELETE", "/session", ""}, {"POST", "/password", `{}`}, {"DELETE", "/sessions/ses_1", ""}, {"POST", "/links/x", `{}`}} {
			p.want(p.ask(r[0], r[1], r[2], sent(c), headers...), 403)
		}
	}
	p.want(p.ask("GET", "/session", "", sent(c)), 200)
}

func TestPlainHTTPIsForLoopbackOnly(t *testing.T) {
	p := newPeople(t, "http://sluice.example")
	for host, status := range map[string]int{"sluice.example": 403, "192.0.2.1:80": 403, "localhost.example": 403, "127.0.0.1:8080": 401, "[::1]:8080": 401, "localhost": 401} {
		p.want(p.ask("POST", "/session", login, "", "Host", host), status)
		p.want(p.ask("GET", "/t/tenant_1/workflows", "", "", "Host", host), status)
		p.want(p.ask("GET", "/t/tenant_1/members", "", "", "Host", host), status)
	}
	for header, value := range map[string]string{"X-Forwarded-For": "192.0.2.1", "X-Forwarded-Proto": "https", "Forwarded": "for=192.0.2.1"} {
		p.want(p.ask("POST", "/session", login, "", header, value), 403)
		p.want(p.ask("GET", "/t/tenant_1/workflows", "", "", header, value), 403)
	}
}

func TestASignInSaysNothingOfAccountsAndIsLimited(t *testing.T) {
	p := newPeople(t, "https://sluice.example")
	p.enter()
	for _, email := range []string{"anna@example.com", "nobody@example.com", "no address"} {
		limited := false
		for range 12 {
			got := p.send("POST", "/console/api/session", "", `{"email":"`+email+`","password":"wrong"}`)
			limited = limited || got.status == 429
			if want := map[int]string{401: "sign_in_refused", 429: "too_many_sign_ins"}[got.status]; want == "" || got.field(t, "code") != want {
				t.Errorf("%s got %d: %s", email, got.status, got.body)
			}
		}
		if !limited {
			t.Errorf("who guesses the password of %s is not limited", email)
		}
	}
}
