package httpapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Every kind of record that bears metadata shows it, merges changes into it, and lets its
// lists be narrowed by it.
func TestMetadataIsTheSameForEveryKind(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	other := g.fixture("Other")
	version := "/v1/gateway/workflow-versions"
	for path, list := range map[string]string{
		"/v1/gateway/workflows/" + e.ids["workflows"]:                 "/v1/gateway/workflows",
		version + "/" + e.ids["workflow-versions"]:                    version + "?workflowId=" + e.ids["workflows"],
		"/v1/gateway/triggers/" + e.ids["triggers"]:                   "/v1/gateway/triggers",
		"/v1/gateway/sub-tenants/" + e.ids["sub-tenants"]:             "/v1/gateway/sub-tenants",
		"/v1/gateway/custom-nodes/" + e.ids["custom-nodes"]:           "/v1/gateway/custom-nodes",
		"/v1/gateway/webhook-endpoints/" + e.ids["webhook-endpoints"]: "/v1/gateway/webhook-endpoints",
		tenantsPath + "/" + string(e.id):                              tenantsPath,
	} {
		send := func(method, path, body string, header ...string) answer {
			if strings.HasPrefix(path, tenantsPath) {
				return g.operate(method, path, body, header...)
			}
			return g.send(method, path, e.secret, body, header...)
		}
		has := func(step, want string) {
			t.Helper()
			if got := fmt.Sprint(send(http.MethodGet, path, "").field(t, "metadata")); got != want {
				t.Errorf("%s: %s: %s, not %s", path, step, got, want)
			}
		}
		narrowed := func(filter string, want float64) {
			t.Helper()
			separator := "?"
			if strings.Contains(list, "?") {
				separator = "&"
			}
			got := send(http.MethodGet, list+separator+filter, "", "Prefer", "handling=strict")
			if got.status != http.StatusOK || got.field(t, "total") != want {
				t.Errorf("%s by %s: %d %s", list, filter, got.status, got.body)
			}
		}
		change := func(body string) {
			t.Helper()
			if got := send(http.MethodPatch, path, body, "Prefer", "handling=strict"); got.status != http.StatusOK {
				t.Errorf("%s: %d %s", path, got.status, got.body)
			}
		}
		has("at first", "map[]")
		change(`{"metadata":{"a":"1","b":"2"}}`)
		has("after the first change", "map[a:1 b:2]")
		change(`{"metadata":{"a":null,"c":"3"}}`)
		has("after merging", "map[b:2 c:3]")
		narrowed("metadata[b]=2", 1)
		narrowed("metadata[b]=2&metadata[c]=3", 1)
		narrowed("metadata[b]=2&metadata[c]=4", 0)
		change(`{"metadata":{}}`)
		has("after a change of nothing", "map[b:2 c:3]")
		change(`{"metadata":null}`)
		has("after clearing", "map[]")
		change(`{"metadata":{"b":"2"}}`)
		// An empty text is beyond what the description's schema can say next to an object.
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPatch, path, strings.NewReader(`{"metadata":""}`))
		r.Header.Set("X-API-Key", e.secret)
		r.Header.Set("Authorization", "Bearer "+operatorToken)
		g.api.ServeHTTP(httptest.NewRecorder(), r)
		has("after an empty text", "map[]")
		change(`{"metadata":{"b":"2"}}`)
	}
	for filter, want := range map[string]float64{"b]=2": 1, "b]=3": 0} {
		got := g.send(http.MethodGet, "/v1/gateway/sub-tenants/combined?metadata["+filter, e.secret, "", "Prefer", "handling=strict")
		if got.status != http.StatusOK || got.field(t, "total") != want {
			t.Errorf("all sub-tenants by metadata[%s: %d %s", filter, got.status, got.body)
		}
	}
	if got := g.send(http.MethodGet, "/v1/gateway/workflows?metadata[b]=2", other.secret, ""); got.field(t, "total") != 0.0 {
		t.Errorf("another tenant finds %s", got.body)
	}
}
