package httpapi_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/adapters/limiter/memory"
	"github.com/sluicehq/sluice/adapters/oauth/oauthtest"
	"github.com/sluicehq/sluice/adapters/oidc"
	"github.com/sluicehq/sluice/application/members"
	"github.com/sluicehq/sluice/domain/member"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/portstest"
)

// visit asks for a page as a browser does; a form makes it a POST. Headers are pairs.
func (p *people) visit(path string, form url.Values, cookie string, headers ...string) *httptest.ResponseRecorder {
	p.Helper()
	method := http.MethodGet
	if form != nil {
		method = http.MethodPost
	}
	r := httptest.NewRequestWithContext(p.Context(), method, path, strings.NewReader(form.Encode()))
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if cookie != "" {
		r.Header.Set("Cookie", cookie)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	p.handler.ServeHTTP(w, r)
	return w
}

// shows fails unless a page has the status and texts.
func (p *people) shows(got *httptest.ResponseRecorder, status int, texts ...string) {
	p.Helper()
	if got.Code != status {
		p.Errorf("the status is %d, not %d: %s", got.Code, status, got.Body)
	}
	for _, text := range texts {
		if !strings.Contains(got.Body.String(), text) {
			p.Errorf("the page lacks %s: %s", text, got.Body)
		}
	}
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
		"Cache-Control":           "no-store", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
	} {
		if h := got.Header().Get(name); h != want {
			p.Errorf("%s is %q", name, h)
		}
	}
	if strings.Contains(got.Body.String(), "<script") {
		p.Error("the page has scripts")
	}
}

// sessionOf is the cookie of the session that an answer begins.
func (p *people) sessionOf(got *httptest.ResponseRecorder) string {
	p.Helper()
	for _, text := range got.Header().Values("Set-Cookie") {
		if c, err := http.ParseSetCookie(text); err == nil && c.Name == "__Host-sluice" && c.MaxAge > 0 {
			return sent(c)
		}
	}
	p.Fatalf("no session has begun: %d %v %s", got.Code, got.Header(), got.Body)
	return ""
}

func TestThePageOfALinkAsksBeforeItUsesIt(t *testing.T) {
	p := newPeople(t, publicURL)
	path, chosen := "/console/l/"+p.link, url.Values{"password": {goodPassword}}
	for range 3 { // what reads mails comes first
		p.shows(p.visit(path, nil, ""), 200, "<h1>Choose your password</h1>", "anna@example.com", `<form method="post">`, `autocomplete="new-password"`)
	}
	p.shows(p.visit(path, nil, "", "Accept-Language", "es-MX"), 200, `<html lang="es">`, "Elija su contraseña")
	p.shows(p.visit(path, nil, "", "Accept-Language", "pt"), 200, `<html lang="pt-BR">`, "Escolha sua senha")
	for password, want := range map[string]string{"short": "at least 12 characters", "anna@example.com": "too easy to guess", "": "at least 12 characters", strings.Repeat("x", 300): "at most 256"} {
		p.shows(p.visit(path, url.Values{"password": {password}}, ""), 400, want, `role="alert"`)
	}
	for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}, {"Origin", "null"}} {
		p.shows(p.visit(path, chosen, "", headers...), 403, "Another site may not do this")
	}
	// A browser names no origin where a page has the policy no-referrer.
	got := p.visit(path, chosen, "__Host-sluice="+member.NewToken([member.TokenBytes]byte{9}).Reveal(), "Sec-Fetch-Site", "same-origin", "Origin", "null")
	if got.Code != http.StatusSeeOther || got.Header().Get("Location") != "/console" || got.Header().Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("%d %v", got.Code, got.Header())
	}
	p.shows(p.visit("/console", nil, p.sessionOf(got)), 200, "You are signed in", "anna@example.com", "no member of a tenant yet")
	for _, again := range []url.Values{nil, chosen} {
		p.shows(p.visit(path, again, ""), 404, "This link is not valid any more")
		p.shows(p.visit("/console/l/nothing", again, ""), 404, "This link is not valid any more")
	}
	if log := p.log.String(); strings.Contains(log, p.link) || !strings.Contains(log, "/console/l/:token") {
		t.Errorf("the log holds the link: %s", log)
	}
}

func TestWhoGuessesLinksIsLimited(t *testing.T) {
	p := newPeople(t, publicURL)
	for i := 0; ; i++ {
		got := p.visit("/console/l/"+member.NewToken([member.TokenBytes]byte{2, byte(i)}).Reveal(), nil, "")
		if got.Code == http.StatusTooManyRequests && got.Header().Get("Retry-After") != "" {
			p.shows(got, 429, "Too many attempts")
			return
		}
		if p.shows(got, 404); i > 40 {
			t.Fatal("somebody may guess for ever")
		}
	}
}

