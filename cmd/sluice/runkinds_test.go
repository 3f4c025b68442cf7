package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/application/fixture"
)

// runner starts runs at a gateway, whose nodes call a world of the test.
type runner struct {
	fileUser
	world *world
}

// published makes a workflow, whose name is its first node, of nodes, which are "id type configuration" or "id parent:type configuration", and of edges, which are "a -> b".
func (r runner) published(nodes []string, edges ...string) (workflow string) {
	r.Helper()
	texts := make([]string, len(nodes))
	for i, line := range nodes {
		part := strings.SplitN(line, " ", 3)
		parent, kind, inside := strings.Cut(part[1], ":")
		if !inside {
			parent, kind = "", part[1]
		}
		texts[i] = fmt.Sprintf(`{"id": %q, "type": %q, "version": "1.0.0", "name": "N", "config": %s`, part[0], kind, strings.ReplaceAll(part[2], "WORLD", r.world.URL))
		if inside {
			texts[i] += fmt.Sprintf(`, "parentId": %q`, parent)
		}
		texts[i] += "}"
	}
	between := make([]string, len(edges))
	for i, line := range edges {
		source, target, _ := strings.Cut(line, " -> ")
		between[i] = fmt.Sprintf(`{"sourceNodeId": %q, "targetNodeId": %q}`, source, target)
	}
	workflow = fmt.Sprint(r.post("/workflows", fmt.Sprintf(`{"name": %q}`, "Runs "+nodes[0]))["id"])
	version := r.post("/workflow-versions", fmt.Sprintf(`{"workflowId": %q, "nodes": [%s], "edges": [%s]}`, workflow, strings.Join(texts, ", "), strings.Join(between, ", ")))["id"]
	r.post(fmt.Sprintf("/workflow-versions/%v/publish", version), "")
	return workflow
}

// start starts a run of an entity.
func (r runner) start(workflow, entity, payload string) (run string) {
	r.Helper()
	return fmt.Sprint(r.post("/workflows/"+workflow+"/runs", fmt.Sprintf(`{"entityId": %q, "eventData": %s}`, entity, payload))["id"])
}

// until waits for a run to have a status, and returns it.
func (r runner) until(run, status string) map[string]any {
	r.Helper()
	var shown map[string]any
	for deadline := time.Now().Add(testTimeout); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if shown = r.ask(http.MethodGet, "/runs/"+run, ""); shown["status"] == status {
			return shown
		}
	}
	r.Fatalf("%s never was %s, but %v", run, status, shown)
	return nil
}

// gives waits for a run to complete with an output, as Go prints it.
func (r runner) gives(run, output string) {
	r.Helper()
	if diff := cmp.Diff(output, fmt.Sprint(r.until(run, "completed")["output"])); diff != "" {
		r.Errorf("the run gave something else: %s", diff)
	}
	engine := "table"
	if os.Getenv(fixture.EngineVariable) != "" {
		engine = "temporal"
	}
	if got := r.json("run", "show", run)["engine"]; got != engine {
		r.Errorf("the run began with the engine %v, not %s", got, engine)
	}
}

// statuses counts the runs that a run started, by their statuses.
func (r runner) statuses(parent string) map[any]int {
	r.Helper()
	found := make(map[any]int)
	for _, item := range r.ask(http.MethodGet, "/runs?limit=100&parentRunId="+parent, "")["items"].([]any) {
		found[item.(map[string]any)["status"]]++
	}
	return found
}

