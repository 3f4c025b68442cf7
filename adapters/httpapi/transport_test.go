package httpapi_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/httpapi"
)

func TestBodiesThatAreRefused(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	deep := strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65)
	for claim, r := range map[string]struct {
		body   string
		status int
		code   string
	}{
		"a member in another case is another member": {`{"NAME":"x","workflowVersionId":"v","type":"webhook","config":{}}`, 400, "trigger_invalid"},
		"a member twice":              {`{"name":"good","name":""}`, 400, "malformed_json"},
		"a member twice deep inside":  {`{"config":{"a":[{"b":1,"b":2}]}}`, 400, "malformed_json"},
		"an escaped NUL":              {`{"name":"a\u0000b"}`, 400, "malformed_json"},
		"a NUL deep inside":           {`{"config":{"a":["\u0000"]}}`, 400, "malformed_json"},
		"bytes that are not UTF-8":    {"{\"name\":\"\xff\"}", 400, "malformed_json"},
		"half a surrogate pair":       {`{"name":"\ud800"}`, 400, "malformed_json"},
		"too deep":                    {deep, 400, "malformed_json"},
		"a second document":           {`{} []`, 400, "malformed_json"},
		"no object":                   {`null`, 400, "wrong_type"},
		"cut off":                     {`{"name":`, 400, "malformed_json"},
		"a number beyond every bound": {`{"config":{"timeoutMs":1e999999999}}`, 400, "malformed_json"},
		"more than a mebibyte":        {`{"name":"` + strings.Repeat("a", 1<<20) + `"}`, 413, "body_too_large"},
	} {
		t.Run(claim, func(t *testing.T) {
			if got := g.createTrigger(c.secret, r.body); got.status != r.status || got.field(t, "code") != r.code {
				t.Errorf("got %d: %.300s", got.status, got.body)
			}
		})
	}
}

func TestIdentifiersInPathsNeverReachTheDatabaseUnchecked(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	for _, path := range []string{
		"/workflows/%00", "/workflows/a%2Fb", "/workflows/%ff", "/workflows/" + strings.Repeat("x", 5000), "/workflows/wf_%00000000000000000000000000",
		"/workflow-versions/..%2f..", "/triggers/'%20OR%201=1", "/sub-tenants/by-id/%00", "/sub-tenants/by-id/%ff", "/sub-tenants/by-id/a%2Fb",
		"/custom-nodes/%F0%9F%92%A9", "/api-keys/%00", "/triggers/workflow-version/%00", "/workflows/%00/versions",
	} {
		if got := g.send(http.MethodGet, "/v1/gateway"+path, c.secret, ""); got.status != http.StatusNotFound {
			t.Errorf("%.60s got %d: %.200s", path, got.status, got.body)
		}
	}
	for _, query := range []string{"workflowId=%00", "workflowId=%ff", "workflowId=x%27"} {
		if got := g.send(http.MethodGet, "/v1/gateway/workflow-versions?"+query, c.secret, ""); got.status >= http.StatusInternalServerError {
			t.Errorf("%s got %d: %s", query, got.status, got.body)
		}
	}
	for _, query := range []string{"subTenantId=%00", "search=%00", "search=%ff", "workflowVersionId=%00"} {
		if got := g.send(http.MethodGet, "/v1/gateway/triggers?"+query, c.secret, ""); got.status >= http.StatusInternalServerError {
			t.Errorf("%s got %d: %s", query, got.status, got.body)
		}
	}
}

func TestRequestIdentifiers(t *testing.T) {
	g := newGateway(t)
	for sent, echoed := range map[string]bool{
		"mine-1": true, strings.Repeat("x", 128): true, "a b~!": true,
		"": false, strings.Repeat("x", 129): false, "é": false, "tab\there": false,
	} {
		got := g.send(http.MethodGet, "/healthz", "", "", "X-Request-Id", sent).header.Get("X-Request-Id")
		if (got == sent) != echoed || got == "" {
			t.Errorf("%q came back as %q", sent, got)
		}
	}
}

func TestBrowsersMayCallFromTheConfiguredOrigins(t *testing.T) {
	const origin = "https://app.example"
	with := func(origins ...string) *gateway {
		return newGateway(t, func(o *httpapi.Options, _ *httpapi.Ports) { o.AllowedOrigins = origins })
	}
	preflight := func(g *gateway) answer {
		return g.send(http.MethodOptions, triggersPath, "", "", "Origin", origin, "Access-Control-Request-Method", "POST",
			"Access-Control-Request-Headers", "x-api-key, X-Stainless-Os, X-Evil")
	}
	for claim, c := range map[string]struct {
		g     *gateway
		allow string
	}{
		"this one": {with("https://other.example", origin), origin}, "any": {with("*"), "*"}, "another one": {with("https://other.example"), ""}, "none": {with(), ""},
	} {
		t.Run(claim, func(t *testing.T) {
			got := preflight(c.g)
			if got.header.Get("Access-Control-Allow-Origin") != c.allow || (got.status == http.StatusNoContent) != (c.allow != "") {
				t.Errorf("the preflight got %d %v", got.status, got.header)
			}
			if c.allow != "" {
				want := "X-API-Key, X-Idempotency-Key, X-Request-Id, Content-Type, Accept, If-Match, If-None-Match, Last-Event-ID, Prefer, X-Stainless-Os"
				if diff := cmp.Diff(want, got.header.Get("Access-Control-Allow-Headers")); diff != "" {
					t.Error(diff)
				}
			}
			plain := c.g.send(http.MethodGet, "/healthz", "", "", "Origin", origin)
			exposed := ""
			if c.allow != "" {
				exposed = "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id, Retry-After, X-Should-Retry, Idempotent-Replayed, ETag, X-Ignored-Members, Preference-Applied"
			}
			if plain.header.Get("Access-Control-Allow-Origin") != c.allow || plain.header.Get("Access-Control-Expose-Headers") != exposed {
				t.Errorf("the request got %v", plain.header)
			}
		})
	}
}