func TestPeopleSignInAndOutOnThePage(t *testing.T) {
	p := newPeople(t, publicURL)
	p.enter()
	p.shows(p.visit("/console", nil, ""), 200, "<h1>Sign in</h1>", `action="/console/sign-in"`)
	if strings.Contains(p.visit("/console", nil, "").Body.String(), "/oidc/start") {
		t.Error("a provider is offered that there is not")
	}
	var refusals []string
	for _, who := range []url.Values{{"email": {"anna@example.com"}, "password": {"wrong"}}, {"email": {"nobody@example.com"}, "password": {goodPassword}}, {"email": {"\"><script>"}}} {
		got := p.visit("/console/sign-in", who, "")
		p.shows(got, 401, "Address and password do not fit together")
		refusals = append(refusals, strings.ReplaceAll(got.Body.String(), htmlOf(who.Get("email")), ""))
	}
	if refusals[0] != refusals[1] || refusals[0] != refusals[2] {
		t.Errorf("the answers tell accounts apart: %q", refusals)
	}
	right := url.Values{"email": {"anna@example.com"}, "password": {goodPassword}}
	p.shows(p.visit("/console/sign-in", right, "", "Sec-Fetch-Site", "cross-site"), 403)
	s := p.sessionOf(p.visit("/console/sign-in", right, ""))
	p.shows(p.visit("/console/sign-out", url.Values{}, s, "Sec-Fetch-Site", "cross-site"), 403)
	p.shows(p.visit("/console", nil, s), 200, "You are signed in", `action="/console/sign-out"`)
	if out := p.visit("/console/sign-out", url.Values{}, s); out.Code != http.StatusSeeOther {
		t.Errorf("%d", out.Code)
	}
	p.shows(p.visit("/console", nil, s), 200, "<h1>Sign in</h1>")
	p.shows(p.visit("/console/sign-in", url.Values{"email": {strings.Repeat("x", 20<<10)}}, ""), 413)
	if log := p.log.String(); strings.Contains(log, goodPassword) {
		t.Errorf("the log holds a password: %s", log)
	}
}

func htmlOf(text string) string {
	return strings.NewReplacer("<", "&lt;", ">", "&gt;", `"`, "&#34;").Replace(text)
}

func TestThePageSaysOfWhichTenantsSomebodyIsAMember(t *testing.T) {
	p := newPeople(t, publicURL)
	owner := p.customer("Acme <Ltd>")
	s := p.member(owner.id, tenant.EditorRole)
	p.customer("Elsewhere")
	got := p.visit("/console", nil, s.cookie())
	if p.shows(got, 200, "Acme &lt;Ltd&gt; · edits"); strings.Contains(got.Body.String(), "Elsewhere") {
		t.Errorf("another tenant is shown: %s", got.Body)
	}
	p.shows(p.visit("/console", nil, p.signedIn(true).cookie()), 200, "operator")
}

func TestPlainPagesAreForLoopbackOnly(t *testing.T) {
	p := newPeople(t, "http://sluice.example")
	for _, path := range []string{"/console", "/console/l/" + p.link, "/console/api/oidc/start", "/console/api/oidc/callback"} {
		p.shows(p.visit(path, nil, ""), 403, "TLS")
	}
}

// identities is a console whose people sign in with a real provider.
type identities struct {
	*people
	*oauthtest.Server
}

func newIdentities(t *testing.T) *identities {
	t.Helper()
	server := oauthtest.Start(t, publicURL+"/console/api/oidc/callback")
	p := newPeople(t, publicURL)
	provider := oidc.New(oidc.Settings{Issuer: server.URL, ClientID: oauthtest.WebClient, ClientSecret: oauthtest.WebSecret, RedirectURL: func() string { return publicURL + "/console/api/oidc/callback" }})
	service := members.New(p.store, &portstest.PlainPasswords{}, provider, memory.New(p.clock), p.clock, p.random)
	p.gateway = (&gateway{T: t, store: p.store, clock: p.clock, random: p.random}).built(func(_ *httpapi.Options, ports *httpapi.Ports) {
		ports.Accounts, ports.SignInElsewhere, ports.ForgottenPasswords = service, service, members.NewForgotten(service, members.Letters{Mailer: &portstest.Mailbox{}})
	})
	return &identities{p, server}
}

