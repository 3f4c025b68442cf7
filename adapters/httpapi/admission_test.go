package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// Whoever stands before the gateway and looks at one of them would believe another tenant.
func TestARequestWithSeveralKeysIsNobodys(t *testing.T) {
	g := newGateway(t)
	e, other := g.fixture("Acme"), g.customer("Umbrella")
	g.addRuns(e)
	for _, r := range routesBehindKeys(g) {
		targets, body, _ := e.requests(r)
		for claim, keys := range map[string][]string{
			"the same key twice":          {e.secret, e.secret},
			"keys of two tenants":         {e.secret, other.secret},
			"a key and nothing":           {e.secret, ""},
			"nothing and a key":           {"", e.secret},
			"a key and no key":            {e.secret, "sk_no"},
			"two keys in one header":      {e.secret + "," + other.secret},
			"the same twice in one":       {e.secret + ", " + e.secret},
			"a key with something behind": {e.secret + ","},
		} {
			request := httptest.NewRequestWithContext(t.Context(), r.Method, targets[0], nil)
			request.Header["X-Api-Key"] = keys
			got, none := g.do(request), g.send(r.Method, targets[0], "", body)
			if got.status != http.StatusUnauthorized || got.field(t, "code") != none.field(t, "code") || got.field(t, "message") != none.field(t, "message") {
				t.Errorf("%s %s with %s got %d: %s", r.Method, r.Path, claim, got.status, got.body)
			}
			if got.header.Get("X-RateLimit-Limit") != "" {
				t.Errorf("%s %s with %s counts for somebody", r.Method, r.Path, claim)
			}
		}
	}
}

// Names of headers differ in case on their way, and are one header all the same.
func TestKeysInHeadersOfAnyCaseAreCountedTogether(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	server := httptest.NewServer(g.api)
	defer server.Close()
	for claim, send := range map[string]struct {
		headers []string
		want    int
	}{
		"one in lower case": {[]string{"x-api-key"}, http.StatusOK},
		"two":               {[]string{"x-api-key", "X-API-KEY"}, http.StatusUnauthorized},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/v1/gateway/workflows", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range send.headers {
			request.Header[name] = []string{c.secret}
		}
		got, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = got.Body.Close()
		if got.StatusCode != send.want {
			t.Errorf("%s got %d", claim, got.StatusCode)
		}
	}
}
