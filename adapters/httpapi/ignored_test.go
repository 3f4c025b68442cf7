package httpapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/httpapi"
)

// Every operation reports what it does not know of its parameters and its body, and refuses
// it where that is preferred.
func TestNoOperationIgnoresAnythingInSilence(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	g.addRuns(e)
	routes := routesBehindKeys(g)
	order := []string{http.MethodGet, http.MethodPatch, http.MethodPost, http.MethodDelete} // what is deleted is missed by nobody
	slices.SortStableFunc(routes, func(a, b httpapi.Route) int { return slices.Index(order, a.Method) - slices.Index(order, b.Method) })
	for _, r := range routes {
		path, _ := e.fill(r.Path)
		body, ignored := "", []string{"shade"}
		if r.Method == http.MethodPost || r.Method == http.MethodPatch {
			body, ignored = `{"color":"red"}`, []string{"color", "shade"}
		}
		strict := g.send(r.Method, path+"?shade=dark", e.secret, body, "Prefer", "respond-async, handling=strict")
		if diff := cmp.Diff(strings.Join(ignored, " unknown,")+" unknown", strings.Join(strict.violations(t), ",")); strict.status != http.StatusBadRequest || diff != "" ||
			strict.header.Get("Preference-Applied") != "handling=strict" || strict.header.Get("X-Ignored-Members") != "" {
			t.Errorf("%s %s, strictly: %d %v %s", r.Method, r.Path, strict.status, strict.header, strict.body)
		}
		if strings.HasSuffix(r.Path, "/stream") {
			continue // leniently it does not end
		}
		lenient := g.send(r.Method, path+"?shade=dark", e.secret, body, "Prefer", "handling=lenient")
		always := strings.HasPrefix(r.Path, "/v1/gateway/api-keys") || strings.HasPrefix(r.Path, "/v1/gateway/embed-tokens") || strings.HasPrefix(r.Path, "/v1/gateway/settings") || strings.HasPrefix(r.Path, "/v1/gateway/connections") || strings.HasSuffix(r.Path, "/rollback") ||
			strings.HasSuffix(r.Path, "/rerun") || strings.HasSuffix(r.Path, "/complete") || strings.HasSuffix(r.Path, "/{nodeId}/test") || r.Path == "/v1/gateway/runs/bulk" || r.Path == "/v1/gateway/erasures" || strings.HasPrefix(r.Path, "/v1/gateway/jobs") || r.Path == "/v1/gateway/workflow-versions/{id}/runs" || strings.Contains(r.Path, "/hook")
		switch refused := lenient.status == http.StatusBadRequest && lenient.field(t, "code") == "unknown_member"; {
		case refused != always:
			t.Errorf("%s %s, leniently: %d %s", r.Method, r.Path, lenient.status, lenient.body)
		case !always && lenient.header.Get("X-Ignored-Members") != strings.Join(ignored, ", "):
			t.Errorf("%s %s reports %v", r.Method, r.Path, lenient.header)
		}
	}
}

// Lists take the parameters that they have in common, and what is no list reports them.
func TestEveryListTakesTheCommonParameters(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	g.addRuns(e)
	lists := 0
	for _, r := range append(routesBehindKeys(g), operatorRoutes(g)...) {
		if r.Method != http.MethodGet || strings.HasSuffix(r.Path, "/stream") {
			continue
		}
		path, _ := e.fill(r.Path)
		path = fillOperators(path, string(e.id), nobodysKey) + "?limit=1&pageSize=1&offset=0&page=0&sortBy=createdAt&sortOrder=asc&isActive=true&search=a&workflowId=" + e.ids["workflows"]
		got := g.send(r.Method, path, e.secret, "", "Authorization", "Bearer "+operatorToken, "Prefer", "handling=strict")
		switch strings.Join(got.violations(t), ",") {
		case "", "workflowId unknown":
			lists++
		case "isActive unknown,limit unknown,offset unknown,page unknown,pageSize unknown,search unknown,sortBy unknown,sortOrder unknown,workflowId unknown":
		default:
			t.Errorf("%s %s: %d %s", r.Method, r.Path, got.status, got.body)
		}
	}
	if lists != 23 {
		t.Errorf("%d lists", lists)
	}
}