func TestHeadIsAnsweredLikeGetWithoutAKey(t *testing.T) {
	g := newGateway(t)
	server := httptest.NewServer(g.api)
	defer server.Close()
	for _, path := range []string{"/healthz", "/readyz", "/openapi.yaml", "/openapi.json", "/docs/"} {
		answers := make(map[string]string)
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := server.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(answer.Body)
			if err != nil || answer.Body.Close() != nil || (len(body) == 0) != (method == http.MethodHead) {
				t.Errorf("%s %s: %d bytes, %v", method, path, len(body), err)
			}
			answers[method] = fmt.Sprint(answer.StatusCode, answer.Header.Get("Content-Type"))
		}
		if answers[http.MethodHead] != answers[http.MethodGet] || !strings.HasPrefix(answers[http.MethodHead], "200") {
			t.Errorf("%s: %v", path, answers)
		}
	}
	if got := g.send(http.MethodDelete, "/healthz", "", ""); got.status != http.StatusMethodNotAllowed || got.header.Get("Allow") != "GET, HEAD" {
		t.Errorf("DELETE got %d, Allow %q", got.status, got.header.Get("Allow"))
	}
}

func TestAForgedForwardedAddressIsNotBelieved(t *testing.T) {
	for ranges, want := range map[string]string{"": "192.0.2.1", "192.0.2.0/24": "203.0.113.9"} {
		g := newGateway(t, func(o *httpapi.Options, _ *httpapi.Ports) { o.TrustedProxies = strings.Fields(ranges) })
		g.send(http.MethodGet, "/healthz", "", "", "X-Forwarded-For", "203.0.113.9") // httptest calls from 192.0.2.1
		if !strings.Contains(g.log.String(), `"client":"`+want+`"`) {
			t.Errorf("trusting %q the log says %s", ranges, g.log.String())
		}
	}
}

func TestPageBasedClientsGetTheirMembers(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	for range 4 {
		g.send(http.MethodPost, "/v1/gateway/sub-tenants", c.secret, `{"name":"x"}`)
	}
	type members struct{ Items, Data, Page, LastPage, Limit, Offset any }
	for target, want := range map[string]members{
		"?limit=3":                  {3, nil, nil, nil, 3.0, 0.0},
		"?pageSize=3&page=1":        {1, 1, 1.0, 1.0, 3.0, 3.0},
		"?pageSize=3&page=7":        {0, 0, 7.0, 1.0, 3.0, 21.0},
		"?pageSize=4":               {4, 4, 0.0, 0.0, 4.0, 0.0},
		"?pageSize=5&search=nobody": {0, 0, 0.0, 0.0, 5.0, 0.0},
	} {
		got := g.send(http.MethodGet, "/v1/gateway/sub-tenants"+target, c.secret, "")
		count := func(name string) any {
			if list, ok := got.field(t, name).([]any); ok {
				return len(list)
			}
			return nil
		}
		have := members{count("items"), count("data"), got.field(t, "page"), got.field(t, "lastPage"), got.field(t, "limit"), got.field(t, "offset")}
		if diff := cmp.Diff(want, have); diff != "" || got.status != http.StatusOK {
			t.Errorf("%s: %d %s", target, got.status, diff)
		}
	}
	sdk := g.send(http.MethodGet, "/v1/gateway/sub-tenants", c.secret, "", "X-Stainless-Lang", "js")
	if sdk.field(t, "data") == nil || sdk.field(t, "lastPage") != 0.0 {
		t.Errorf("a generated client got %s", sdk.body)
	}
	if got := g.send(http.MethodGet, "/v1/gateway/sub-tenants?offset=3&page=2&limit=20", c.secret, ""); got.status != http.StatusBadRequest {
		t.Errorf("an offset and a page that disagree got %d", got.status)
	}
}

func FuzzCreateTrigger(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"workflowVersionId":"v","name":"n","type":"webhook","config":{}}`, `{"config":{"scheduleConfig":{"cron":"* * * * *"}}}`,
		`{"config":{"retryPolicy":null,"rateLimit":[],"timeoutMs":1e400}}`, "\x00", `{"name":"\ud83d"}`, strings.Repeat("[", 100),
	} {
		f.Add([]byte(seed))
	}
	var g *gateway
	var c customer
	f.Fuzz(func(t *testing.T, body []byte) {
		if g == nil || g.T != t {
			g = newGateway(t)
			c = g.customer("Acme")
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, triggersPath, bytes.NewReader(body))
		r.Header.Set("X-API-Key", c.secret)
		if got := g.do(r); got.status >= http.StatusInternalServerError {
			t.Errorf("got %d: %s", got.status, got.body)
		}
	})
}
