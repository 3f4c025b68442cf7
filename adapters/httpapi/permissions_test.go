package httpapi_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/ports/outbound"
)

// fixture is a tenant with one record of each kind, by the name its identifier has in
// paths and bodies.
type fixture struct {
	customer
	ids map[string]string
}

// marker stands in every text of a fixture, so that a foreign byte is found.
func (e fixture) marker() string { return "belongs-to-" + string(e.id) }

// fixture makes a tenant that has everything.
func (g *gateway) fixture(name string) fixture {
	g.Helper()
	e := fixture{g.customer(name), make(map[string]string)}
	made := func(path, body string) answer {
		g.Helper()
		got := g.send(http.MethodPost, "/v1/gateway"+path, e.secret, body)
		if got.status != http.StatusCreated {
			g.Fatalf("POST %s got %d: %s", path, got.status, got.body)
		}
		return got
	}
	text := func(a answer, member string) string { return fmt.Sprint(a.field(g.T, member)) }
	e.ids["subTenantId"] = "segment of " + name
	e.ids["workflows"] = text(made("/workflows", fmt.Sprintf(`{"name":%q,"subTenantId":%q}`, e.marker(), e.ids["subTenantId"])), "id")
	e.ids["workflow-versions"] = text(made("/workflow-versions", fmt.Sprintf(`{"workflowId":%q,"nodes":[{"id":"a","type":"transform","version":"1.0.0","name":%q,"config":{}}]}`,
		e.ids["workflows"], e.marker())), "id")
	e.ids["triggers"] = text(made("/triggers", fmt.Sprintf(`{"workflowVersionId":%q,"name":%q,"type":"webhook","config":{"webhookConfig":{"event":%q}}}`,
		e.ids["workflow-versions"], e.marker(), e.marker())), "id")
	e.ids["sub-tenants"] = text(made("/sub-tenants", fmt.Sprintf(`{"subTenantId":%q,"name":%q}`, e.ids["subTenantId"], e.marker())), "id")
	e.ids["custom-nodes"] = text(made("/custom-nodes", fmt.Sprintf(`{"type":"acme.enrich","name":%q,"version":"1.0.0","inputSchema":{},"outputSchema":{}}`, e.marker())), "id")
	e.ids["api-keys"] = text(made("/api-keys", fmt.Sprintf(`{"type":"public","name":%q}`, e.marker())), "id")
	e.ids["versionId"], e.ids["unhooked"], e.ids["deliveryId"] = e.ids["workflow-versions"], e.ids["triggers"], "hdl_00000000000000000000000000"
	g.record(e)
	g.storeEmbedToken(e)
	g.storeMember(e)
	g.webhook(e)
	return e
}

// record writes one fire into the ledger of the fixture's trigger.
func (g *gateway) record(e fixture) {
	g.Helper()
	fire := trigger.RestoreFire(trigger.FireState{
		Trigger: trigger.ID(e.ids["triggers"]), Tenant: e.id, At: noon.Add(-time.Minute), Outcome: trigger.Suppressed,
		Reason: e.marker(), RecordedAt: noon.Add(-time.Minute),
	})
	g.write(func(ctx context.Context, st outbound.Stores) error {
		_, err := st.Fires.Record(ctx, []*trigger.Fire{fire})
		return err
	})
}

// storeEmbedToken stores an embed token of the fixture's sub-tenant.
func (g *gateway) storeEmbedToken(e fixture) {
	g.Helper()
	sub, viewer := tenant.SubTenantID(e.ids["subTenantId"]), tenant.Viewer
	e.ids["embed-tokens"] = tenant.EmbedTokenIDPrefix + strings.TrimPrefix(string(e.id), tenant.IDPrefix)
	var entropy [tenant.KeyEntropy]byte
	digest := sha256.Sum256([]byte(e.id))
	copy(entropy[:], digest[:])
	token, err := tenant.NewEmbedToken(tenant.KeyID(e.ids["embed-tokens"]), e.id,
		tenant.EmbedTokenDraft{Narrowing: tenant.Narrowing{SubTenant: &sub, Subject: e.marker()}, Preset: &viewer}, tenant.NewKeyText(tenant.Embed, entropy), noon)
	if err != nil {
		g.Fatal(err)
	}
	g.write(func(ctx context.Context, st outbound.Stores) error { return st.APIKeys.Insert(ctx, token) })
}