// depart sends a browser to the provider, and returns what it keeps and what it is sent back with.
func (e *identities) depart() (kept *http.Cookie, back url.Values) {
	e.Helper()
	got := e.visit("/console/api/oidc/start", nil, "")
	kept = e.given(got)
	if got.Code != http.StatusSeeOther || kept.Name != "__Host-sluice_oidc" || !kept.HttpOnly || !kept.Secure || kept.SameSite != http.SameSiteLaxMode || kept.MaxAge > 600 {
		e.Fatalf("%d, %v", got.Code, kept)
	}
	to := got.Header().Get("Location")
	for _, secret := range strings.Split(kept.Value, ".")[2:] {
		if strings.Contains(to, secret) {
			e.Errorf("the verifier is in %s", to)
		}
	}
	return kept, e.Visit(e.T, to)
}

func (e *identities) comeBack(kept string, back url.Values) *httptest.ResponseRecorder {
	e.Helper()
	return e.visit("/console/api/oidc/callback?"+back.Encode(), nil, kept)
}

// signIn goes there and back.
func (e *identities) signIn(p oauthtest.Person) *httptest.ResponseRecorder {
	e.Helper()
	e.SignIn(p)
	kept, back := e.depart()
	return e.comeBack(sent(kept), back)
}

func TestPeopleSignInWithAProvider(t *testing.T) {
	e := newIdentities(t)
	anna := oauthtest.Person{Subject: "1", Email: "Anna@example.com", Name: "Anna", IsVerified: true}
	stranger := e.enter() // by the invitation, which whoever made it has seen, too
	e.shows(e.visit("/console", nil, ""), 200, `href="/console/api/oidc/start"`)
	for claim, p := range map[string]oauthtest.Person{
		"an address that nobody has verified": {Subject: "1", Email: "anna@example.com"}, "no address": {Subject: "1", IsVerified: true},
		"somebody who was not invited": {Subject: "2", Email: "bert@example.com", IsVerified: true},
	} {
		if got := e.signIn(p); got.Code != http.StatusUnauthorized || !strings.Contains(got.Body.String(), "ask who invited you") {
			t.Errorf("%s: %d %s", claim, got.Code, got.Body)
		}
	}
	got := e.signIn(anna)
	e.shows(e.visit("/console", nil, e.sessionOf(got)), 200, "You are signed in", "Anna, anna@example.com")
	if got.Header().Get("Location") != "/console" {
		t.Errorf("people come to %s", got.Header().Get("Location"))
	}
	e.shows(e.visit("/console", nil, sent(stranger)), 200, "<h1>Sign in</h1>")
	e.shows(e.visit("/console/sign-in", url.Values{"email": {"anna@example.com"}, "password": {goodPassword}}, ""), 401)
	e.sessionOf(e.signIn(oauthtest.Person{Subject: "1", Email: "changed@example.com"}))
	e.shows(e.signIn(oauthtest.Person{Subject: "3", Email: "anna@example.com", IsVerified: true}), 401, "ask who invited you")
}

