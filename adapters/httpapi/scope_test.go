package httpapi_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/adapters/httpapi"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
)

// narrowing admits callers with the scope of a sub-tenant, whatever their key.
type narrowing struct {
	inbound.Admission
	to *tenant.SubTenantID // nil for the scope of the key
}

func (n *narrowing) Admit(ctx context.Context, with inbound.Credentials, op tenant.Operation) (inbound.Admitted, error) {
	in, err := n.Admission.Admit(ctx, with, op)
	if err == nil && n.to != nil {
		in.Caller.Scope = tenant.Only(in.Caller.Tenant(), *n.to)
	}
	return in, err
}

// newNarrowedGateway is a gateway whose callers have the scope of a sub-tenant from when it says so.
func newNarrowedGateway(t *testing.T) (*gateway, *narrowing) {
	t.Helper()
	var n *narrowing
	g := newGateway(t, func(_ *httpapi.Options, ports *httpapi.Ports) {
		n = &narrowing{Admission: ports.Admission}
		ports.Admission = n
	})
	return g, n
}

func TestNoByteOfAnotherSubTenantIsFoundByAnyRoute(t *testing.T) {
	g, narrow := newNarrowedGateway(t)
	theirs := g.fixture("Theirs")
	g.addRuns(theirs)
	elsewhere := tenant.SubTenantID("elsewhere")
	narrow.to = &elsewhere
	none, operations := absent(theirs), httpapi.Operations(g.api)
	none.id = theirs.id
	for _, r := range routesBehindKeys(g) {
		switch operations[r] {
		case tenant.ReadNodeRegistry, tenant.ReadTemplates, tenant.ReadCustomNodes, // the tenant's catalogue
			tenant.CreateWorkflow, tenant.CreateSubTenant: // which make what is their own
			continue
		}
		targets, body, _ := theirs.requests(r)
		g.findsNothing(r, g.withKey(theirs.secret), targets, body, theirs, none)
	}
	narrow.to = nil
	g.isWhole(theirs)
}

func TestNothingIsCreatedInOrMovedToAnotherSubTenant(t *testing.T) {
	g, narrow := newNarrowedGateway(t)
	c := g.customer("Acme")
	own := tenant.SubTenantID("own")
	narrow.to = &own
	for path, body := range map[string]string{
		"/workflows": `{"name":"Orders","subTenantId":"%"}`, "/sub-tenants": `{"name":"Team","subTenantId":"%"}`,
		"/webhook-endpoints": `{"url":"https://example.com/hooks","subTenantId":"%"}`,
	} {
		for sub, want := range map[string]int{"own": http.StatusCreated, "other": http.StatusForbidden} {
			got := g.send(http.MethodPost, "/v1/gateway"+path, c.secret, strings.ReplaceAll(body, "%", sub))
			if got.status != want || want == http.StatusForbidden && got.field(t, "code") != "outside_scope" {
				t.Errorf("POST %s for %s got %d: %s", path, sub, got.status, got.body)
			}
			if path == "/webhook-endpoints" && got.status == http.StatusCreated {
				id, _ := got.field(t, "id").(string)
				moved := g.send(http.MethodPatch, "/v1/gateway"+path+"/"+id, c.secret, `{"subTenantId":"other"}`)
				if moved.status != http.StatusForbidden || g.send(http.MethodGet, "/v1/gateway"+path+"/"+id, c.secret, "").status != http.StatusOK {
					t.Errorf("it was moved: %d %s", moved.status, moved.body)
				}
			}
		}
	}
}

func TestAnIdempotencyKeyIsOneSubTenantsOwn(t *testing.T) {
	g, narrow := newNarrowedGateway(t)
	c := g.customer("Acme")
	create := func() answer {
		return g.send(http.MethodPost, "/v1/gateway/sub-tenants", c.secret, `{"name":"Team","subTenantId":"own"}`, "X-Idempotency-Key", "one")
	}
	if made := create(); made.status != http.StatusCreated {
		t.Fatalf("got %d: %s", made.status, made.body)
	}
	own, other := tenant.SubTenantID("own"), tenant.SubTenantID("other")
	for sub, want := range map[*tenant.SubTenantID]int{nil: http.StatusCreated, &own: http.StatusConflict, &other: http.StatusForbidden} {
		if narrow.to = sub; create().status != want {
			t.Errorf("within %v the answer is not %d", sub, want)
		}
	}
}
