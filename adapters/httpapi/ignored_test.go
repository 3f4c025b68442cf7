package httpapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every operation that reads a body, and every list, reports what it does not know, and
// refuses it where that is preferred.
func TestNoOperationIgnoresAnythingInSilence(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	g.addRuns(e)
	bodies, lists := 0, 0
	for _, r := range routesBehindKeys(g) {
		if r.Method == http.MethodDelete || strings.HasSuffix(r.Path, "/stream") {
			continue
		}
		path, _ := e.fill(r.Path)
		body, where := "", "?color=red&limit=1&offset=0&sortBy=createdAt&sortOrder=asc&isActive=true&search=a"
		if r.Method == http.MethodPost || r.Method == http.MethodPatch {
			body, where = `{"color":"red"}`, ""
		}
		strict := g.send(r.Method, path+where, e.secret, body, "Prefer", "respond-async, handling=strict")
		switch isList := strings.Contains(strict.body, "unknown_member"); {
		case r.Method == http.MethodGet && !isList:
			continue // one record, or no list
		case body == "":
			lists++
		default:
			bodies++
		}
		if diff := cmp.Diff([]string{"color unknown"}, strict.violations(t)); strict.status != http.StatusBadRequest || diff != "" ||
			strict.header.Get("Preference-Applied") != "handling=strict" || strict.header.Get("X-Ignored-Members") != "" {
			t.Errorf("%s %s, strictly: %d %v %s", r.Method, r.Path, strict.status, strict.header, strict.body)
		}
		lenient := g.send(r.Method, path+where, e.secret, body, "Prefer", "handling=lenient")
		always := strings.HasPrefix(r.Path, "/v1/gateway/api-keys") || strings.HasPrefix(r.Path, "/v1/gateway/settings")
		switch refused := lenient.status == http.StatusBadRequest && lenient.field(t, "code") == "unknown_member"; {
		case refused != always:
			t.Errorf("%s %s, leniently: %d %s", r.Method, r.Path, lenient.status, lenient.body)
		case !always && lenient.header.Get("X-Ignored-Members") != "color":
			t.Errorf("%s %s reports %v", r.Method, r.Path, lenient.header)
		}
	}
	if bodies < 30 || lists < 10 {
		t.Errorf("%d operations with a body, and %d lists", bodies, lists)
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