// What a resource is answered with can be sent back.
func TestWhatWasReadCanBeSentBack(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	id := fmt.Sprint(g.send(http.MethodPost, "/v1/gateway/custom-nodes", e.secret,
		`{"type":"acme.translated","name":"a","version":"1.0.0","translations":{"es":{"name":"b","description":"c"}},"configSchema":{"to":{"type":"string"}}}`).field(t, "id"))
	version := fmt.Sprint(g.send(http.MethodPost, "/v1/gateway/workflow-versions", e.secret, fmt.Sprintf(
		`{"workflowId":%q,"nodes":[{"id":"a","type":"input","version":"1.0.0","name":"A","position":{"x":1,"y":2}},{"id":"b","type":"wait","version":"1.0.0","name":"B"}],`+
			`"edges":[{"sourceNodeId":"a","targetNodeId":"b","label":"l"}]}`, e.ids["workflows"])).field(t, "id"))
	paths := []string{"/settings", "/custom-nodes/" + id, "/workflow-versions/" + version}
	for _, resource := range []string{"workflows", "triggers", "sub-tenants", "webhook-endpoints"} {
		paths = append(paths, "/"+resource+"/"+e.ids[resource])
	}
	for _, path := range paths {
		path = "/v1/gateway" + path
		read := g.send(http.MethodGet, path, e.secret, "")
		if got := g.send(http.MethodPatch, path, e.secret, read.body, "Prefer", "handling=strict"); got.status != http.StatusOK {
			t.Errorf("%s got %d: %s", path, got.status, got.body)
		}
	}
	tenantPath := tenantsPath + "/" + string(e.id)
	if got := g.operate(http.MethodPatch, tenantPath, g.operate(http.MethodGet, tenantPath, "").body); got.status != http.StatusOK {
		t.Errorf("the tenant got %d: %s", got.status, got.body)
	}
}

// A verb that reads nothing takes the resource as it was read, and refuses what is no object.
func TestAVerbTakesTheResourceAsItWasRead(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	g.addRuns(e)
	second := g.fixture("Beta") // whose runs are the operator's to change
	g.addRuns(second)
	g.publishAnother(e)
	e.ids["workflow-versions"], e.ids["triggers"] = e.ids["activeVersion"], e.ids["listening"]
	others := []string{"/webhook", "/runs", "/rerun", "/simulate", "/complete", "/api-keys", "/hook"} // which read a body of their own
	routes, verbs := append(routesBehindKeys(g), operatorRoutes(g)...), 0
	for _, r := range routes {
		verb := r.Path[strings.LastIndex(r.Path, "/"):]
		resource := strings.TrimSuffix(r.Path, verb)
		isOne := strings.HasSuffix(resource, "}") || strings.HasSuffix(resource, "/secret")
		if r.Method == http.MethodGet || !isOne || !slices.Contains(routes, httpapi.Route{Method: http.MethodGet, Path: resource}) || slices.Contains(others, verb) || r.Path == "/v1/gateway/connections/{id}/test" {
			continue
		}
		of := e
		if strings.HasPrefix(r.Path, operatorRunsPath) {
			of = second
		}
		if verb == "/retry" {
			of.ids["runs"] = of.ids["failed"]
		}
		send := func(method, path, body string) answer {
			path, _ = of.fill(path)
			return g.send(method, fillOperators(path, string(e.id), nobodysKey), e.secret, body, "Authorization", "Bearer "+operatorToken, "Prefer", "handling=strict")
		}
		verbs++
		read := send(http.MethodGet, resource, "")
		if got := send(r.Method, r.Path, "[]"); got.status != http.StatusBadRequest || got.field(t, "code") != "wrong_type" {
			t.Errorf("%s %s takes an array: %d %s", r.Method, r.Path, got.status, got.body)
		}
		if got := send(r.Method, r.Path, read.body); got.status >= http.StatusBadRequest || got.header.Get("X-Ignored-Members") != "" {
			t.Errorf("%s %s of %s got %d: %s", r.Method, r.Path, read.body, got.status, got.body)
		}
	}
	if verbs != 19 {
		t.Errorf("%d verbs", verbs)
	}
}

func TestTheListOfWhatWasIgnoredIsBounded(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	ignored := func(names ...string) []string {
		var body strings.Builder
		for _, name := range names {
			fmt.Fprintf(&body, `,%q:1`, name)
		}
		got := g.send(http.MethodPost, "/v1/gateway/workflows", c.secret, `{"name":"`+g.random.ID("wf")+`"`+body.String()+"}").header.Get("X-Ignored-Members")
		if len(got) > 2048 {
			t.Errorf("the header has %d bytes", len(got))
		}
		var paths []string
		for path := range strings.SplitSeq(got, ", ") {
			text, err := url.PathUnescape(path)
			if err != nil {
				t.Error(err)
			}
			paths = append(paths, text)
		}
		return paths
	}
	if diff := cmp.Diff([]string{"a, b", "100%", "größe", "two words", `x["y"]`}, ignored("a, b", "100%", "größe", "two words", `x["y"]`)); diff != "" {
		t.Error(diff)
	}
	var many, long []string
	for i := range 30 {
		many, long = append(many, fmt.Sprint("m", i)), append(long, fmt.Sprint(i, strings.Repeat("漢", 60)))
	}
	if diff := cmp.Diff(many[:20], ignored(many...)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(long[:3], ignored(long...)); diff != "" {
		t.Error(diff)
	}
}
