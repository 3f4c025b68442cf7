package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/egress"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

const endpointsPath = "/v1/gateway/webhook-endpoints"

// webhook stores an endpoint of the fixture with one delivery that was tried twice, and
// names them in the fixture.
func (g *gateway) webhook(e fixture) {
	g.Helper()
	suffix := strings.TrimPrefix(string(e.id), "tenant")
	about, asked := e.marker(), noon.Add(-time.Hour)
	to := event.RestoreEndpoint(event.EndpointState{
		ID: event.EndpointID("whk" + suffix), Tenant: e.id, URL: "https://example.com/" + e.marker(), Description: &about,
		Events: []event.Type{event.WorkflowPublished}, Active: true, Secret: domain.NewSigningSecret([domain.SecretEntropy]byte{1}), CreatedAt: asked, UpdatedAt: asked, Revision: 1,
	})
	happened := event.Restore(event.State{
		ID: event.ID("evt" + suffix), Tenant: e.id, Type: event.WorkflowPublished, At: asked, Data: domain.RestoreDocument(`{"workflowId":"` + e.marker() + `"}`),
	})
	d := event.NewDelivery(event.DeliveryID("msg"+suffix), to, happened, asked)
	d.Record(1, asked, event.AttemptResult{
		Status: http.StatusServiceUnavailable, Duration: 120 * time.Millisecond, Code: "unexpected_status",
		Error: "example.com answered 503 Service Unavailable.", Excerpt: e.marker(),
	})
	d.Record(2, asked.Add(5*time.Second), event.AttemptResult{Duration: event.SendTimeout, Code: "timeout", Error: "example.com did not answer within 15 seconds."})
	g.write(func(ctx context.Context, st outbound.Stores) error {
		return errors.Join(st.Webhooks.Endpoints.Insert(ctx, to), st.Webhooks.Events.Append(ctx, happened),
			st.Webhooks.Events.MarkFannedOut(ctx, happened), st.Webhooks.Deliveries.Insert(ctx, d))
	})
	conn, err := connection.New(connection.ID("conn"+suffix), e.id, connection.Draft{
		Name: e.marker(), Kind: connection.Bearer, Hosts: []string{"api.example.com"}, Secret: map[string]any{"token": "s3cret-token"},
	}, egress.Names{}.ASCII, asked)
	if err != nil {
		g.Fatal(err)
	}
	consenting, err := connection.New(connection.ID("conn"+suffix[:len(suffix)-1]+"z"), e.id, connection.Draft{
		Name: e.marker(), Kind: connection.OAuth2AuthorizationCode, Hosts: []string{"auth.example.com"},
		Secret: map[string]any{"authorizationUrl": "https://auth.example.com/authorize", "tokenUrl": "https://auth.example.com/token", "clientId": "app"},
	}, egress.Names{}.ASCII, asked)
	if err != nil {
		g.Fatal(err)
	}
	g.write(func(ctx context.Context, st outbound.Stores) error {
		return errors.Join(st.Connections.Insert(ctx, conn), st.Connections.Insert(ctx, consenting))
	})
	e.ids["connections"], e.ids["consenting"] = string(conn.ID()), string(consenting.ID())
	e.ids["webhook-endpoints"], e.ids["deliveries"], e.ids["eventId"] = string(to.ID()), string(d.ID()), string(happened.ID())
}

func TestASecretIsShownOnceAndNeverAgain(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	const body = `{"url":"https://example.com/hooks"}`
	made := g.send(http.MethodPost, endpointsPath, c.secret, body, "X-Idempotency-Key", "one")
	secret, _ := made.field(t, "secret").(string)
	if _, err := domain.ParseSigningSecret(secret); made.status != http.StatusCreated || err != nil {
		t.Fatalf("got %d, %v: %s", made.status, err, made.body)
	}
	path := fmt.Sprint(endpointsPath, "/", made.field(t, "id"))
	rotated := g.send(http.MethodPost, path+"/rotate-secret", c.secret, "", "X-Idempotency-Key", "two")
	fresh, _ := rotated.field(t, "secret").(string)
	if _, err := domain.ParseSigningSecret(fresh); rotated.status != http.StatusOK || err != nil || fresh == secret {
		t.Fatalf("got %d, %v: %s", rotated.status, err, rotated.body)
	}
	for claim, got := range map[string]answer{
		"a repeat of the creation": g.send(http.MethodPost, endpointsPath, c.secret, body, "X-Idempotency-Key", "one"),
		"a repeat of the rotation": g.send(http.MethodPost, path+"/rotate-secret", c.secret, "", "X-Idempotency-Key", "two"),
		"the endpoint":             g.send(http.MethodGet, path, c.secret, ""),
		"the list":                 g.send(http.MethodGet, endpointsPath, c.secret, ""),
		"a change":                 g.send(http.MethodPatch, path, c.secret, `{"description":"x"}`),
		"a test":                   g.send(http.MethodPost, path+"/test", c.secret, ""),
	} {
		if got.status >= http.StatusBadRequest || strings.Contains(got.body, "whsec_") {
			t.Errorf("%s got %d: %s", claim, got.status, got.body)
		}
	}
}