// absent has an identifier for everything, and nothing of it exists.
func absent(like fixture) fixture {
	none := fixture{ids: make(map[string]string)}
	for kind, id := range like.ids {
		prefix, _, _ := strings.Cut(id, "_")
		none.ids[kind] = prefix + "_7zzzzzzzzzzzzzzzzzzzzzzzzz"
		if kind == "subTenantId" {
			none.ids[kind] = "segment of nobody"
		}
	}
	return none
}

// fill puts a fixture's identifiers into the path of a route. ok is false for a
// parameter of which nobody said what it identifies.
func (e fixture) fill(path string) (filled string, ok bool) {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		name, isParameter := strings.CutPrefix(part, "{")
		if !isParameter {
			continue
		}
		name = strings.TrimSuffix(name, "}")
		switch name {
		case "id":
			if name = parts[i-1]; name == "templates" {
				parts[i] = "stripe-to-api" // which all tenants have
				continue
			}
			if strings.HasSuffix(path, "/grant") || strings.HasSuffix(path, "/authorize") {
				name = "consenting"
			}
		case "nodeId":
			parts[i] = "a" // which every version of the fixture has
			continue
		}
		if parts[i], ok = e.ids[name]; !ok {
			return path, false
		}
	}
	return (&url.URL{Path: strings.Join(parts, "/")}).EscapedPath(), true
}

// requests are ways to ask a route for somebody's records: by its path, its query
// and its body.
func (e fixture) requests(r httpapi.Route) (targets []string, body string, ok bool) {
	path, ok := e.fill(r.Path)
	if !ok {
		return nil, "", false
	}
	targets = []string{path}
	if r.Method == http.MethodGet {
		targets = append(targets,
			path+"?workflowId="+e.ids["workflows"], path+"?subTenantId="+url.QueryEscape(e.ids["subTenantId"]),
			path+"?workflowVersionId="+e.ids["workflow-versions"], path+"?workflowVersionId="+e.ids["activeVersion"],
			path+"?triggerId="+e.ids["listening"], path+"?entityId="+url.QueryEscape(e.ids["entity of waiting"]), path+"?search=belongs-to&workflowId="+e.ids["workflows"])
		return targets, "", true
	}
	if r.Method == http.MethodDelete {
		return targets, "", true
	}
	text, err := json.Marshal(map[string]any{
		"workflowId": e.ids["workflows"], "workflowVersionId": e.ids["workflow-versions"],
		"name": "asks for " + e.ids["workflows"], "type": "webhook", "version": "9.0.0-" + strings.TrimLeft(e.ids["workflows"], "wf_0"),
		"config": map[string]any{"_triggerId": e.ids["triggers"]},
		"runId":  e.ids["runs"], "resumeToken": e.ids["approval"], "event": "order.paid", "entityId": e.ids["entity of waiting"], "eventData": e.ids,
		"resumeOptions": map[string]any{"resumeAll": true, "runIds": []string{e.ids["waiting"]}},
	})
	return targets, string(text), err == nil
}

// routesBehindKeys lists the routes with their operations, in order.
func routesBehindKeys(g *gateway) []httpapi.Route {
	return sortedRoutes(httpapi.Operations(g.api))
}

func sortedRoutes(operations map[httpapi.Route]tenant.Operation) []httpapi.Route {
	return slices.SortedFunc(maps.Keys(operations), func(a, b httpapi.Route) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Method, b.Method))
	})
}

func TestNoForeignByteIsFoundByAnyRoute(t *testing.T) {
	g := newGateway(t)
	mine, theirs := g.fixture("Mine"), g.fixture("Theirs")
	g.addRuns(mine)
	g.addRuns(theirs)
	none := absent(theirs)
	for _, r := range routesBehindKeys(g) {
		targets, body, ok := theirs.requests(r)
		if !ok {
			t.Errorf("%s %s has a parameter that this test cannot fill", r.Method, r.Path)
			continue
		}
		g.findsNothing(r, g.withKey(mine.secret), targets, body, theirs, none)
	}
	g.isWhole(theirs)
}

// asker makes a request, always of the same identifier.
type asker func(method, target, body string) answer

func (g *gateway) withKey(key string) asker {
	return func(method, target, body string) answer {
		return g.send(method, target, key, body, "X-Request-Id", "same")
	}
}

