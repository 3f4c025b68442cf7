package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/domain/tenant"
)

// embedToken makes a token of the customer and returns its text.
func (g *gateway) embedToken(c customer, members map[string]any) string {
	g.Helper()
	body, err := json.Marshal(members)
	if err != nil {
		g.Fatal(err)
	}
	made := g.send(http.MethodPost, "/v1/gateway/embed-tokens", c.secret, string(body))
	if made.status != http.StatusCreated {
		g.Fatalf("POST /embed-tokens got %d: %s", made.status, made.body)
	}
	return fmt.Sprint(made.field(g.T, "token"))
}

func TestNoByteOfAnotherSubTenantIsFoundWithItsEmbedTokensOrKeys(t *testing.T) {
	g := newGateway(t)
	theirs := g.fixture("Theirs")
	g.addRuns(theirs)
	theirSub := theirs.ids["subTenantId"]
	other := g.send(http.MethodPost, "/v1/gateway/workflows", theirs.secret, fmt.Sprintf(`{"name":"Another","subTenantId":%q}`, theirSub)).field(t, "id")
	narrowed := g.send(http.MethodPost, "/v1/gateway/api-keys", theirs.secret, `{"type":"secret","subTenantId":"elsewhere"}`).field(t, "key")
	keys := map[string]string{
		"an embed token":                     g.embedToken(theirs.customer, map[string]any{"subTenantId": "elsewhere", "preset": "editor"}),
		"a narrowed key":                     fmt.Sprint(narrowed),
		"a token for a workflow of the same": g.embedToken(theirs.customer, map[string]any{"subTenantId": theirSub, "preset": "editor", "workflowIds": []any{other}}),
	}
	none, operations := absent(theirs), httpapi.Operations(g.api)
	none.id = theirs.id
	for claim, key := range keys {
		t.Run(claim, func(t *testing.T) {
			within := *g
			within.T = t
			for _, r := range routesBehindKeys(g) {
				switch operations[r] {
				case tenant.ReadNodeRegistry, tenant.ReadTemplates, tenant.ReadCustomNodes, // the tenant's catalogue
					tenant.CreateWorkflow, tenant.CreateSubTenant: // which make what is their own
					continue
				}
				targets, body, ok := theirs.requests(r)
				if !ok {
					t.Errorf("%s %s has a parameter that this test cannot fill", r.Method, r.Path)
					continue
				}
				within.findsNothing(r, within.withKey(key), targets, body, theirs, none)
			}
		})
	}
	g.isWhole(theirs)
}

func TestEachRightAllowsWhatTheTableSays(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	g.addRuns(e)
	needed := make(map[tenant.Operation][]tenant.Right)
	for _, p := range tenant.Permissions() {
		needed[p.Operation] = p.Rights
	}
	operations, used := httpapi.Operations(g.api), make(map[tenant.Right]bool)
	for i, right := range tenant.AllRights() {
		token := g.embedToken(e.customer, map[string]any{"subTenantId": e.ids["subTenantId"], "permissions": []any{right}, "subject": fmt.Sprint(i)})
		has := []tenant.Right{right}
		if resource, verb, _ := strings.Cut(string(right), ":"); verb != "read" {
			has = append(has, tenant.Right(resource+":read"))
		}
		for _, r := range routesBehindKeys(g) {
			rights := needed[operations[r]]
			may := rights != nil
			for _, n := range rights {
				may, used[n] = may && slices.Contains(has, n), true
			}
			targets, body, _ := absent(e).requests(r)
			got := g.send(r.Method, targets[0], token, body)
			if refused := got.status == http.StatusForbidden && got.field(t, "code") == "permission_missing"; refused == may || got.status == http.StatusUnauthorized {
				t.Errorf("%s %s with %s got %d: %s", r.Method, r.Path, right, got.status, got.body)
			}
		}
	}
	for _, right := range tenant.AllRights() {
		if !used[right] && !strings.HasPrefix(string(right), "connections:") {
			t.Errorf("no operation needs %s", right)
		}
	}
}

