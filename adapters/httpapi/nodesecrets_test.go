package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/domain/tenant"
)

// What stands in nodes and looks like a secret is shown to those who may change them.
func TestWhoMayOnlyReadAVersionSeesNoSecretsInItsNodes(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	const inHeader, inText = "hunter2", "ghp_0123456789abcdefghijklmnopqrstuvwx"
	made := g.send(http.MethodPost, "/v1/gateway/workflow-versions", e.secret, fmt.Sprintf(
		`{"workflowId":%q,"nodes":[{"id":"a","type":"httpRequest","version":"1.0.0","name":"A","config":{"url":"https://example.com?key=%s","headers":{"Authorization":%q}}}]}`,
		e.ids["workflows"], inText, inHeader))
	if made.status != http.StatusCreated || !strings.Contains(made.body, inHeader) || !strings.Contains(made.body, inText) {
		t.Fatalf("got %d: %s", made.status, made.body)
	}
	reader := g.embedToken(e.customer, map[string]any{"subTenantId": e.ids["subTenantId"], "preset": "viewer"})
	editor := g.embedToken(e.customer, map[string]any{"subTenantId": e.ids["subTenantId"], "preset": "editor"})
	one := fmt.Sprint("/v1/gateway/workflow-versions/", made.field(t, "id"))
	for _, path := range []string{one, "/v1/gateway/workflow-versions?workflowId=" + e.ids["workflows"], "/v1/gateway/workflows/" + e.ids["workflows"] + "/versions"} {
		for key, sees := range map[string]bool{e.public: false, e.secret: true, reader: false, editor: true} {
			g.shows(path, g.send(http.MethodGet, path, key, ""), sees, inHeader, inText)
		}
		for role, sees := range map[tenant.Role]bool{tenant.ViewerRole: false, tenant.ApproverRole: false, tenant.EditorRole: true, tenant.AdminRole: true} {
			g.shows(path+" to a "+string(role), g.by(g.member(e.id, role), http.MethodGet, membersPath(e.id, path), ""), sees, inHeader, inText)
		}
	}
}

// A simulation says what would be called, and how.
func TestASimulationShowsNoSecretsOfNodesToWhoMayOnlyRead(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	const inHeader, inText = "hunter2", "ghp_0123456789abcdefghijklmnopqrstuvwx"
	made := g.send(http.MethodPost, "/v1/gateway/workflow-versions", e.secret, fmt.Sprintf(
		`{"workflowId":%q,"nodes":[{"id":"a","type":"httpRequest","version":"1.0.0","name":"A","config":{"url":"https://example.com?key=%s","method":"POST","headers":{"Authorization":%q},"body":{"list":["{{ payload.n }}"]}}}]}`,
		e.ids["workflows"], inText, inHeader))
	path := fmt.Sprint("/v1/gateway/workflow-versions/", made.field(t, "id"), "/simulate")
	simulate := func(who string, got answer, sees bool) {
		if g.shows(who, got, sees, inHeader, inText); !strings.Contains(got.body, `"list":["n7"]`) {
			t.Errorf("%s got %s", who, got.body)
		}
	}
	const body = `{"eventData":{"n":"n7"}}`
	for preset, sees := range map[string]bool{"viewer": false, "approver": false, "editor": true} {
		key := g.embedToken(e.customer, map[string]any{"subTenantId": e.ids["subTenantId"], "preset": preset})
		simulate(preset, g.send(http.MethodPost, path, key, body), sees)
	}
	for role, sees := range map[tenant.Role]bool{tenant.ViewerRole: false, tenant.ApproverRole: false, tenant.EditorRole: true, tenant.AdminRole: true} {
		simulate(string(role), g.by(g.member(e.id, role), http.MethodPost, membersPath(e.id, path), body), sees)
	}
	simulate("the secret key", g.send(http.MethodPost, path, e.secret, body), true)
}

// shows checks whether an answer has secrets, or [redacted] in their places.
func (g *gateway) shows(what string, got answer, sees bool, secrets ...string) {
	g.Helper()
	for _, secret := range secrets {
		if got.status != http.StatusOK || strings.Contains(got.body, secret) != sees {
			g.Errorf("%s got %d: %s", what, got.status, got.body)
		}
	}
	if strings.Count(got.body, "[redacted]") != len(secrets) != sees {
		g.Errorf("%s got %d: %s", what, got.status, got.body)
	}
}
