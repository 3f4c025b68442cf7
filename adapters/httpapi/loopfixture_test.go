package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/sluicehq/sluice/adapters/budget"
	"github.com/sluicehq/sluice/adapters/directory"
	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/adapters/httpapi/contract"
	"github.com/sluicehq/sluice/application/execution"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
	"github.com/sluicehq/sluice/ports/portstest"
)

// families moves runs that start others on, as a worker does, a second for each step.
type families struct {
	*gateway
	of    fixture
	plans *execution.Plans
}

// roomy leaves the last characters of identifiers to those that are made of them, for items.
type roomy struct{ *portstest.CountedRandom }

// ID counts.
func (r roomy) ID(prefix string) string { return fmt.Sprintf("%s_%023d000", prefix, r.Next()) }

// made sends a body that makes something, and returns a member of the answer.
func (f families) made(path, body, member string) string {
	f.Helper()
	got := f.send(http.MethodPost, "/v1/gateway"+path, f.of.secret, body)
	if got.status >= http.StatusMultipleChoices {
		f.Fatalf("POST %s got %d: %s", path, got.status, got.body)
	}
	return fmt.Sprint(got.field(f.T, member))
}

// published makes and publishes a version.
func (f families) published(of, graph string) (id string) {
	f.Helper()
	id = f.made("/workflow-versions", fmt.Sprintf(`{"workflowId": %q, %s}`, of, graph), "id")
	f.made("/workflow-versions/"+id+"/publish", "", "version.id")
	return id
}

// step lets something happen to a run, and returns what it makes of that.
func (f families) step(id run.ID, fact run.Fact) (r *run.Run, made run.Step) {
	f.Helper()
	f.clock.Set(f.clock.Now().Add(time.Second))
	f.write(func(ctx context.Context, st outbound.Stores) (err error) {
		if r, err = st.Runs.Runs.Get(ctx, tenant.All(f.of.id), id); err != nil {
			return err
		}
		plan, err := f.plans.Of(ctx, f.of.id, r.Source())
		if err != nil {
			return err
		}
		from := r.Seq()
		if made, err = r.Advance(plan, run.Event{At: f.clock.Now(), Secret: runKey.Secret(id), Fact: fact}); err != nil {
			return err
		}
		if made.Refused != nil {
			return made.Refused
		}
		_, err = execution.Record(ctx, st, roomy{f.random}, execution.Step{Made: made, Written: outbound.RunStep{Run: r, From: from}})
		return err
	})
	return r, made
}

// started starts a run of the fixture's workflow and begins it; it returns its items, too.
func (f families) started(entity, lines string) (id run.ID, items []run.ID) {
	f.Helper()
	id = run.ID(f.made("/workflows/"+f.of.ids["workflows"]+"/runs", fmt.Sprintf(`{"entityId": %q, "eventData": {"lines": [%s]}}`, entity, lines), "id"))
	f.step(id, run.Started{})
	var list struct {
		Items []struct {
			ID    run.ID
			Index int
		}
	}
	got := f.send(http.MethodGet, "/v1/gateway/runs?parentRunId="+string(id), f.of.secret, "")
	if err := json.Unmarshal([]byte(got.body), &list); err != nil {
		f.Fatal(err)
	}
	items = make([]run.ID, len(list.Items))
	for _, item := range list.Items {
		items[item.Index] = item.ID
	}
	for _, item := range items {
		f.step(item, run.Started{})
	}
	return id, items
}

// stock answers an item's question of how many there are.
func (f families) stock(item run.ID, left int) (r *run.Run) {
	f.Helper()
	r, _ = f.step(item, run.AttemptCompleted{Node: "stock", Attempt: 1, Output: json.RawMessage(fmt.Sprintf(`{"status": 200, "headers": {}, "body": {"left": %d}}`, left))})
	return r
}

// ended tells a run what became of its items.
func (f families) ended(id run.ID, count int) (made run.Step) {
	f.Helper()
	over := run.ItemsEnded{Node: "lines", Count: count}
	f.write(func(ctx context.Context, st outbound.Stores) (err error) {
		over.Items, err = st.Runs.Loops.Ended(ctx, outbound.EndedItems{Loop: outbound.LoopKey{Tenant: f.of.id, Run: id, Node: "lines"}, Limit: count + 1, Bytes: 1 << 20})
		return err
	})
	_, made = f.step(id, over)
	return made
}