// findsNothing asks a route for somebody else's records and for absent ones: the answers are the
// same, without a foreign byte. Where the absent ones are of the same tenant, its id is none.
func (g *gateway) findsNothing(r httpapi.Route, ask asker, targets []string, body string, theirs, none fixture) {
	g.Helper()
	missing, missingBody, _ := none.requests(r)
	for i, target := range targets {
		g.Run(r.Method+" "+target, func(t *testing.T) {
			got := ask(r.Method, target, body)
			want := ask(r.Method, missing[i], missingBody)
			if got.status >= http.StatusInternalServerError {
				t.Fatalf("got %d: %s", got.status, got.body)
			}
			if strings.Contains(got.body, theirs.marker()) || none.id != theirs.id && strings.Contains(got.body, string(theirs.id)+`"`) {
				t.Errorf("a foreign byte in %s", got.body)
			}
			if got.status != want.status {
				t.Errorf("somebody else's gets %d, what does not exist gets %d: %s", got.status, want.status, got.body)
			}
			if got.status >= http.StatusBadRequest && neutral(got.body, theirs) != neutral(want.body, none) {
				t.Errorf("somebody else's gets %s\nwhat does not exist gets %s", got.body, want.body)
			}
			if kind := got.header.Get("Content-Type"); kind == "text/event-stream" || kind == "application/x-ndjson" {
				return
			}
			if total := got.field(t, "total"); got.status == http.StatusOK && total != nil && want.field(t, "total") != total {
				t.Errorf("the total is %v, not %v", total, want.field(t, "total"))
			}
		})
	}
}

// isWhole checks that nothing of a fixture was changed.
func (g *gateway) isWhole(theirs fixture) {
	g.Helper()
	for kind, path := range map[string]string{
		"workflows": "/workflows/", "workflow-versions": "/workflow-versions/", "triggers": "/triggers/",
		"sub-tenants": "/sub-tenants/", "custom-nodes": "/custom-nodes/", "api-keys": "/api-keys/",
		"connections": "/connections/", "webhook-endpoints": "/webhook-endpoints/", "deliveries": "/deliveries/", "jobs": "/jobs/", "runs": "/runs/", "waiting": "/runs/", "failed": "/runs/",
	} {
		got := g.send(http.MethodGet, "/v1/gateway"+path+theirs.ids[kind], theirs.secret, "")
		if got.status != http.StatusOK || !strings.Contains(got.body, theirs.marker()) || got.field(g.T, "revokedAt") != nil {
			g.Errorf("their own %s got %d after all that: %s", kind, got.status, got.body)
		}
	}
	for name, status := range map[string]string{"runs": "paused", "waiting": "paused", "failed": "failed", "completed": "completed"} {
		if got := g.send(http.MethodGet, "/v1/gateway/runs/"+theirs.ids[name], theirs.secret, "").field(g.T, "status"); got != status {
			g.Errorf("their %s run is %v after all that", name, got)
		}
	}
	if total := g.send(http.MethodGet, "/v1/gateway/runs", theirs.secret, "").field(g.T, "total"); total != 4.0 {
		g.Errorf("they have %v runs after all that", total)
	}
}

// neutral replaces the identifiers that the client sent.
func neutral(body string, sent fixture) string {
	for kind, id := range sent.ids {
		sort, _, isOne := strings.Cut(id, "_")
		if !isOne {
			sort = kind
		}
		body = strings.ReplaceAll(body, id, "{"+sort+"}")
	}
	return body
}

func TestEachTypeOfKeyMayWhatTheTableSays(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	g.addRuns(e)
	operations := httpapi.Operations(g.api)
	performed := make(map[tenant.Operation]bool)
	for i, r := range routesBehindKeys(g) {
		g.clock.Set(noon.Add(time.Duration(i) * time.Second)) // fewer a minute than a public key may
		operation := operations[r]
		performed[operation] = true
		targets, body, _ := absent(e).requests(r)
		for _, kt := range tenant.KeyTypes() {
			key := e.secret
			if kt == tenant.Public {
				key = e.public
			}
			access, ok := operation.Access(kt)
			if !ok {
				t.Errorf("%s is not in the table", operation)
			}
			got := g.send(r.Method, targets[0], key, body)
			if forbidden := got.status == http.StatusForbidden; forbidden != (access != tenant.Allowed) || got.status == http.StatusUnauthorized {
				t.Errorf("%s %s with a %s key, which is %s, got %d: %s", r.Method, r.Path, kt, access, got.status, got.body)
			}
		}
	}
	for _, operation := range httpapi.MemberOperations(g.api) {
		performed[operation] = true
	}
	for _, p := range tenant.Permissions() {
		if !performed[p.Operation] && p.Operation != tenant.Authenticate {
			t.Errorf("no route performs %s", p.Operation)
		}
	}
}
