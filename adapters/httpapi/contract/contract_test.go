package contract_test

import (
	order "cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/httpapi/contract"
)

// witness is a test that only notes what is reported to it.
type witness struct {
	testing.TB
	reported []string
}

func (w *witness) Helper() {}

func (w *witness) Errorf(format string, args ...any) {
	line, _, _ := strings.Cut(fmt.Sprintf(format, args...), "\n")
	w.reported = append(w.reported, line)
}

const (
	create   = "/v1/gateway/triggers"
	registry = "/v1/gateway/custom-nodes/registry"
	jsonType = "application/json; charset=utf-8"

	draft = `{"workflowVersionId":"wfv_1","name":"n","type":"webhook","config":{"x":1}}`
	made  = `{"id":"trg_01kg2m8r3mfhrs0v2g5w7jq4xe","tenantId":"tenant_01kg2kzz8we7n9a5xq3r0t6v1c","workflowVersionId":"wfv_1","name":"n",` +
		`"type":"webhook","config":{"x":1},"isActive":true,"metadata":{},"createdAt":"2026-01-31T09:00:00.000Z","updatedAt":"2026-01-31T09:00:00.000Z"}`
)

func failure(status int, code, more string) string {
	return fmt.Sprintf(`{"statusCode":%d,"message":"m","error":%q,"timestamp":"2026-01-31T09:00:00.000Z","path":"/p","code":%q,"requestId":"req_1"%s}`,
		status, http.StatusText(status), code, more)
}

// exchange is a request and the answer it gets.
type exchange struct {
	method, path, sent string
	status             int
	headers            string // Name: value, one a line
	body               string
}

// run sends the request through the validator and returns what it reports.
func run(t *testing.T, e exchange) []string {
	t.Helper()
	w := &witness{TB: t}
	handler := http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		for line := range strings.SplitSeq(e.headers, "\n") {
			if name, value, ok := strings.Cut(line, ": "); ok {
				rw.Header().Add(name, value)
			}
		}
		rw.WriteHeader(e.status)
		_, _ = rw.Write([]byte(e.body))
	})
	r := httptest.NewRequest(e.method, e.path, strings.NewReader(e.sent))
	r.Header.Set("Content-Type", "application/json")
	if e.method == http.MethodOptions {
		r.Header.Set("Access-Control-Request-Method", "POST")
	}
	answer := httptest.NewRecorder()
	contract.New(w).Handler(handler).ServeHTTP(answer, r)
	if answer.Code != e.status || answer.Body.String() != e.body {
		t.Errorf("the answer arrived as %d, %s", answer.Code, answer.Body)
	}
	return w.reported
}

const standard = "Content-Type: " + jsonType + "\nX-Request-Id: req_1"

func TestWhatAgreesWithTheDocumentIsAccepted(t *testing.T) {
	for claim, e := range map[string]exchange{
		"a trigger":             {"POST", create, draft, 201, standard + "\nX-RateLimit-Limit: 1000\nX-RateLimit-Remaining: 999\nX-RateLimit-Reset: 1769850060\nCache-Control: no-store", made},
		"a replay":              {"POST", create, draft, 201, standard + "\nIdempotent-Replayed: true", made},
		"an error":              {"POST", create, `[`, 400, standard, failure(400, "malformed_json", "")},
		"an error with details": {"POST", create, `{}`, 400, standard, failure(400, "trigger_invalid", `,"details":[{"field":"name","message":"must not be empty","code":"required"}]`)},
		"a limit":               {"GET", registry, "", 429, standard + "\nRetry-After: 7", failure(429, "rate_limit_exceeded", `,"retryAfter":7`)},
		"a registry with null as a default": {"GET", registry, "", 200, standard, `{"nodes":[{"type":"a","name":"A","version":"1.0.0","isBuiltIn":false,"canPause":false,` +
			`"inputSchema":{},"outputSchema":{},"configSchema":{"f":{"type":"any","default":null},"e":{"type":"enum","enum":[null]}}}],"total":1}`},
		"a path that is not there":    {"GET", "/v1/gateway/nothing", "", 404, standard, failure(404, "route_not_found", "")},
		"a method that is not taken":  {"PUT", create, "", 405, standard + "\nAllow: GET, POST", failure(405, "method_not_allowed", "")},
		"a browser's preflight":       {"OPTIONS", create, "", 204, "X-Request-Id: req_1", ""},
		"health":                      {"GET", "/healthz", "", 200, standard, `{"status":"ok"}`},
		"the page":                    {"GET", "/docs/", "", 200, "Content-Type: text/html; charset=utf-8\nX-Request-Id: req_1", "<!doctype html>"},
		"a file of the page":          {"GET", "/docs/init.js", "", 200, "Content-Type: text/javascript\nX-Request-Id: req_1", "x()"},
		"a file that did not change":  {"GET", "/docs/init.js", "", 304, "X-Request-Id: req_1", ""},
		"the document":                {"GET", "/openapi.yaml", "", 200, "Content-Type: application/yaml; charset=utf-8\nX-Request-Id: req_1", "openapi: 3.0.3"},
		"the way to the page":         {"GET", "/docs", "", 301, "Content-Type: text/html; charset=utf-8\nX-Request-Id: req_1\nLocation: /docs/", "<a>"},
		"unknown members of requests": {"POST", create, strings.Replace(draft, "{", `{"new":true,`, 1), 201, standard, made},
	} {
		t.Run(claim, func(t *testing.T) {
			if reported := run(t, e); len(reported) > 0 {
				t.Error(strings.Join(reported, "\n"))
			}
		})
	}
}