// runKinds are runs of every kind, as a client of the API sees them.
var runKinds = map[string]func(r runner){
	"a loop whose items call out and call a workflow": func(r runner) {
		twice := r.published([]string{`twice transform {"transformType": "expression", "expression": "input * 2"}`})
		loop := r.published([]string{
			`each forEach {"items": "payload.items", "concurrency": 3}`,
			`rest each:wait {"delayMs": 50}`,
			`ship each:httpRequest {"method": "POST", "url": "WORLD/ship/{{ item }}"}`,
			fmt.Sprintf(`call each:callWorkflow {"workflowId": %q, "input": "{{ item }}"}`, twice),
		}, "rest -> ship", "ship -> call")
		run := r.start(loop, "order-1", `{"items": [1, 2, 3, 4, 5, 6, 7]}`)
		r.gives(run, "map[count:7 failed:[] results:[2 4 6 8 10 12 14]]")
		if diff := cmp.Diff(map[any]int{"completed": 7}, r.statuses(run)); diff != "" {
			r.Error(diff)
		}
		if got := r.world.got("POST /ship/"); len(got) != 7 {
			r.Errorf("called was %q", got)
		}
	},
	"code": func(r runner) {
		sum := r.published([]string{`sum code {"source": "return { sum: input.list.reduce((a, b) => a + b, 0) };"}`, `give transform {"transformType": "expression", "expression": "input.sum + 1"}`}, "sum -> give")
		r.gives(r.start(sum, "order-2", `{"list": [1, 2, 3]}`), "7")
	},
	"questions to people, answered by identifier and by token": func(r runner) {
		ask := r.published([]string{`first input {"inputType": "boolean"}`, `second input {"inputType": "text"}`, `give transform {"transformType": "expression", "expression": "[nodes.first.value, input.value]"}`}, "first -> second", "second -> give")
		run := r.start(ask, "order-3", `{}`)
		r.until(run, "paused")
		pause := r.ask(http.MethodGet, "/pauses?entityId=order-3", "")["items"].([]any)[0].(map[string]any)["id"]
		r.post(fmt.Sprintf("/pauses/%v/answer", pause), `{"input": true}`)
		r.server.await(r.T, "/v1/gateway/pauses?entityId=order-3", r.key, `"nodeId":"second"`)
		token := regexp.MustCompile(`"resumeToken":"([^"]+)"`).FindStringSubmatch(r.server.await(r.T, "/v1/gateway/runs/"+run, r.key, `"resumeToken"`))
		r.post("/triggers/resume", fmt.Sprintf(`{"runId": %q, "resumeToken": %q, "input": "yes"}`, run, token[1]))
		r.gives(run, "[true yes]")
	},
	"an event": func(r runner) {
		wait := r.published([]string{`paid waitForEvent {"event": "order.paid"}`, `give transform {"transformType": "expression", "expression": "input.eventData.cents"}`}, "paid -> give")
		run := r.start(wait, "order-4", `{}`)
		r.until(run, "paused")
		r.post("/triggers/ingest", `{"event": "order.paid", "entityId": "order-4", "eventData": {"cents": 1250}}`)
		r.gives(run, "1250")
	},
	"a run that is cancelled while it waits": func(r runner) {
		wait := r.published([]string{`rest wait {"delayMs": 86400000}`})
		run := r.start(wait, "order-5", `{}`)
		r.until(run, "paused")
		r.post("/runs/"+run+"/cancel", "")
		r.until(run, "cancelled")
	},
	"a run that is cancelled while it calls": func(r runner) {
		begun, given := make(chan struct{}, 1), make(chan struct{}, 1)
		slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
			begun <- struct{}{}
			<-q.Context().Done()
			given <- struct{}{}
		}))
		r.Cleanup(slow.Close)
		call := r.published([]string{fmt.Sprintf(`call httpRequest {"url": %q}`, slow.URL)})
		run := r.start(call, "order-6", `{}`)
		await := func(c chan struct{}, what string) {
			r.Helper()
			select {
			case <-c:
			case <-time.After(testTimeout):
				r.Fatalf("it never came that %s", what)
			}
		}
		await(begun, "the call is made")
		r.post("/runs/"+run+"/cancel", "")
		await(given, "the call is given up")
		r.until(run, "cancelled")
	},
	"a loop that is cancelled with its items": func(r runner) {
		loop := r.published([]string{`each forEach {"items": "payload.items"}`, `ask each:input {"inputType": "boolean"}`})
		run := r.start(loop, "order-7", `{"items": [1, 2, 3]}`)
		r.server.await(r.T, "/v1/gateway/runs?status=paused&parentRunId="+run, r.key, `"total":3`)
		r.post("/runs/"+run+"/cancel", "")
		r.until(run, "cancelled")
		r.server.await(r.T, "/v1/gateway/runs?status=cancelled&parentRunId="+run, r.key, `"total":3`)
	},
	"a run that fails, and is retried where it failed": func(r runner) {
		r.world.mu.Lock()
		r.world.failing["POST /charge"] = true
		r.world.mu.Unlock()
		call := r.published([]string{`notice httpRequest {"method": "POST", "url": "WORLD/notice"}`, `charge httpRequest {"method": "POST", "url": "WORLD/charge"}`, `give transform {"transformType": "expression", "expression": "payload.cents"}`},
			"notice -> charge", "charge -> give")
		run := r.start(call, "order-8", `{"cents": 450}`)
		r.until(run, "failed")
		r.world.mu.Lock()
		r.world.failing["POST /charge"] = false
		r.world.mu.Unlock()
		r.post("/runs/"+run+"/retry", "")
		r.gives(run, "450")
		if notices, charges := len(r.world.got("POST /notice")), len(r.world.got("POST /charge")); notices != 1 || charges != 2 {
			r.Errorf("%d notices and %d charges", notices, charges)
		}
		again := fmt.Sprint(r.post("/runs/"+run+"/rerun", "")["id"])
		r.gives(again, "450")
		if notices := len(r.world.got("POST /notice")); again == run || notices != 2 {
			r.Errorf("the run is repeated as %s, with %d notices", again, notices)
		}
	},
}

func TestRunsOfEachKindEndAsAClientOfTheAPIExpects(t *testing.T) {
	databases(t, func(t *testing.T, b binary) {
		b.environ = append(b.environ, "SLUICE_EGRESS_ALLOW=127.0.0.1/32")
		s := b.start("serve")
		for name, test := range runKinds {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				inner := b
				inner.T = t
				u := fileUser{inner, s, fmt.Sprint(b.json("tenant", "create", "--name", "Acme")["secretKey"])}
				test(runner{u, newWorld(t)})
			})
		}
	})
}
