package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/ports/outbound"
)

// healthyRunner answers heartbeats as the name of the endpoint says, as no server here could:
// one that is called ill is not healthy.
type healthyRunner struct{ outbound.NodeRunner }

// Health finds what the endpoint's name says.
func (healthyRunner) Health(_ context.Context, check outbound.HealthCheck) (outbound.NodeHealth, error) {
	switch {
	case len(check.Secrets) == 0:
		return outbound.NodeHealth{}, errors.New("a heartbeat without a secret")
	case check.Endpoint == "":
		return outbound.NodeHealth{Code: "endpoint_missing", Message: "There is no endpoint to call."}, nil
	case strings.Contains(check.Endpoint, "ill"):
		return outbound.NodeHealth{Latency: 1500 * time.Microsecond, Code: "timeout", Message: "It did not answer within 5s."}, nil
	}
	return outbound.NodeHealth{Healthy: true, Status: http.StatusOK, Latency: 12 * time.Millisecond}, nil
}

const secretPath = "/v1/gateway/custom-nodes/secret"

func TestANodeSecretIsShownOnceAndNeverLogged(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	if got := g.send(http.MethodGet, secretPath, c.secret, ""); got.status != http.StatusNotFound || got.field(t, "code") != "node_secret_not_found" {
		t.Errorf("before there is one: %d %s", got.status, got.body)
	}
	const body = `{"type":"acme.score","name":"Score","version":"1.0.0","endpoint":"https://nodes.example"}`
	made := g.send(http.MethodPost, "/v1/gateway/custom-nodes", c.secret, body, "X-Idempotency-Key", "first")
	first, _ := made.field(t, "nodeSecret").(string)
	if _, err := domain.ParseSigningSecret(first); made.status != http.StatusCreated || err != nil {
		t.Fatalf("the first custom node shows no secret: %d %s", made.status, made.body)
	}
	again := g.send(http.MethodPost, "/v1/gateway/custom-nodes", c.secret, body, "X-Idempotency-Key", "first")
	if want := strings.Replace(made.body, `"nodeSecret":"`+first+`",`, "", 1); again.body != want {
		t.Errorf("the repeat is %s\nnot %s", again.body, want)
	}
	if second := g.send(http.MethodPost, "/v1/gateway/custom-nodes", c.secret, strings.Replace(body, "1.0.0", "2.0.0", 1)); second.field(t, "nodeSecret") != nil {
		t.Errorf("the second custom node shows one: %s", second.body)
	}
	rotate := func(key string) answer {
		return g.send(http.MethodPost, secretPath+"/rotate", c.secret, `{"graceSeconds":60}`, "X-Idempotency-Key", key)
	}
	rotated := rotate("a")
	fresh, _ := rotated.field(t, "secret").(string)
	if _, err := domain.ParseSigningSecret(fresh); err != nil || fresh == first {
		t.Errorf("the rotation made no other secret: %s", rotated.body)
	}
	replayed := rotate("a")
	if want := strings.Replace(rotated.body, `"secret":"`+fresh+`",`, "", 1); replayed.status != rotated.status || replayed.body != want {
		t.Errorf("the repeat is %s\nnot %s", replayed.body, want)
	}
	want := `{"lastFour":"` + fresh[len(fresh)-4:] + `","createdAt":"2026-11-21T12:00:00.000Z","previous":[{"lastFour":"` +
		first[len(first)-4:] + `","expiresAt":"2026-11-21T12:01:00.000Z"}]}`
	if got := g.send(http.MethodGet, secretPath, c.secret, ""); got.body != want {
		t.Errorf("it is shown as %s\nnot %s", got.body, want)
	}
	g.clock.Set(noon.Add(time.Minute))
	if got := g.send(http.MethodGet, secretPath, c.secret, ""); !strings.Contains(got.body, `"previous":[]`) {
		t.Errorf("after the overlap it is shown as %s", got.body)
	}
	for _, secret := range []string{first, fresh} {
		if strings.Contains(g.log.String(), secret[6:]) {
			t.Error("a secret stands in the log")
		}
	}
}

func TestTheHealthOfACustomNodeIsThatOfItsEndpoint(t *testing.T) {
	g := newGateway(t)
	c := g.customer("Acme")
	send := func(method, path, body string) answer { return g.send(method, "/v1/gateway"+path, c.secret, body) }
	made := send(http.MethodPost, "/custom-nodes", `{"type":"acme.score","name":"Score","version":"1.0.0"}`)
	id, _ := made.field(t, "id").(string)
	path := "/custom-nodes/" + id
	want := func(step string, status, code any) {
		t.Helper()
		for _, got := range []answer{send(http.MethodGet, path, ""), send(http.MethodGet, "/custom-nodes?limit=1", "")} {
			member := "health."
			if list, ok := got.field(t, "items").([]any); ok {
				first, _ := list[0].(map[string]any)
				health, _ := first["health"].(map[string]any)
				if health["status"] != status || health["code"] != code {
					t.Errorf("%s: listed with %v", step, health)
				}
				continue
			}
			if got.field(t, member+"status") != status || got.field(t, member+"code") != code {
				t.Errorf("%s: the health is %v", step, got.field(t, "health"))
			}
		}
	}
	want("without an endpoint", "unhealthy", "endpoint_missing")
	send(http.MethodPatch, "/settings", `{"customNodeEndpoint":"https://ill.example"}`)
	want("the tenant's endpoint, which is ill", "unhealthy", "timeout")
	patched := send(http.MethodPatch, path, `{"endpoint":"https://well.example"}`)
	if patched.field(t, "health.status") != "healthy" || patched.field(t, "health.latencyMs") != 12.0 {
		t.Errorf("the change shows %v", patched.field(t, "health"))
	}
	want("its own endpoint, which is well", "healthy", nil)
	send(http.MethodPatch, "/settings", `{"customNodeEndpoint":"https://well.example"}`)
	send(http.MethodPatch, path, `{"endpoint":null}`)
	want("the tenant's endpoint, which is well", "healthy", nil)
	send(http.MethodPatch, "/settings", `{"customNodeEndpoint":null}`)
	want("an endpoint that nobody asked", "unknown", nil)
	g.clock.Set(noon.Add(time.Hour))
	checked := send(http.MethodPost, path+"/check", "")
	if checked.status != http.StatusOK || checked.field(t, "code") != "endpoint_missing" || checked.field(t, "checkedAt") != "2026-11-21T13:00:00.000Z" {
		t.Errorf("the check got %d: %s", checked.status, checked.body)
	}
	want("after a check", "unhealthy", "endpoint_missing")
	if got := send(http.MethodGet, path, ""); got.field(t, "updatedAt") != "2026-11-21T12:00:00.000Z" {
		t.Errorf("a check changes the custom node: %s", got.body)
	}
}
