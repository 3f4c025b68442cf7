package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestWhatTheClientHasAlreadyIsNotSentAgain(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	sub := fmt.Sprint(g.send(http.MethodPost, "/v1/gateway/sub-tenants", e.secret, `{"name":"North"}`).field(t, "id"))
	for _, path := range []string{
		"/workflows", "/triggers", "/triggers/workflow-version/" + string(e.version), "/workflows/" + e.ids["workflows"],
		"/triggers/" + e.ids["triggers"], "/sub-tenants/" + sub,
		"/workflow-versions/" + string(e.version), "/workflows/versions/" + string(e.version),
	} {
		path = "/v1/gateway" + path
		first := g.send(http.MethodGet, path, e.secret, "")
		etag := first.header.Get("ETag")
		if first.status != http.StatusOK || etag == "" {
			t.Fatalf("%s: %d, ETag %q", path, first.status, etag)
		}
		for sent, want := range map[string]int{
			etag: 304, "W/" + etag: 304, `"other", ` + etag: 304, "*": 304, `"other"`: 200, strings.Trim(etag, `"`): 200, "": 200,
		} {
			got := g.send(http.MethodGet, path, e.secret, "", "If-None-Match", sent)
			if got.status != want || (got.body == "") != (want == 304) || got.header.Get("ETag") != etag {
				t.Errorf("%s with If-None-Match %s: %d, ETag %q: %s", path, sent, got.status, got.header.Get("ETag"), got.body)
			}
		}
	}
}

func TestAChangedListHasAnotherETag(t *testing.T) {
	g := newGateway(t)
	c, other := g.customer("Acme"), g.customer("Other")
	list := func(key, etag string, headers ...string) answer {
		return g.send(http.MethodGet, triggersPath, key, "", append(headers, "If-None-Match", etag)...)
	}
	g.createTrigger(c.secret, webhookBody(c))
	etag := list(c.secret, "").header.Get("ETag")
	if got := list(other.secret, etag); got.status != http.StatusOK {
		t.Errorf("another tenant's list got %d", got.status)
	}
	if got := list(c.secret, etag, "X-Stainless-Lang", "js"); got.status != http.StatusOK || got.field(t, "lastPage") == nil {
		t.Errorf("the page-based form got %d: %s", got.status, got.body)
	}
	g.createTrigger(c.secret, webhookBody(c))
	if got := list(c.secret, etag); got.status != http.StatusOK || got.field(t, "total") != 2.0 {
		t.Errorf("after a change: %d: %s", got.status, got.body)
	}
}

// A comma inside a tag does not end it.
func TestAChangeIsMadeToTheStateThatIsNamed(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	for sent, want := range map[string]int{
		`"1,2"`: 412, `"2,1"`: 412, `"2"`: 412, `W/"1"`: 412, `1`: 412, `"2", "1"`: 204, `"a,b","1"`: 204, `*`: 204,
	} {
		id := fmt.Sprint(g.send(http.MethodPost, "/v1/gateway/workflows", e.secret, `{"name":"`+g.random.ID("wf")+`"}`).field(t, "id"))
		if got := g.send(http.MethodDelete, "/v1/gateway/workflows/"+id, e.secret, "", "If-Match", sent); got.status != want {
			t.Errorf("If-Match: %s: %d, not %d: %s", sent, got.status, want, got.body)
		}
	}
}
