package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

func TestATenantThatTheOperatorMadeWorksAtOnceAndOthersAreUnchanged(t *testing.T) {
	g := newGateway(t)
	stays := g.fixture("Stays")
	made := g.operate(http.MethodPost, tenantsPath, `{"name":"Acme"}`)
	id, secret, public := tenant.ID(fmt.Sprint(made.field(t, "id"))), fmt.Sprint(made.field(t, "secretKey")), fmt.Sprint(made.field(t, "publicKey"))
	path := tenantsPath + "/" + string(id)
	works := func(step string, want int, keys ...string) {
		t.Helper()
		for _, key := range append(keys, secret, public) {
			if got := g.send(http.MethodGet, "/v1/gateway/workflows", key, ""); got.status != want {
				t.Errorf("%s: a key got %d: %s", step, got.status, got.body)
			}
		}
		if got := g.send(http.MethodGet, "/v1/gateway/workflows", stays.secret, ""); got.status != http.StatusOK {
			t.Errorf("%s: the other tenant's key got %d", step, got.status)
		}
	}
	turn := func(verb string) {
		t.Helper()
		if got := g.operate(http.MethodPost, path+"/"+verb, ""); got.status != http.StatusOK {
			t.Errorf("%s got %d: %s", verb, got.status, got.body)
		}
	}
	works("made", http.StatusOK)
	issued := fmt.Sprint(g.operate(http.MethodPost, path+"/api-keys", `{"type":"secret"}`).field(t, "key"))
	works("given another key", http.StatusOK, issued)
	for range 2 {
		turn("suspend")
		works("suspended", http.StatusUnauthorized, issued)
	}
	for range 2 {
		turn("resume")
		works("resumed", http.StatusOK, issued)
	}
	g.operate(http.MethodPatch, path, `{"limits":{"public":{"requestsPerMinute":7}}}`)
	if got := g.send(http.MethodGet, "/v1/gateway/workflows", public, ""); got.header.Get("X-RateLimit-Limit") != "7" {
		t.Errorf("the new limit is %s", got.header.Get("X-RateLimit-Limit"))
	}
	wf := fmt.Sprint(g.send(http.MethodPost, "/v1/gateway/workflows", secret, `{"name":"Orders"}`).field(t, "id"))
	if got := g.operate(http.MethodDelete, path, ""); got.status != http.StatusNoContent || got.body != "" {
		t.Errorf("deleting got %d: %s", got.status, got.body)
	}
	works("deleted", http.StatusUnauthorized, issued)
	if err := g.store.View(t.Context(), func(ctx context.Context, st outbound.Stores) error {
		found, err := st.APIKeys.List(ctx, id, domain.PageRequest{})
		if err == nil && found.Total != 0 {
			t.Errorf("%d keys are left", found.Total)
		}
		_, errFound := st.Workflows.Get(ctx, tenant.All(id), workflow.ID(wf))
		if errFound == nil {
			t.Error("the workflow is left")
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if total := g.operate(http.MethodGet, tenantsPath, "").field(t, "total"); total != 1.0 {
		t.Errorf("%v tenants are left", total)
	}
}

func TestTheOperatorCannotTakeTheLastSecretKeyNorReachAnotherTenantsKeys(t *testing.T) {
	g := newGateway(t)
	mine, theirs := g.customer("Mine"), g.customer("Theirs")
	secretOf := func(c customer) string {
		for _, item := range g.operate(http.MethodGet, tenantsPath+"/"+string(c.id)+"/api-keys", "").field(t, "items").([]any) {
			if k, _ := item.(map[string]any); k["type"] == "secret" {
				return fmt.Sprint(k["id"])
			}
		}
		t.Fatal("there is no secret key")
		return ""
	}
	own, foreign := tenantsPath+"/"+string(mine.id)+"/api-keys/"+secretOf(mine), tenantsPath+"/"+string(mine.id)+"/api-keys/"+secretOf(theirs)
	if got := g.operate(http.MethodDelete, own, ""); got.status != http.StatusConflict || got.field(t, "code") != "last_secret_key" {
		t.Errorf("revoking the last secret key got %d: %s", got.status, got.body)
	}
	for _, got := range []answer{g.operate(http.MethodDelete, foreign, ""), g.operate(http.MethodPost, foreign+"/rotate", "")} {
		if got.status != http.StatusNotFound || got.field(t, "code") != "api_key_not_found" {
			t.Errorf("another tenant's key got %d: %s", got.status, got.body)
		}
	}
	rotated := g.operate(http.MethodPost, own+"/rotate", "")
	for key, want := range map[string]int{mine.secret: http.StatusUnauthorized, fmt.Sprint(rotated.field(t, "key")): http.StatusOK, theirs.secret: http.StatusOK} {
		if got := g.send(http.MethodGet, "/v1/gateway/settings", key, ""); got.status != want {
			t.Errorf("after rotating, a key got %d, not %d", got.status, want)
		}
	}
}

// A change of what the operator sets leaves alone what the tenant chose itself, and the
// other way round.
func TestTheOperatorAndTheTenantChangeThingsOfTheirOwn(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	g.send(http.MethodPatch, "/v1/gateway/settings", c.secret, `{"disabledNodeTypes":["wait"],"events":[{"name":"order.paid"}],"limits":{"secret":{"requestsPerMinute":9}}}`)
	g.operate(http.MethodPatch, tenantsPath+"/"+string(c.id), `{"language":"es","status":"suspended","limits":{"secret":{"concurrentRequests":5}}}`)
	got := g.send(http.MethodGet, "/v1/gateway/settings", c.secret, "")
	var settings map[string]any
	if err := json.Unmarshal([]byte(got.body), &settings); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"language": "es", "disabledNodeTypes": []any{"wait"}, "publicTriggerCreation": "forbidden", "triggersOnPublish": "move", "events": []any{map[string]any{"name": "order.paid"}},
		"limits": map[string]any{
			"public": map[string]any{"requestsPerMinute": 100.0, "concurrentRequests": 20.0},
			"secret": map[string]any{"requestsPerMinute": 1000.0, "concurrentRequests": 5.0}, "runRetentionDays": 30.0,
		},
		"budgets": map[string]any{}, "embed": map[string]any{"id": string(c.id), "origins": []any{}},
	}
	if diff := cmp.Diff(want, settings); diff != "" {
		t.Error(diff)
	}
}

func TestLinesOfTheOperatorNameTheTenantWhereItIsOneOfOurs(t *testing.T) {
	watch := &watcher{}
	g := newGateway(t, func(o *httpapi.Options, _ *httpapi.Ports) { o.Observers = []httpapi.Observer{watch} })
	c := g.customer("Acme")
	const one = "/v1/operator/tenants/:id"
	for claim, r := range map[string]struct {
		method, path, body string
		want               map[string]any
	}{
		"one of ours":       {http.MethodGet, "/" + string(c.id), "", map[string]any{"route": one, "status": 200.0, "tenantId": string(c.id)}},
		"its keys":          {http.MethodGet, "/" + string(c.id) + "/api-keys", "", map[string]any{"route": one + "/api-keys", "status": 200.0, "tenantId": string(c.id)}},
		"a bad change":      {http.MethodPatch, "/" + string(c.id), `{"name":""}`, map[string]any{"route": one, "status": 400.0, "tenantId": string(c.id), "code": "tenant_invalid"}},
		"a bad body":        {http.MethodPatch, "/" + string(c.id), `{`, map[string]any{"route": one, "status": 400.0, "tenantId": string(c.id), "code": "malformed_json"}},
		"none of ours":      {http.MethodGet, "/tenant_7zzzzzzzzzzzzzzzzzzzzzzzzz", "", map[string]any{"route": one, "status": 404.0, "code": "tenant_not_found"}},
		"no identifier":     {http.MethodGet, "/" + strings.Repeat("x", 300), "", map[string]any{"route": one, "status": 404.0, "code": "tenant_not_found"}},
		"the list":          {http.MethodGet, "", "", map[string]any{"route": "/v1/operator/tenants", "status": 200.0}},
		"one that was made": {http.MethodPost, "", `{"name":"Beta"}`, map[string]any{"route": "/v1/operator/tenants", "status": 201.0, "tenantId": "the one in the answer"}},
	} {
		got := g.operate(r.method, tenantsPath+r.path, r.body, "X-Request-Id", "mine")
		if r.want["tenantId"] == "the one in the answer" {
			r.want["tenantId"] = got.field(t, "id")
		}
		lines := g.log.lines(t)
		line := lines[len(lines)-1]
		for _, name := range []string{"durationMs", "bytes", "client", "level", "message"} {
			delete(line, name)
		}
		r.want["method"], r.want["requestId"], r.want["operator"] = r.method, "mine", "operator"
		if diff := cmp.Diff(r.want, line); diff != "" {
			t.Errorf("%s: %s", claim, diff)
		}
		seen := watch.ended[len(watch.ended)-1]
		if owner, _ := r.want["tenantId"].(string); seen.Route != r.want["route"] || string(seen.Tenant) != owner || seen.KeyType != "" {
			t.Errorf("%s: observed %+v", claim, seen)
		}
	}
}

// What the description says an operation of the operator may answer, it does answer to
// something, and it answers nothing else. Where somebody else is at work at the same time
// the store may say stale_revision; nobody is here.
func TestEveryDocumentedErrorOfTheOperatorCanBeProvoked(t *testing.T) {
	g := newGateway(t, func(o *httpapi.Options, _ *httpapi.Ports) { o.OperatorTokens = namedTokens(t) })
	without := newGateway(t, func(o *httpapi.Options, _ *httpapi.Ports) { o.OperatorTokens = nil })
	said := documented(t, func(_, tag string) bool { return tag == "Operator" })
	possible := shown(t, said)
	for r := range said {
		for _, code := range g.provokedByOperator(r, without) {
			possible.add(r, code)
		}
	}
	elsewhere := map[string]string{ // and the tests in which they are provoked
		"DELETE /v1/operator/tenants/{id}/api-keys/{keyId} last_secret_key": "TestTheOperatorCannotTakeTheLastSecretKeyNorReachAnotherTenantsKeys",
		"GET /v1/operator/runs/{id} runs_busy":                              "TestLargeRunsBehindTheWholeGateway",
		"POST /v1/operator/runs/{id}/retry budget_exceeded":                 "TestBeyondABudgetOfRunsTheAnswerSaysWhenToTryAgain",
		"POST /v1/operator/runs/{id}/retry concurrency_limit":               "TestARunIsNotRetriedWhereThereIsNoRoom",
		"POST /v1/operator/runs/{id}/retry version_not_found":               "TestAFailedRunIsRetried",
	}
	if len(said) != 18 {
		t.Errorf("%d operations are described", len(said))
	}
	for r := range said {
		here := r.Method + " " + r.Path + " "
		for code := range said[r] {
			if !possible[r][code] && everywhere[code] == "" && elsewhere[here+code] == "" && code != "stale_revision" {
				t.Errorf("nothing provokes %s, which the description says", here+code)
			}
		}
		for code := range possible[r] {
			if !said[r][code] {
				t.Errorf("there is %s, which the description does not say", here+code)
			}
		}
	}
}

// provokedByOperator are the codes that an operation answers to requests that are wrong in
// ways that have nothing to do with what it does.
func (g *gateway) provokedByOperator(r httpapi.Route, without *gateway) (found []string) {
	g.Helper()
	id, key := g.operated(r)
	path := fillOperators(r.Path, id, key)
	said := func(a answer) {
		var body struct{ Code string }
		if a.status >= http.StatusBadRequest && json.Unmarshal([]byte(a.body), &body) == nil {
			found = append(found, body.Code)
		}
	}
	g.clock.Set(g.clock.Now().Add(time.Second)) // in which as many may be wrong again
	for range 11 {
		said(g.send(r.Method, path, "", ""))
	}
	said(without.operate(r.Method, path, ""))
	narrowed := readingToken
	if r.Method == http.MethodGet {
		narrowed = runsToken
	}
	said(g.send(r.Method, path, "", "", "Authorization", "Bearer "+narrowed))
	said(g.operate(http.MethodPut, path, ""))
	said(g.operate(r.Method, fillOperators(r.Path, id, nobodysKey), "", "If-Match", `"7"`))
	said(g.operate(r.Method, fillOperators(r.Path, "tenant_7zzzzzzzzzzzzzzzzzzzzzzzzz", key), ""))
	for _, query := range []string{"?limit=%", "?limit=0", "?color=red"} {
		said(g.operate(r.Method, path+query, ""))
	}
	if r.Method == http.MethodGet || r.Method == http.MethodDelete {
		return found
	}
	for _, body := range []string{`{"a":`, `{"a":1}`, `{"reason":1}`, `[]`, `{"name":"` + strings.Repeat("a", 1<<20) + `"}`} {
		said(g.operate(r.Method, path, body))
	}
	said(g.operate(r.Method, path, `{}`, "Content-Type", "text/plain"))
	for _, body := range []io.Reader{late{}, broken{}} {
		request := httptest.NewRequestWithContext(g.Context(), r.Method, path, body)
		request.Header.Set("Authorization", "Bearer "+operatorToken)
		recorder := httptest.NewRecorder()
		g.api.ServeHTTP(recorder, request) // who checks the contract would have to read the body
		said(answer{recorder.Code, recorder.Header(), recorder.Body.String()})
	}
	if r.Method == http.MethodPost {
		said(g.operate(r.Method, path, `{}`, "X-Idempotency-Key", strings.Repeat("k", 1000)))
		id, key := g.operated(r) // on which nothing has been done yet
		path := fillOperators(r.Path, id, key)
		for _, asked := range operatorPosts(r.Path) {
			said(g.operate(r.Method, path, asked, "X-Idempotency-Key", r.Path))
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func TestATenantIsCreatedWithTheDaysOfTheGatewayOrWithItsOwn(t *testing.T) {
	g := newGateway(t)
	g.store.RunDays = 90
	days := func(a answer) any { return a.field(t, "limits.runRetentionDays") }
	for body, want := range map[string]float64{`{"name":"a"}`: 90, `{"name":"b","limits":{"runRetentionDays":7,"secret":{"requestsPerMinute":5}}}`: 7} {
		made := g.operate(http.MethodPost, tenantsPath, body)
		read := g.operate(http.MethodGet, tenantsPath+"/"+fmt.Sprint(made.field(t, "id")), "")
		own := g.send(http.MethodGet, "/v1/gateway/settings", fmt.Sprint(made.field(t, "secretKey")), "")
		if made.status != http.StatusCreated || days(made) != want || days(read) != want || days(own) != want {
			t.Errorf("%s: %s, %s, %s", body, made.body, read.body, own.body)
		}
	}
	wrong := g.operate(http.MethodPost, tenantsPath, `{"name":"c","limits":{"runRetentionDays":0,"public":{"requestsPerMinute":0},"private":{}}}`)
	if diff := cmp.Diff([]string{"limits.private unknown"}, wrong.violations(t)); diff != "" || wrong.status != http.StatusBadRequest {
		t.Errorf("%d %s: %s", wrong.status, wrong.body, diff)
	}
	wrong = g.operate(http.MethodPost, tenantsPath, `{"name":"c","limits":{"runRetentionDays":0,"public":{"requestsPerMinute":0}}}`)
	if diff := cmp.Diff([]string{"limits.public.requestsPerMinute too_small", "limits.runRetentionDays too_small"}, wrong.violations(t)); diff != "" {
		t.Error(diff)
	}
}