func TestWhatDiffersFromTheDocumentIsReported(t *testing.T) {
	without := func(member string) string {
		return strings.Replace(strings.Replace(made, member, "", 1), ",,", ",", 1)
	}
	for claim, c := range map[string]struct {
		exchange
		want string
	}{
		"another status":              {exchange{"POST", create, draft, 200, standard, made}, "POST /v1/gateway/triggers answered 200, against openapi.yaml: the status is not documented for publictriggers_createTrigger_v1; documented are 201, 400, 401, 403, 405, 408, 409, 413, 415, 429, 500, 503"},
		"no request id":               {exchange{"POST", create, draft, 201, "Content-Type: " + jsonType, made}, "the header X-Request-Id is missing"},
		"a header that is no number":  {exchange{"POST", create, draft, 201, standard + "\nX-RateLimit-Remaining: many", made}, `the header X-RateLimit-Remaining is "many"`},
		"a header below its bound":    {exchange{"POST", create, draft, 201, standard + "\nX-RateLimit-Remaining: -1", made}, `the header X-RateLimit-Remaining is "-1"`},
		"a header twice":              {exchange{"POST", create, draft, 201, standard + "\nX-RateLimit-Reset: 1\nX-RateLimit-Reset: 2", made}, "the header X-RateLimit-Reset is there 2 times"},
		"a header nobody described":   {exchange{"POST", create, draft, 201, standard + "\nX-Powered-By: magic", made}, "the header X-Powered-By is not documented"},
		"another media type":          {exchange{"POST", create, draft, 201, "Content-Type: text/html\nX-Request-Id: req_1", made}, `the Content-Type "text/html" is not documented`},
		"another character set":       {exchange{"POST", create, draft, 201, "Content-Type: application/json; charset=latin1\nX-Request-Id: req_1", made}, "is not application/json in UTF-8"},
		"a body that is no JSON":      {exchange{"POST", create, draft, 201, standard, made + "x"}, "the body is not JSON"},
		"a member that is missing":    {exchange{"POST", create, draft, 201, standard, without(`"isActive":true,`)}, `isActive: property "isActive" is missing`},
		"a member nobody described":   {exchange{"POST", create, draft, 201, standard, strings.Replace(made, "{", `{"secret":1,`, 1)}, `property "secret" is unsupported`},
		"a member of a wrong type":    {exchange{"POST", create, draft, 201, standard, strings.Replace(made, `"isActive":true`, `"isActive":"yes"`, 1)}, "isActive: value must be a boolean"},
		"a member that is null":       {exchange{"POST", create, draft, 201, standard, strings.Replace(made, "{", `{"subTenantId":null,`, 1)}, "subTenantId: Value is not nullable"},
		"a time without milliseconds": {exchange{"POST", create, draft, 201, standard, strings.Replace(made, "00.000Z", "00Z", 1)}, "createdAt: "},
		"an error in another body":    {exchange{"GET", registry, "", 401, standard, `{"error":"no"}`}, `property "statusCode" is missing`},
		"another status in the body":  {exchange{"GET", registry, "", 401, standard, failure(403, "api_key_invalid", "")}, `statusCode is "403", but the status says "401"`},
		"another id in the body":      {exchange{"GET", registry, "", 401, strings.Replace(standard, "req_1", "req_2", 1), failure(401, "api_key_invalid", "")}, `requestId is "req_1", but X-Request-Id says "req_2"`},
		"another wait in the body":    {exchange{"GET", registry, "", 429, standard + "\nRetry-After: 8", failure(429, "rate_limit_exceeded", `,"retryAfter":7`)}, `retryAfter is "7", but Retry-After says "8"`},
		"a wait in the header only":   {exchange{"GET", registry, "", 503, standard + "\nRetry-After: 8", failure(503, "database_busy", "")}, `retryAfter is "", but Retry-After says "8"`},
		"a 429 that tells no wait":    {exchange{"GET", registry, "", 429, standard, failure(429, "rate_limit_exceeded", "")}, "the header Retry-After is missing"},
		"success on an unknown path":  {exchange{"GET", "/v1/gateway/nothing", "", 200, standard, `{}`}, "there is no such operation, so the status must be 404"},
		"404 for a wrong method":      {exchange{"PUT", create, "", 404, standard, failure(404, "route_not_found", "")}, "there is no such operation, so the status must be 405"},
		"405 with another Allow":      {exchange{"PUT", create, "", 405, standard + "\nAllow: POST", failure(405, "method_not_allowed", "")}, "the header Allow lists [POST], not [GET POST]"},
		"a 404 in another body":       {exchange{"GET", "/x", "", 404, standard, `{}`}, `property "message" is missing`},
		"a 404 in plain text":         {exchange{"GET", "/x", "", 404, "Content-Type: text/plain\nX-Request-Id: req_1", "404"}, `the Content-Type "text/plain" is not application/json in UTF-8`},
		"an empty page":               {exchange{"GET", "/docs/", "", 200, "Content-Type: text/html\nX-Request-Id: req_1", ""}, "the body is empty"},
		"a preflight with a type":     {exchange{"OPTIONS", create, "", 204, "Content-Type: " + jsonType, ""}, "without a body there must be no Content-Type"},
		"success of an invalid body":  {exchange{"POST", create, strings.Replace(draft, `"n"`, `""`, 1), 201, standard, made}, "the request succeeded, but is not valid: name: minimum string length is 1"},
		"success without a body":      {exchange{"POST", create, "", 201, standard, made}, "the request succeeded, but is not valid: "},
	} {
		t.Run(claim, func(t *testing.T) {
			reported := run(t, c.exchange)
			if !strings.Contains(strings.Join(reported, "\n"), c.want) {
				t.Errorf("reported was %q, not %q", reported, c.want)
			}
		})
	}
}