func TestOnlyTheBrowserThatLeftComesBack(t *testing.T) {
	e := newIdentities(t)
	e.SignIn(oauthtest.Person{Subject: "1", Email: "anna@example.com", IsVerified: true})
	refused := func(claim, kept string, back url.Values) {
		t.Helper()
		got := e.comeBack(kept, back)
		if got.Code != http.StatusUnauthorized || strings.Contains(strings.Join(got.Header().Values("Set-Cookie"), ";"), "__Host-sluice=") {
			t.Errorf("%s: %d, %v", claim, got.Code, got.Header())
		}
		e.shows(got, 401, "This did not work", `href="/console"`)
	}
	with := func(back url.Values, name, value string) url.Values {
		changed := url.Values{}
		for n, v := range back {
			changed[n] = v
		}
		changed.Set(name, value)
		return changed
	}
	kept, back := e.depart()
	other, theirs := e.depart()
	refused("a browser that never left", "", back)
	refused("another browser", sent(other), back)
	refused("two cookies", sent(kept)+"; "+sent(other), back)
	refused("another state", sent(kept), with(back, "state", theirs.Get("state")))
	refused("no state", sent(kept), with(back, "state", ""))
	refused("two states", sent(kept), url.Values{"code": back["code"], "state": {back.Get("state"), theirs.Get("state")}})
	refused("the code of somebody else", sent(kept), with(back, "code", theirs.Get("code")))
	refused("no code", sent(kept), url.Values{"state": back["state"], "error": {"access_denied"}})

	kept, back = e.depart()
	got := e.comeBack(sent(kept), back)
	e.sessionOf(got)
	if all := strings.Join(got.Header().Values("Set-Cookie"), "\n"); !strings.Contains(all, "__Host-sluice_oidc=; Path=/; Max-Age=0") {
		t.Errorf("what was kept stays: %s", all)
	}
	refused("the same callback again", "", back)
	refused("the same callback again with what was kept", sent(kept), back)

	var first []byte // what somebody else was given
	e.Intercept(func(w http.ResponseWriter, r *http.Request, serve http.Handler) {
		recorder := httptest.NewRecorder()
		serve.ServeHTTP(recorder, r)
		if first == nil {
			first = recorder.Body.Bytes()
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.Copy(w, bytes.NewReader(first))
	})
	kept, back = e.depart()
	e.sessionOf(e.comeBack(sent(kept), back))
	kept, back = e.depart()
	refused("the identity of another sign-in", sent(kept), back)

	log := e.log.String()
	for _, secret := range []string{back.Get("code"), back.Get("state"), kept.Value, strings.Split(kept.Value, ".")[2]} {
		if strings.Contains(log, secret) {
			t.Errorf("the log holds %s: %s", secret, log)
		}
	}
}

func TestAProviderMayBeAwayOrMissing(t *testing.T) {
	p := newPeople(t, publicURL)
	for _, path := range []string{"/console/api/oidc/start", "/console/api/oidc/callback?code=c&state=s"} {
		p.shows(p.visit(path, nil, ""), 404, "People sign in with passwords here")
	}
	provider := oidc.New(oidc.Settings{Issuer: "http://127.0.0.1:1", ClientID: "sluice", RedirectURL: func() string { return publicURL }})
	service := members.New(p.store, &portstest.PlainPasswords{}, provider, memory.New(p.clock), p.clock, p.random)
	p.gateway = (&gateway{T: t, store: p.store, clock: p.clock, random: p.random}).built(func(_ *httpapi.Options, ports *httpapi.Ports) { ports.SignInElsewhere = service })
	p.shows(p.visit("/console/api/oidc/start", nil, ""), 503, "The identity provider does not answer")
	p.shows(p.visit("/console", nil, ""), 200, "<h1>Sign in</h1>")
}

func TestDeparturesToAProviderAreLimited(t *testing.T) {
	e := newIdentities(t)
	for i := 0; ; i++ {
		got := e.visit("/console/api/oidc/start", nil, "")
		if got.Code == http.StatusTooManyRequests {
			e.shows(got, 429, "Too many attempts")
			return
		}
		if got.Code != http.StatusSeeOther || i > 130 {
			t.Fatalf("the %d. is answered %d", i, got.Code)
		}
	}
}

func TestWhoForgotAPasswordAsksForALink(t *testing.T) {
	p := newPeople(t, "https://sluice.example")
	form := func(email string) url.Values { return url.Values{"email": {email}} }
	if got := p.visit("/console", nil, ""); strings.Contains(got.Body.String(), "Forgot") {
		t.Error("there is no mail server", got.Body)
	}
	p.shows(p.visit("/console/forgotten-password", nil, ""), 404, "Ask who invited you")
	p.shows(p.visit("/console/forgotten-password", form("anna@example.com"), ""), 404, "Ask who invited you")
	p.want(p.ask("POST", "/forgotten-password", `{"email":"anna@example.com"}`, ""), 404)
	p.mail.IsEnabled = true
	p.shows(p.visit("/console", nil, ""), 200, `href="/console/forgotten-password"`, "Forgot your password?")
	p.shows(p.visit("/console/forgotten-password", nil, "", "Accept-Language", "es"), 200, "¿Ha olvidado su contraseña?", `action="/console/forgotten-password"`)
	known, unknown := p.visit("/console/forgotten-password", form("anna@example.com"), ""), p.visit("/console/forgotten-password", form("nobody@example.com"), "")
	p.shows(known, 200, "a mail with a link is on its way")
	if known.Body.String() != unknown.Body.String() {
		t.Error("the page says who has an account", unknown.Body)
	}
	p.want(p.ask("POST", "/forgotten-password", `{"email":"anna@example.com"}`, ""), 204)
	p.want(p.ask("POST", "/forgotten-password", `{"email":"nobody@example.com"}`, ""), 204)
	p.want(p.ask("POST", "/forgotten-password", `{}`, ""), 400)
	p.shows(p.visit("/console/forgotten-password", form("anna@example.com"), "", "Sec-Fetch-Site", "cross-site"), 403)
	for range 2 {
		p.visit("/console/forgotten-password", form("anna@example.com"), "")
	}
	p.shows(p.visit("/console/forgotten-password", form("anna@example.com"), ""), 429, "Too many attempts")
	if len(p.mail.Sent) > 0 {
		t.Error("the request waited for the mail server")
	}
	if err := p.mails.SendDue(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(p.mail.Sent) != 3 {
		t.Fatal(p.mail.Sent)
	}
	_, link, _ := strings.Cut(p.mail.Sent[2].Text, publicURL)
	p.shows(p.visit(strings.SplitN(link, "\n", 2)[0], nil, ""), 200, "Choose your password", "anna@example.com")
}
