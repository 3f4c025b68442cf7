package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/domain/run"
)

// page asks for a page as a browser does.
func (g *gateway) page(method, path, language string, form url.Values) *httptest.ResponseRecorder {
	g.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(form.Encode()))
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	r.Header.Set("Accept-Language", language)
	w := httptest.NewRecorder()
	g.handler.ServeHTTP(w, r)
	return w
}

func TestThePageForOneAnswer(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	g.addRuns(e)
	token := runKey.LinkToken(run.Link{Tenant: e.id, Run: run.ID(e.ids["runs"]), Node: "approve"})
	path := "/a/" + token
	got := g.page(http.MethodGet, path, "en", nil)
	for _, want := range []string{"Ship it?", `<button name="f.value" value="true">Yes</button>`, `value="false" class="no">No</button>`, `<html lang="en">`} {
		if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), want) {
			t.Errorf("%d: the page lacks %s: %s", got.Code, want, got.Body)
		}
	}
	if strings.Contains(got.Body.String(), "<script") {
		t.Error("the page has scripts")
	}
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
		"Cache-Control":           "no-store", "Referrer-Policy": "no-referrer",
	} {
		if h := got.Header().Get(name); h != want {
			t.Errorf("%s is %q", name, h)
		}
	}
	for accept, yes := range map[string]string{"pt-PT,pt;q=0.9": ">Sim<", "es-MX": ">Sí<", "de, es;q=0.5, en;q=0.4": ">Sí<", "fr": ">Yes<", "": ">Yes<"} {
		if body := g.page(http.MethodGet, path, accept, nil).Body.String(); !strings.Contains(body, yes) {
			t.Errorf("%s is answered with %s", accept, body)
		}
	}
	_, seq, _ := run.PauseID(e.ids["pauses"]).Question()
	form := func(answer string) url.Values {
		return url.Values{"question": {strconv.FormatInt(seq, 10)}, "f.value": {answer}}
	}
	if bad := g.page(http.MethodPost, path, "en", form("perhaps")); bad.Code != http.StatusBadRequest || !strings.Contains(bad.Body.String(), `role="alert"`) {
		t.Errorf("%d: %s", bad.Code, bad.Body)
	}
	if done := g.page(http.MethodPost, path, "en", form("true")); done.Code != http.StatusSeeOther || done.Header().Get("Location") != path {
		t.Errorf("%d: %s", done.Code, done.Header().Get("Location"))
	}
	if after := g.page(http.MethodGet, path, "en", nil).Body.String(); !strings.Contains(after, "This question has been answered. Thank you.") || !strings.Contains(after, "on this page") {
		t.Errorf("then the page says %s", after)
	}
	if second := g.page(http.MethodPost, path, "es", form("false")); second.Code != http.StatusConflict || !strings.Contains(second.Body.String(), "ya tiene respuesta") {
		t.Errorf("%d: %s", second.Code, second.Body)
	}
	if wrong := g.page(http.MethodGet, path+"x", "en", nil); wrong.Code != http.StatusNotFound || !strings.Contains(wrong.Body.String(), "does not exist") {
		t.Errorf("%d: %s", wrong.Code, wrong.Body)
	}
	if strings.Contains(g.log.String(), token) {
		t.Error("the log holds the token")
	}
}
