package httpapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/adapters/httpapi"
)

// pages serve those below /console/, and say of the others who may frame them.
type pages struct{ http.Handler }

func (pages) ServeEmbed(w http.ResponseWriter, origins []string) { _, _ = fmt.Fprint(w, origins) }

func (pages) ServeElement(w http.ResponseWriter, _ *http.Request) {
	_, _ = fmt.Fprint(w, "the element")
}

// withPages is a gateway whose console has pages, below a path of the public address.
func withPages(t *testing.T) *people {
	t.Helper()
	return newPeople(t, "https://example.com/automation", func(o *httpapi.Options, _ *httpapi.Ports) {
		o.Pages = pages{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprintf(w, "the page %s", r.URL.Path) })}
	})
}

func cookieOf(got *httptest.ResponseRecorder, name string) string {
	for _, text := range got.Header().Values("Set-Cookie") {
		if c, err := http.ParseSetCookie(text); err == nil && c.Name == name && c.MaxAge > 0 {
			return c.Name + "=" + c.Value
		}
	}
	return ""
}

func TestWhoSignsInComesToThePageThatLedThere(t *testing.T) {
	p := withPages(t)
	first := p.visit("/console/l/"+p.link, url.Values{"password": {goodPassword}}, "")
	if got := first.Header().Get("Location"); got != "/automation/console/" {
		t.Errorf("without a place to go the link leads to %q", got)
	}
	session := p.sessionOf(first)
	if got := p.visit("/console?next=%2Fkeys", nil, session); got.Code != http.StatusSeeOther || got.Header().Get("Location") != "/automation/console/" {
		t.Errorf("who is signed in: %d %v", got.Code, got.Header())
	}
	login := url.Values{"email": {"anna@example.com"}, "password": {goodPassword}}
	for next, want := range map[string]string{
		"/t/tenant_1/runs?status=failed": "/automation/console/t/tenant_1/runs?status=failed",
		"":                               "/automation/console/",
		"//evil.example":                 "/automation/console//evil.example",
		"https://evil.example":           "/automation/console/",
		"/" + strings.Repeat("x", 2000):  "/automation/console/",
		"/a\r\nSet-Cookie: b=c":          "/automation/console/",
	} {
		page := p.visit("/console?next="+url.QueryEscape(next), nil, "")
		p.shows(page, http.StatusOK, `action="/automation/console/sign-in"`)
		got := p.visit("/console/sign-in", login, cookieOf(page, "__Host-sluice_next"))
		if got.Code != http.StatusSeeOther || got.Header().Get("Location") != want {
			t.Errorf("%q leads to %d %q", next, got.Code, got.Header().Get("Location"))
		}
	}
}

func TestPagesAreServedBelowTheConsoleOnly(t *testing.T) {
	p := withPages(t)
	for path, want := range map[string]int{
		"/console/": 200, "/console/t/tenant_1/runs": 200, "/console/assets/index.js": 200,
		"/consoles/": 404, "/console/api/nothing": 404, "/v1/gateway/console/": 401,
	} {
		w := httptest.NewRecorder()
		p.api.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		if isPage := strings.HasPrefix(w.Body.String(), "the page "); w.Code != want || isPage != (want == 200) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	w := httptest.NewRecorder()
	p.api.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/console/t/tenant_1", http.NoBody))
	if w.Code != http.StatusNotFound {
		t.Errorf("a page takes POST: %d", w.Code)
	}
	plain := newPeople(t, "http://example.com", func(o *httpapi.Options, _ *httpapi.Ports) { o.Pages = pages{http.NotFoundHandler()} })
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/console/", http.NoBody)
	r.Host = "example.com"
	w = httptest.NewRecorder()
	plain.api.ServeHTTP(w, r)
	if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "over TLS only") {
		t.Errorf("without TLS: %d %s", w.Code, w.Body)
	}
}