func TestAnEmbedTokenIsRefusedFromWhereItMustNotBeUsed(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	token := g.embedToken(c, map[string]any{"subTenantId": "a", "preset": "viewer", "origins": []any{"https://app.example.com"}})
	anywhere := g.embedToken(c, map[string]any{"subTenantId": "a", "preset": "viewer"})
	for origin, want := range map[string]int{"": 200, "https://app.example.com": 200, "http://example.com": 200, "https://evil.example": 403, "https://app.example.com.evil.example": 403, "null": 403} {
		got := g.send(http.MethodGet, "/v1/gateway/workflows", token, "", "Origin", origin)
		if got.status != want || want == http.StatusForbidden && got.field(t, "code") != "origin_not_allowed" {
			t.Errorf("from %q it got %d: %s", origin, got.status, got.body)
		}
		if got := g.send(http.MethodGet, "/v1/gateway/workflows", anywhere, "", "Origin", origin); got.status != http.StatusOK {
			t.Errorf("without origins, from %q it got %d: %s", origin, got.status, got.body)
		}
	}
}

func TestARevokedEmbedTokenIsDeadAtOnce(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	use := func(token string) int { return g.send(http.MethodGet, "/v1/gateway/workflows", token, "").status }
	tokens := make(map[string]string)
	for name, members := range map[string]map[string]any{
		"anna of a": {"subTenantId": "a", "subject": "anna"}, "bert of a": {"subTenantId": "a", "subject": "bert"}, "anna of b": {"subTenantId": "b", "subject": "anna"},
	} {
		members["preset"] = "viewer"
		if tokens[name] = g.embedToken(c, members); use(tokens[name]) != http.StatusOK {
			t.Fatalf("the token of %s is refused", name)
		}
	}
	g.send(http.MethodDelete, "/v1/gateway/embed-tokens?subTenantId=a&subject=anna", c.secret, "")
	for name, want := range map[string]int{"anna of a": http.StatusUnauthorized, "bert of a": http.StatusOK, "anna of b": http.StatusOK} {
		if got := use(tokens[name]); got != want {
			t.Errorf("that of %s got %d, not %d", name, got, want)
		}
	}
	listed := g.send(http.MethodGet, "/v1/gateway/embed-tokens?subTenantId=b", c.secret, "")
	items, _ := listed.field(t, "items").([]any)
	if len(items) != 1 || strings.Contains(listed.body, tokens["anna of b"]) {
		t.Fatalf("listed are %s", listed.body)
	}
	id := fmt.Sprint(items[0].(map[string]any)["id"])
	if got := g.send(http.MethodDelete, "/v1/gateway/embed-tokens/"+id, c.secret, ""); got.status != http.StatusNoContent || use(tokens["anna of b"]) != http.StatusUnauthorized {
		t.Errorf("revoking got %d, and then the token %d", got.status, use(tokens["anna of b"]))
	}
	if got := g.send(http.MethodGet, "/v1/gateway/api-keys", c.secret, ""); strings.Contains(got.body, "emb_") {
		t.Errorf("the keys hold a token: %s", got.body)
	}
}

func TestEmbedTokensAreCountedBySubject(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	remaining := func(key string) string {
		return g.send(http.MethodGet, "/v1/gateway/workflows", key, "").header.Get("X-RateLimit-Remaining")
	}
	anna := g.embedToken(c, map[string]any{"subTenantId": "a", "subject": "anna", "preset": "viewer"})
	again := g.embedToken(c, map[string]any{"subTenantId": "a", "subject": "anna", "preset": "editor"})
	bert := g.embedToken(c, map[string]any{"subTenantId": "a", "subject": "bert", "preset": "viewer"})
	for i, step := range []struct{ key, want string }{{anna, "299"}, {anna, "298"}, {again, "297"}, {bert, "299"}} {
		if got := remaining(step.key); got != step.want {
			t.Errorf("step %d leaves %s, not %s", i, got, step.want)
		}
	}
	if own := remaining(c.secret); own != "996" { // three were made with it
		t.Errorf("the tenant's own key has %s left", own)
	}
}

