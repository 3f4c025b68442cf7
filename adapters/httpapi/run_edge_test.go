package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
)

// A node has been called, and the condition of the edge that leaves it cannot be computed:
// everything that reports the run says so of the edge, and of the node that it completed.
func TestARunThatFailedAtAnEdgeSaysWhich(t *testing.T) {
	g := newGateway(t)
	e := g.fixture("Acme")
	drawn := graph([]string{`charge httpRequest {"url":"https://example.com/"}`, `after transform {"expression":"1"}`}, "charge -> after")
	edges := drawn.Edges()
	condition := "result.body.paid"
	edges[0].Condition = &condition
	ver, trg := g.activate(e, workflow.RestoreGraph(drawn.Nodes(), edges), onPaid)
	plan := run.NewPlan(ver.ID(), ver.Graph(), node.RegistryFor(e.id, tenant.English, nil, nil), expression.Compiler{})
	r := run.New(run.ID(e.named("run", 'r')), run.Start{
		Tenant: e.id, SubTenant: ver.SubTenant(), Workflow: ver.Workflow(), Version: ver.ID(), Trigger: trg, Entity: "order", Cause: run.CauseWebhook,
	}, noon)
	g.move(r, plan, noon, []factOf{
		happens(run.Started{}), happens(run.AttemptCompleted{Node: "charge", Attempt: 1, Output: map[string]any{"status": json.Number("200")}}),
	})
	const message = `The condition of edge edge_00000000000000000000000001 (charge -> after) cannot be computed: ` +
		`edges[0].condition: line 1, column 13: result.body is undefined; cannot read "paid"; write ?. before it where it may be missing`
	path := fmt.Sprint(runsPath, "/", r.ID())
	why := map[string]any{"code": "edge_condition_failed", "message": message, "nodeId": "charge", "edgeId": "edge_00000000000000000000000001"}
	completed := map[string]any{
		"nodeId": "charge", "status": "completed", "attempts": 1.0, "input": nil, "output": map[string]any{"status": 200.0},
		"startedAt": "2026-11-21T12:00:00.000Z", "finishedAt": "2026-11-21T12:00:01.000Z",
	}
	for claim, got := range map[string]answer{
		"as it is read":                       g.send(http.MethodGet, path, e.secret, ""),
		"as it is retried, which fails again": g.send(http.MethodPost, path+"/retry", e.secret, ""),
	} {
		if got.status != http.StatusOK || got.field(t, "status") != "failed" {
			t.Errorf("%s: %d: %s", claim, got.status, got.body)
		}
		if diff := cmp.Diff(why, got.field(t, "error")); diff != "" {
			t.Errorf("%s: %s", claim, diff)
		}
	}
	nodes := g.send(http.MethodGet, path, e.secret, "").field(t, "nodes")
	if diff := cmp.Diff([]any{completed, map[string]any{"nodeId": "after", "status": "pending", "attempts": 0.0}}, nodes); diff != "" {
		t.Error(diff)
	}
	listed := g.send(http.MethodGet, runsPath+"?status=failed&entityId=order", e.secret, "")
	delete(why, "edgeId")
	if diff := cmp.Diff(why, listed.field(t, "items").([]any)[0].(map[string]any)["error"]); diff != "" {
		t.Error(diff)
	}
	stream := g.send(http.MethodGet, path+"/stream?after=3", e.secret, "").body
	told := strconv.Quote(message)
	for _, want := range []string{
		"id: 4\nevent: edge.failed\ndata: {\"seq\":4,\"type\":\"edge.failed\",\"at\":\"2026-11-21T12:00:01.000Z\",\"nodeId\":\"charge\"," +
			"\"edgeId\":\"edge_00000000000000000000000001\",\"code\":\"edge_condition_failed\",\"message\":" + told + "}",
		"id: 5\nevent: run.failed\ndata: {\"seq\":5,\"type\":\"run.failed\",\"at\":\"2026-11-21T12:00:01.000Z\",\"nodeId\":\"charge\"," +
			"\"edgeId\":\"edge_00000000000000000000000001\",\"code\":\"edge_condition_failed\",\"message\":" + told + "}",
		"event: run.retried", "event: end\ndata: {\"status\":\"failed\"}",
	} {
		if !strings.Contains(stream, want) {
			t.Errorf("the stream says\n%s and not\n%s", stream, want)
		}
	}
}