func TestAClientReachesTheHandlerWithoutANetwork(t *testing.T) {
	v := contract.New(t)
	client := v.Client(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, err := io.ReadAll(r.Body)
		if err != nil || string(sent) != draft || r.Host != "gateway.example" || r.RequestURI != create {
			t.Errorf("%s %s: %s, %v", r.Host, r.RequestURI, sent, err)
		}
		w.Header().Set("Content-Type", jsonType)
		w.Header().Set("X-Request-Id", "req_1")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, made)
	}))
	answer, err := client.Post("http://gateway.example"+create, "application/json", strings.NewReader(draft))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil || string(body) != made || answer.StatusCode != http.StatusCreated {
		t.Errorf("%d %s, %v", answer.StatusCode, body, err)
	}
	if diff := cmp.Diff([]string{"POST /v1/gateway/triggers 201"}, v.Answered()); diff != "" {
		t.Error(diff)
	}
}

func TestRoutesAreTheOperationsOfTheDocument(t *testing.T) {
	want := []contract.Route{
		{Method: "GET", Path: "/docs", OperationID: "service_findReference"},
		{Method: "GET", Path: "/docs/{file}", OperationID: "service_getReference"},
		{Method: "GET", Path: "/healthz", OperationID: "service_getHealth"},
		{Method: "GET", Path: "/openapi.json", OperationID: "service_getDescriptionAsJSON"},
		{Method: "GET", Path: "/openapi.yaml", OperationID: "service_getDescriptionAsYAML"},
		{Method: "GET", Path: "/readyz", OperationID: "service_getReadiness"},
		{Method: "GET", Path: registry, OperationID: "publiccustomnodes_getRegistry_v1"},
		{Method: "POST", Path: create, OperationID: "publictriggers_createTrigger_v1"},
	}
	routes := contract.New(t).Routes()
	for _, route := range want {
		if !slices.Contains(routes, route) {
			t.Errorf("%+v is missing", route)
		}
	}
	if !slices.IsSortedFunc(routes, func(a, b contract.Route) int {
		return order.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Method, b.Method))
	}) {
		t.Error("the routes are not sorted by path and method")
	}
}