func TestAnEmbedTokenBuildsOnlyWithItsNodeTypesAndForItsSubTenant(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	token := g.embedToken(c, map[string]any{"subTenantId": "a", "preset": "editor", "nodeTypes": []any{"transform"}, "language": "es"})
	registry := g.send(http.MethodGet, "/v1/gateway/custom-nodes/registry", token, "")
	if registry.field(t, "total") != 1.0 || !strings.Contains(registry.body, "Transformación") {
		t.Errorf("it sees %s", registry.body)
	}
	wf := g.send(http.MethodPost, "/v1/gateway/workflows", token, `{"name":"Mine"}`)
	if wf.status != http.StatusCreated || wf.field(t, "subTenantId") != "a" {
		t.Fatalf("its workflow is %d %s", wf.status, wf.body)
	}
	ver := g.send(http.MethodPost, "/v1/gateway/workflow-versions", token, fmt.Sprintf(`{"workflowId":%q,"nodes":[{"id":"call","type":"httpRequest","version":"1.0.0","name":"Call","config":{"method":"GET","url":"https://example.com"}}]}`, wf.field(t, "id")))
	path := fmt.Sprint("/v1/gateway/workflow-versions/", ver.field(t, "id"))
	for _, action := range []string{"/publish", "/runs", "/nodes/call/test"} {
		if got := g.send(http.MethodPost, path+action, token, ""); got.status != http.StatusBadRequest || !strings.Contains(got.body, "unknown_node_type") {
			t.Errorf("POST %s got %d: %s", action, got.status, got.body)
		}
	}
	if got := g.send(http.MethodPost, path+"/publish", c.secret, ""); got.status != http.StatusOK {
		t.Errorf("the tenant itself gets %d: %s", got.status, got.body)
	}
}

func TestResumeTokensAreForThoseWhoMayAnswer(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	g.addRuns(e)
	for preset, want := range map[string]bool{"viewer": false, "approver": true} {
		token := g.embedToken(e.customer, map[string]any{"subTenantId": e.ids["subTenantId"], "preset": preset})
		got := g.send(http.MethodGet, "/v1/gateway/runs/"+e.ids["runs"], token, "")
		if got.status != http.StatusOK || strings.Contains(got.body, `"resumeToken"`) != want {
			t.Errorf("a %s sees %d: %s", preset, got.status, got.body)
		}
	}
	for _, path := range []string{"/runs", "/runs/" + e.ids["runs"], "/runs/" + e.ids["runs"] + "/stream", "/pauses"} {
		if got := g.send(http.MethodGet, "/v1/gateway"+path, e.public, ""); got.status != http.StatusForbidden {
			t.Errorf("a public key sees of %s: %d: %s", path, got.status, got.body)
		}
	}
}

func TestQuestionsAreAnsweredByWhoMayActOnRuns(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	g.addRuns(e)
	for _, c := range []struct {
		preset string
		want   int
	}{{"viewer", http.StatusForbidden}, {"approver", http.StatusNoContent}} {
		token := g.embedToken(e.customer, map[string]any{"subTenantId": e.ids["subTenantId"], "preset": c.preset, "subject": "ana"})
		if got := g.send(http.MethodGet, "/v1/gateway/pauses", token, ""); got.status != http.StatusOK || !strings.Contains(got.body, e.ids["pauses"]) {
			t.Errorf("a %s is shown of what waits %d: %s", c.preset, got.status, got.body)
		}
		if got := g.send(http.MethodPost, "/v1/gateway/pauses/"+e.ids["pauses"]+"/answer", token, `{"input":true}`); got.status != c.want {
			t.Errorf("a %s who answers gets %d: %s", c.preset, got.status, got.body)
		}
	}
	got := g.send(http.MethodGet, "/v1/gateway/runs/"+e.ids["runs"], e.secret, "")
	if !strings.Contains(got.body, `"answeredBy":{"kind":"embedToken","id":"emb_`) || !strings.Contains(got.body, `"subject":"ana"`) {
		t.Errorf("who answered is not to be seen: %s", got.body)
	}
}

func TestAnIdempotencyKeyIsOneSubjectsOwn(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	create := func(subject string) answer {
		token := g.embedToken(c, map[string]any{"subTenantId": "a", "subject": subject, "preset": "editor"})
		return g.send(http.MethodPost, "/v1/gateway/workflows", token, `{"name":"Mine"}`, "X-Idempotency-Key", "one")
	}
	if made := create("anna"); made.status != http.StatusCreated {
		t.Fatalf("got %d: %s", made.status, made.body)
	}
	if again := create("anna"); again.status != http.StatusCreated || again.header.Get("Idempotent-Replayed") == "" {
		t.Errorf("anna's repeat got %d: %s", again.status, again.body)
	}
	if other := create("bert"); other.status != http.StatusConflict { // the name is taken
		t.Errorf("bert got %d: %s", other.status, other.body)
	}
}
