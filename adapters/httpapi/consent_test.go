package httpapi_test

import (
	"fmt"
	"html"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/adapters/egress"
	"github.com/sluicehq/sluice/adapters/oauth"
	"github.com/sluicehq/sluice/adapters/oauth/oauthtest"
)

const publicURL = "https://sluice.example.com"

// localTokens asks authorization servers of this machine.
func localTokens(t *testing.T) *oauth.TokenEndpoint {
	t.Helper()
	guard := egress.New(egress.Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	t.Cleanup(guard.Close)
	return oauth.New(guard.Client(egress.Stay))
}

// consenting is a gateway whose connection waits for a person's consent.
type consenting struct {
	*gateway
	server *oauthtest.Server
	owner  customer
	path   string // of the connection
}

func newConsenting(t *testing.T) consenting {
	t.Helper()
	server, g := oauthtest.Start(t, publicURL+"/oauth/callback"), newGateway(t)
	c := consenting{gateway: g, server: server, owner: g.customer("Acme <b>")}
	own, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	made := c.send(http.MethodPost, "/v1/gateway/connections", c.owner.secret, fmt.Sprintf(
		`{"name":"<script>alert(1)</script>","kind":"oauth2AuthorizationCode","hosts":[%q],"secret":{"authorizationUrl":%q,"tokenUrl":%q,"clientId":%q,"clientSecret":%q,"scopes":["openid","offline_access"]}}`,
		own.Host, server.AuthorizationURL(), server.TokenURL(), oauthtest.WebClient, oauthtest.WebSecret))
	if made.status != http.StatusCreated {
		t.Fatal(made.body)
	}
	c.path = "/v1/gateway/connections/" + made.field(t, "id").(string)
	return c
}

// link asks for a link, and returns its path.
func (c consenting) link() string {
	c.Helper()
	made := c.send(http.MethodPost, c.path+"/authorize", c.owner.secret, "")
	if made.status != http.StatusCreated {
		c.Fatal(made.body)
	}
	return strings.TrimPrefix(made.field(c.T, "url").(string), publicURL)
}

var onward = regexp.MustCompile(`<a href="([^"]*)"`)

// open opens a link, and returns what the browser keeps and where the person goes on.
func (c consenting) open(path string) (cookie, next string) {
	c.Helper()
	page := c.send(http.MethodGet, path, "", "")
	found := onward.FindStringSubmatch(page.body)
	if page.status != http.StatusOK || found == nil {
		c.Fatalf("%d %s", page.status, page.body)
	}
	cookie, _, _ = strings.Cut(page.header.Get("Set-Cookie"), ";")
	return cookie, html.UnescapeString(found[1])
}

func (c consenting) comeBack(cookie string, query url.Values) answer {
	c.Helper()
	return c.send(http.MethodGet, "/oauth/callback?"+query.Encode(), "", "", "Cookie", cookie)
}

func TestAPersonConsents(t *testing.T) {
	c := newConsenting(t)
	if got := c.send(http.MethodGet, c.path+"/grant", c.owner.secret, ""); got.field(t, "status") != "needsConsent" {
		t.Error(got.body)
	}
	path := c.link()
	opened := c.send(http.MethodGet, path, "", "")
	for _, attribute := range []string{"__Host-sluice-consent-", "; Path=/;", "HttpOnly", "Secure", "SameSite=Lax", "Max-Age="} {
		if got := opened.header.Get("Set-Cookie"); !strings.Contains(got, attribute) {
			t.Errorf("the cookie has no %s: %s", attribute, got)
		}
	}
	if strings.Contains(opened.body, "<script>") || strings.Contains(opened.body, "<b>") || !strings.Contains(opened.body, "Acme &lt;b&gt;") {
		t.Errorf("the page does not say who asks: %s", opened.body)
	}
	cookie, next := c.open(path)
	done := c.comeBack(cookie, c.server.Visit(t, next))
	if done.status != http.StatusOK || !strings.Contains(done.header.Get("Set-Cookie"), "Max-Age=0") {
		t.Fatalf("%d %v %s", done.status, done.header, done.body)
	}
	for _, page := range []answer{opened, done} {
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "X-Frame-Options": "DENY", "Content-Type": "text/html; charset=utf-8",
		} {
			if got := page.header.Get(name); got != want {
				t.Errorf("%s is %q", name, got)
			}
		}
		if policy := page.header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") {
			t.Errorf("the policy is %s", policy)
		}
	}
	grant := c.send(http.MethodGet, c.path+"/grant", c.owner.secret, "")
	if grant.field(t, "status") != "active" || grant.field(t, "needsConsent") != false || grant.field(t, "expiresAt") == nil {
		t.Error(grant.body)
	}
	if again := c.comeBack(cookie, url.Values{"state": {mustQuery(t, next).Get("state")}, "code": {"another"}}); again.status != http.StatusNotFound {
		t.Errorf("the state is good twice: %d", again.status)
	}
	if ended := c.send(http.MethodGet, path, "", ""); ended.status != http.StatusNotFound {
		t.Errorf("the link is good twice: %d", ended.status)
	}
	secrets := []string{strings.TrimPrefix(path, "/oauth/consent/"), mustQuery(t, next).Get("state"), oauthtest.WebSecret, strings.SplitN(cookie, "=", 2)[1]}
	for _, secret := range secrets {
		if strings.Contains(c.log.String(), secret) || strings.Contains(grant.body, secret) {
			t.Errorf("%s is shown", secret)
		}
	}
}

func mustQuery(t *testing.T, text string) url.Values {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query()
}

func TestTheCallbackRepeatsNothing(t *testing.T) {
	c := newConsenting(t)
	const evil = `<script>alert(1)</script>https://evil.test`
	for name, try := range map[string]struct {
		query  func(state string) url.Values
		cookie bool
		status int
	}{
		"an error of the server's own": {func(state string) url.Values {
			return url.Values{"state": {state}, "error": {evil}, "error_description": {evil}, "error_uri": {evil}}
		}, true, http.StatusConflict},
		"a refusal": {func(state string) url.Values {
			return url.Values{"state": {state}, "error": {"access_denied"}, "redirect": {evil}}
		}, true, http.StatusConflict},
		"a code that is none": {func(state string) url.Values {
			return url.Values{"state": {state}, "code": {evil}, "return_to": {"https://evil.test"}}
		}, true, http.StatusConflict},
		"another browser":       {func(state string) url.Values { return url.Values{"state": {state}, "code": {evil}} }, false, http.StatusNotFound},
		"another state":         {func(string) url.Values { return url.Values{"state": {evil}, "code": {evil}} }, true, http.StatusNotFound},
		"nothing at all":        {func(string) url.Values { return nil }, true, http.StatusNotFound},
		"a state that is twice": {func(state string) url.Values { return url.Values{"state": {state, state}, "code": {evil}} }, true, http.StatusNotFound},
		"a code that is too long": {func(state string) url.Values {
			return url.Values{"state": {state}, "code": {strings.Repeat("a", 9<<10)}}
		}, true, http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			cookie, next := c.open(c.link())
			if !try.cookie {
				cookie = ""
			}
			got := c.comeBack(cookie, try.query(mustQuery(t, next).Get("state")))
			if got.status != try.status || got.header.Get("Location") != "" {
				t.Errorf("%d %v", got.status, got.header)
			}
			for _, text := range []string{"evil.test", "<script", "alert(1)", mustQuery(t, next).Get("state")} {
				if strings.Contains(got.body, text) || strings.Contains(c.log.String(), text) {
					t.Errorf("it repeats %s", text)
				}
			}
		})
	}
}
