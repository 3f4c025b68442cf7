package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/adapters/egress"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/ports/outbound"
)

const connectionsPath = "/v1/gateway/connections"

func TestNoAnswerShowsTheSecretOfAConnection(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	const body = `{"name":"Billing","kind":"basic","hosts":["API.example.com."],"secret":{"username":"us3r","password":"s3cret"}}`
	made := g.send(http.MethodPost, connectionsPath, c.secret, body, "X-Idempotency-Key", "one")
	path := fmt.Sprint(connectionsPath, "/", made.field(t, "id"))
	answers := []answer{
		made, g.send(http.MethodPost, connectionsPath, c.secret, body, "X-Idempotency-Key", "one"), g.send(http.MethodGet, path, c.secret, ""),
		g.send(http.MethodGet, connectionsPath, c.secret, ""), g.send(http.MethodPatch, path, c.secret, `{"name":"Other"}`),
		g.send(http.MethodPatch, path, c.secret, `{"hosts":["evil.example"]}`),
		g.send(http.MethodPatch, path, c.secret, `{"hosts":["evil.example"],"secret":{"username":"[redacted]","password":"[redacted]"}}`),
		g.send(http.MethodPost, connectionsPath, c.secret, `{"name":"x","kind":"bearer","hosts":["a.test"],"secret":{"token":"s3cret\n"}}`),
	}
	for i, want := range []int{201, 201, 200, 200, 200, 400, 400, 400} {
		if got := answers[i]; got.status != want || strings.Contains(got.body, "s3cret") || strings.Contains(got.body, "us3r") {
			t.Errorf("answer %d is %d: %s", i, got.status, got.body)
		}
	}
	if log := g.log.String(); strings.Contains(log, "s3cret") {
		t.Error("the log has it")
	}
}

func TestAConnectionInUseIsNotDeleted(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	made := g.send(http.MethodPost, connectionsPath, c.secret, `{"name":"x","kind":"bearer","hosts":["example.com"],"secret":{"token":"s3cret"}}`)
	id := fmt.Sprint(made.field(t, "id"))
	to := g.send(http.MethodPost, endpointsPath, c.secret, `{"url":"https://example.com/hooks","connection":"`+id+`"}`)
	if to.status != http.StatusCreated || to.field(t, "connection") != id {
		t.Fatalf("%d: %s", to.status, to.body)
	}
	got := g.send(http.MethodDelete, connectionsPath+"/"+id, c.secret, "")
	if got.status != http.StatusConflict || !strings.Contains(got.body, `"usedBy":[{"kind":"webhookEndpoint","id":"`+fmt.Sprint(to.field(t, "id"))+`"}]`) {
		t.Errorf("%d: %s", got.status, got.body)
	}
	for _, elsewhere := range []string{`{"url":"https://example.org/hooks","connection":"` + id + `"}`, `{"url":"https://example.com/hooks","connection":"conn_00000000000000000000000000"}`} {
		if refused := g.send(http.MethodPost, endpointsPath, c.secret, elsewhere); refused.status != http.StatusBadRequest {
			t.Errorf("%d: %s", refused.status, refused.body)
		}
	}
	path := fmt.Sprint(endpointsPath, "/", to.field(t, "id"))
	if freed := g.send(http.MethodPatch, path, c.secret, `{"connection":null}`); freed.status != http.StatusOK {
		t.Errorf("%d: %s", freed.status, freed.body)
	}
	if got := g.send(http.MethodDelete, connectionsPath+"/"+id, c.secret, ""); got.status != http.StatusNoContent {
		t.Errorf("%d: %s", got.status, got.body)
	}
}

func TestATenantHasNoMoreConnectionsThanPermitted(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	g.write(func(ctx context.Context, st outbound.Stores) error {
		for range connection.MaxConnections {
			draft := connection.Draft{Name: "x", Kind: connection.HMAC, Secret: map[string]any{"key": "x"}}
			conn, err := connection.New(connection.ID(g.random.ID(connection.IDPrefix)), c.id, draft, egress.Names{}.ASCII, noon)
			if err != nil {
				return err
			}
			if err := st.Connections.Insert(ctx, conn); err != nil {
				return err
			}
		}
		return nil
	})
	got := g.send(http.MethodPost, connectionsPath, c.secret, `{"name":"x","kind":"hmac","secret":{"key":"x"}}`)
	if got.status != http.StatusConflict || got.field(t, "code") != "connection_limit" {
		t.Errorf("%d: %s", got.status, got.body)
	}
}