// addLoops gives the fixture a workflow that goes through the lines of an order and calls another
// one, and two runs of it: one that has completed, though one line failed, and one that waits
// since a line asks a person. It returns what stands for them.
func (g *gateway) addLoops(e fixture) []contract.Replacement {
	g.Helper()
	known := directory.New(g.store)
	known.SetReliable(true)
	f := families{g, e, execution.NewPlans(g.store, known, expression.Compiler{}, budget.Divide(1<<40, 2).OfRuns(), 0)}
	g.clock.Set(noon.Add(-time.Hour))
	invoicing := f.made("/workflows", fmt.Sprintf(`{"name": "Invoice", "subTenantId": %q}`, e.ids["subTenantId"]), "id")
	invoice := f.published(invoicing, `"nodes": [
		{"id": "count", "type": "transform", "version": "1.0.0", "name": "Count", "config": {"expression": "input.lines.reduce((sum, line) => sum + (line?.count ?? 0), 0)"}},
		{"id": "give", "type": "return", "version": "1.0.0", "name": "Give", "config": {"value": {"number": "2026-1042", "pieces": "{{ input }}"}}}],
		"edges": [{"sourceNodeId": "count", "targetNodeId": "give"}]`)
	shipping := f.published(e.ids["workflows"], `"nodes": [
		{"id": "lines", "type": "forEach", "version": "1.0.0", "name": "Each line", "config": {"items": "payload.lines", "onItemError": "continue"}},
		{"id": "stock", "parentId": "lines", "type": "httpRequest", "version": "1.0.0", "name": "How many are there?", "config": {"url": "https://example.com/stock/{{ item.sku }}"}},
		{"id": "enough", "parentId": "lines", "type": "condition", "version": "1.0.0", "name": "Enough?", "config": {"condition": "input.body.left >= item.count"}},
		{"id": "ask", "parentId": "lines", "type": "input", "version": "1.0.0", "name": "Ask", "config": {"prompt": "Order more of it?", "inputType": "boolean", "required": true}},
		{"id": "keep", "parentId": "lines", "type": "return", "version": "1.0.0", "name": "Keep", "config": {"value": {"sku": "{{ item.sku }}", "count": "{{ item.count }}"}}},
		{"id": "invoice", "type": "callWorkflow", "version": "1.0.0", "name": "Invoice", "config": {"workflowId": "`+invoicing+`", "input": {"lines": "{{ input.results }}"}}},
		{"id": "done", "type": "return", "version": "1.0.0", "name": "Done", "config": {"value": {"invoice": "{{ input.number }}", "missing": "{{ nodes.lines.failed.map(line => line.index) }}"}}}],
		"edges": [{"sourceNodeId": "stock", "targetNodeId": "enough"}, {"sourceNodeId": "enough", "targetNodeId": "keep", "sourceOutputKey": "true"},
			{"sourceNodeId": "enough", "targetNodeId": "ask", "sourceOutputKey": "false"}, {"sourceNodeId": "ask", "targetNodeId": "keep", "condition": "result.value"},
			{"sourceNodeId": "lines", "targetNodeId": "invoice"}, {"sourceNodeId": "invoice", "targetNodeId": "done"}]`)

	shipped, of := f.started("order-1", `{"sku": "cup", "count": 2}, {"sku": "lid", "count": 1}, {"sku": "tin", "count": 5}`)
	f.stock(of[0], 9)
	f.step(of[1], run.AttemptFailed{Node: "stock", Attempt: 1, Code: "http_404", Message: "example.com answered 404 Not Found."})
	f.stock(of[2], 5)
	calls := f.ended(shipped, len(of)).Execute[0]
	_, made := f.step(shipped, run.AttemptCalled{Node: "invoice", Attempt: calls.Attempt, Call: run.CallStart{
		Run: run.ID(g.random.ID(run.IDPrefix)), Workflow: workflow.ID(invoicing), Version: workflow.VersionID(invoice), Payload: calls.Config["input"], Waits: true,
	}})
	called, _ := f.step(made.Start[0].ID(), run.Started{})
	f.step(shipped, run.ChildrenChanged{Children: []run.Outcome{called.Outcome()}})

	packing, lines := f.started("order-2", `{"sku": "cup", "count": 2}, {"sku": "box", "count": 3}`)
	f.stock(lines[0], 7)
	box := f.stock(lines[1], 1)
	f.step(packing, run.ItemsPaused{Node: "lines", Paused: true})
	g.clock.Set(noon)
	return []contract.Replacement{
		contract.Value("shipped", string(shipped)), contract.Value("cup", string(of[0])), contract.Value("lid", string(of[1])), contract.Value("tin", string(of[2])),
		contract.Value("called", string(called.ID())), contract.Value("invoicing", invoicing), contract.Value("invoice", invoice), contract.Value("shipping", shipping),
		contract.Value("packing", string(packing)), contract.Value("box", string(box.ID())), contract.Value("answer", box.Tokens(runKey.Secret(box.ID()))["ask"]),
	}
}
