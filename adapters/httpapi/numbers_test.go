package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/ports/outbound"
)

// numbered are requests that bring a number to where it is kept as it was sent, and the
// path at which it is refused.
func numbered(e fixture) map[string]struct{ path, body, field string } {
	return map[string]struct{ path, body, field string }{
		"eventData of a call":     {triggersPath + "/" + e.ids["listening"] + "/webhook", `{"eventData":{"n":[%s]}}`, "eventData.n[0]"},
		"eventData of an event":   {triggersPath + "/webhook/by-event", `{"event":"order.paid","eventData":%s}`, "eventData"},
		"eventData of ingest":     {triggersPath + "/ingest", `{"event":"order.paid","eventData":{"n":%s}}`, "eventData.n"},
		"the input of a run":      {triggersPath + "/resume", `{"runId":"` + e.ids["runs"] + `","resumeToken":"x","input":{"value":%s}}`, "input.value"},
		"a trigger's config":      {triggersPath, `{"workflowVersionId":"` + e.ids["activeVersion"] + `","name":"N","type":"webhook","config":{"own":%s}}`, "config.own"},
		"a node's configuration":  {"/v1/gateway/workflow-versions", `{"workflowId":"` + e.ids["workflows"] + `","nodes":[` + fmt.Sprintf(typicalNode, `{"own":%s}`) + `],"edges":[]}`, "nodes[0].config.own"},
		"a schema":                {"/v1/gateway/custom-nodes", `{"type":"own","name":"N","version":"1.0.0","endpoint":"https://example.com/","inputSchema":{"x":{"type":"number","default":%s}},"outputSchema":{},"configSchema":{}}`, "inputSchema.x.default"},
		"what a simulation gives": {"/v1/gateway/workflow-versions/" + e.ids["activeVersion"] + "/simulate", `{"answers":{"approve":[{"output":%s}]}}`, "answers.approve[0].output"},
	}
}

const typicalNode = `{"id":"a","type":"transform","version":"1.0.0","name":"A","config":%s,"inputSchema":{},"outputSchema":{},"position":{"x":1,"y":1}}`

// Most readers of JSON could not read such a number back (RFC 7493), so that it would
// make every answer that holds it unreadable.
func TestANumberThatNoDoubleHoldsIsRefusedWhereItStands(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	e := g.fixture("Acme")
	g.addRuns(e)
	for what, c := range numbered(e) {
		for n, code := range map[string]string{"1e999": "too_large", "-1E+309": "too_small", strings.Repeat("9", 400): "too_large"} {
			got := g.send(http.MethodPost, c.path, e.secret, fmt.Sprintf(c.body, n))
			if diff := cmp.Diff([]string{c.field + " " + code}, got.violations(t)); got.status != http.StatusBadRequest || diff != "" {
				t.Errorf("%s: %.20s got %d: %s", what, n, got.status, diff)
			}
		}
	}
}

// However many digits a number has, and however it is spelled: what is kept is what was
// sent.
func TestANumberIsKeptToItsLastDigit(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	e := g.fixture("Acme")
	g.activate(e, graph([]string{`ask input {"inputType":"number"}`, `shipped waitForEvent {"event":"order.shipped"}`}, "ask -> shipped"), onPaid)
	g.startWorker(func(context.Context, outbound.NodeCall) (outbound.NodeOutcome, error) {
		return outbound.NodeCompleted{}, nil
	})
	until := func(id, want string) (shown answer) {
		t.Helper()
		for began := time.Now(); time.Since(began) < 10*time.Second; time.Sleep(5 * time.Millisecond) {
			if shown = g.send(http.MethodGet, runsPath+"/"+id, e.secret, ""); shown.field(t, "status") == want {
				return shown
			}
		}
		t.Fatalf("the run is not %s: %s", want, shown.body)
		return shown
	}
	for _, n := range []string{"9007199254740993", "-12345678901234567890.12345678901234567890", "1e-999", "1.50E+2", "-0"} {
		fired := g.send(http.MethodPost, triggersPath+"/"+e.ids["listening"]+"/webhook", e.secret, fmt.Sprintf(`{"eventData":{"entityId":%s,"n":%s}}`, n, n))
		id := fmt.Sprint(fired.field(t, "runId"))
		_, token, _ := strings.Cut(until(id, "paused").body, `"resumeToken":"`)
		token, _, _ = strings.Cut(token, `"`)
		if got := g.send(http.MethodPost, triggersPath+"/resume", e.secret, fmt.Sprintf(`{"runId":%q,"resumeToken":%q,"input":%s}`, id, token, n)); got.status != http.StatusNoContent {
			t.Fatalf("%s as an answer got %d: %s", n, got.status, got.body)
		}
		shipped := g.send(http.MethodPost, triggersPath+"/ingest", e.secret, fmt.Sprintf(`{"event":"order.shipped","eventData":{"entityId":%s,"n":[%s]}}`, n, n))
		if got := shipped.field(t, "resumed"); fmt.Sprint(got) == "[]" {
			t.Errorf("%s does not name the entity: %s", n, shipped.body)
		}
		shown := until(id, "completed").body
		for _, want := range []string{
			`"entityId":"` + n + `"`, `"input":{"entityId":` + n + `,"n":` + n + `}`, `"ask":{"value":` + n + `}`,
			`"shipped":{"event":"order.shipped","eventData":{"entityId":` + n + `,"n":[` + n + `]}}`,
		} {
			if !strings.Contains(shown, want) {
				t.Errorf("%s is not in %s", want, shown)
			}
		}
	}
	for what, c := range numbered(e) {
		if !strings.Contains(c.body, `"own":%s`) {
			continue // these are not shown by the answer
		}
		if got := g.send(http.MethodPost, c.path, e.secret, fmt.Sprintf(c.body, "12345678901234567890.10")); !strings.Contains(got.body, `"own":12345678901234567890.10`) {
			t.Errorf("%s is kept as %s", what, got.body)
		}
	}
}