// Both secrets sign until the one before has ended.
func TestARotatedSecretGoesOnSigning(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	made := g.send(http.MethodPost, endpointsPath, c.secret, `{"url":"https://example.com/hooks"}`)
	id := fmt.Sprint(made.field(t, "id"))
	rotated := g.send(http.MethodPost, endpointsPath+"/"+id+"/rotate-secret", c.secret, "")
	signing := func(at time.Time) (all []string) {
		g.write(func(ctx context.Context, st outbound.Stores) error {
			e, err := st.Webhooks.Endpoints.Get(ctx, tenant.All(c.id), event.EndpointID(id))
			if err != nil {
				return err
			}
			for _, s := range e.SigningSecrets(at) {
				all = append(all, s.Reveal())
			}
			return nil
		})
		return all
	}
	before, now := fmt.Sprint(made.field(t, "secret")), fmt.Sprint(rotated.field(t, "secret"))
	if diff := cmp.Diff([]string{now, before}, signing(noon.Add(event.SecretOverlap-time.Millisecond))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{now}, signing(noon.Add(event.SecretOverlap))); diff != "" {
		t.Error(diff)
	}
}

func TestDeliveriesAreNarrowedByTheirFilters(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	for query, want := range map[string]float64{
		"": 1, "?status=pending": 1, "?status=failed": 0, "?eventType=workflow.published": 1, "?eventType=run.failed": 0,
		"?eventType=webhook_endpoint.test": 0, "?eventId=" + e.ids["eventId"]: 1, "?eventId=evt_7zzzzzzzzzzzzzzzzzzzzzzzzz": 0, "?eventId=%25": 0,
		"?from=2026-11-21T11:00:00Z": 1, "?from=2026-11-21T11:00:00.001Z": 0, "?to=2026-11-21T11:00:00Z": 0, "?to=2026-11-21T16:45:00.001%2B05:45": 1,
		"?" + url.Values{"search": {"x"}, "isActive": {"false"}}.Encode(): 1, // no filters of this list
	} {
		got := g.send(http.MethodGet, endpointsPath+"/"+e.ids["webhook-endpoints"]+"/deliveries"+query, e.secret, "")
		if got.status != http.StatusOK || got.field(t, "total") != want {
			t.Errorf("%q got %d: %s", query, got.status, got.body)
		}
	}
}

// A tenant's endpoints and deliveries are as absent to another as what does not exist,
// whatever is asked of them.
func TestNobodyElseReachesAWebhookEndpoint(t *testing.T) {
	g := newGateway(t)
	mine, theirs := g.fixture("Mine"), g.fixture("Theirs")
	absentOf := absent(theirs)
	for _, r := range []struct{ method, path, kind, body string }{
		{http.MethodGet, "/webhook-endpoints/%s", "webhook-endpoints", ""},
		{http.MethodPatch, "/webhook-endpoints/%s", "webhook-endpoints", `{"isActive":false}`},
		{http.MethodDelete, "/webhook-endpoints/%s", "webhook-endpoints", ""},
		{http.MethodPost, "/webhook-endpoints/%s/rotate-secret", "webhook-endpoints", ""},
		{http.MethodPost, "/webhook-endpoints/%s/test", "webhook-endpoints", ""},
		{http.MethodGet, "/webhook-endpoints/%s/deliveries", "webhook-endpoints", ""},
		{http.MethodGet, "/deliveries/%s", "deliveries", ""},
		{http.MethodPost, "/deliveries/%s/redeliver", "deliveries", ""},
	} {
		ask := func(id string) answer {
			return g.send(r.method, "/v1/gateway"+fmt.Sprintf(r.path, id), mine.secret, r.body, "X-Request-Id", "same")
		}
		missing := ask(absentOf.ids[r.kind])
		for _, got := range []answer{ask(theirs.ids[r.kind]), ask("%00"), missing} {
			if got.status != http.StatusNotFound || got.field(t, "code") != missing.field(t, "code") || got.field(t, "message") != missing.field(t, "message") {
				t.Errorf("%s %s got %d: %s", r.method, r.path, got.status, got.body)
			}
		}
	}
	own := g.send(http.MethodGet, endpointsPath+"/"+theirs.ids["webhook-endpoints"], theirs.secret, "")
	if own.status != http.StatusOK || own.header.Get("ETag") != `"1"` {
		t.Errorf("their own got %d, %s: %s", own.status, own.header.Get("ETag"), own.body)
	}
	if total := g.send(http.MethodGet, endpointsPath+"/"+theirs.ids["webhook-endpoints"]+"/deliveries", theirs.secret, "").field(t, "total"); total != 1.0 {
		t.Errorf("they have %v deliveries", total)
	}
}
