package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/domain"
)

// framed asks for the page of the editor as a browser does. Like the console's pages it is none of the API that is described.
func (g *gateway) framed(id string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(g.Context(), http.MethodGet, "/embed/"+id, http.NoBody)
	r.Header.Set("Cookie", "sluice_session=a")
	w := httptest.NewRecorder()
	g.api.ServeHTTP(w, r)
	return w
}

// The page that shows the editor may be framed where its tenant has said so, and nowhere else.
func TestTheEditorIsFramedWhereItsTenantSays(t *testing.T) {
	g := newGateway(t, func(o *httpapi.Options, _ *httpapi.Ports) { o.Pages = pages{http.NotFoundHandler()} })
	c, other := g.customer("Acme"), g.customer("Other")
	want := func(claim, id string, status int, body string) {
		t.Helper()
		got := g.framed(id)
		if got.Code != status || got.Body.String() != body || got.Header().Get("Set-Cookie") != "" {
			t.Errorf("%s: %d %s %v", claim, got.Code, got.Body, got.Header())
		}
	}
	want("at first", string(c.id), http.StatusNotFound, "[]")
	g.send(http.MethodPatch, "/v1/gateway/settings", c.secret, `{"embed":{"origins":["https://app.example.com","http://localhost:3000"]}}`)
	want("once it has named them", string(c.id), http.StatusOK, "[https://app.example.com http://localhost:3000]")
	want("another tenant", string(other.id), http.StatusNotFound, "[]")
	for _, id := range []string{"tenant_absent", "tenant_00000000000000000000000099", "..%2Fconsole", "a%22b"} {
		want("an unknown address", id, http.StatusNotFound, "[]")
	}
	want("the element", "sluice-editor.js", http.StatusOK, "the element")
	for i := range 600 {
		if got := g.framed(string(c.id)); got.Code == http.StatusTooManyRequests && i > 500 && got.Header().Get("Retry-After") != "" {
			return
		}
	}
	t.Error("one address may open it as often as it wants")
}

func TestASuspendedTenantIsFramedNowhere(t *testing.T) {
	g := newGateway(t, func(o *httpapi.Options, _ *httpapi.Ports) { o.Pages = pages{http.NotFoundHandler()} })
	c := g.customer("Acme")
	g.send(http.MethodPatch, "/v1/gateway/settings", c.secret, `{"embed":{"origins":["https://app.example.com"]}}`)
	if _, err := g.tenants().Suspend(t.Context(), domain.IdempotencyKey{}, c.id); err != nil {
		t.Fatal(err)
	}
	if got := g.framed(string(c.id)); got.Code != http.StatusNotFound || got.Body.String() != "[]" {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}
