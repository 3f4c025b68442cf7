package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// scenario is a workflow that clients start.
type scenario struct {
	name  string
	share int // of a hundred calls
	nodes []map[string]any
	edges []map[string]any

	callee []map[string]any // a workflow of its own, which nodes call under the id [calleeID]

	schedule map[string]any // configuration of a schedule, in place of calls by clients

	// done says which nodes complete in a run that completes, for an order's amount.
	done func(amount int) []string

	items int      // for how many items one of the nodes runs its body
	body  []string // which nodes complete in the run of each

	// effects are the nodes that call out.
	effects []string

	event string        // that clients name in place of the trigger; empty for none
	delay time.Duration // how long a run waits by itself

	overflow string // what becomes of a call for a line that a run is live of; empty where lines mean nothing

	awaits string // what a client has to do before it goes on: answer, event or nothing
}

// What a client has to bring.
const (
	awaitsAnswer = "answer"
	awaitsEvent  = "event"
)

// waitTime is the delay of nodes that wait.
const waitTime = 400 * time.Millisecond

// bigOrder is from which amount on an order is charged.
const bigOrder = 500

// scenarios lists them; calls is the URL of the receiver.
func scenarios(calls string) []*scenario {
	all := func(ids ...string) func(int) []string { return func(int) []string { return ids } }
	return append([]*scenario{
		{
			name: "two transforms", share: 20, done: all("total", "notice"),
			nodes: []map[string]any{
				harness.Transform("total", "{ id: payload.call, total: payload.amount * 1.23 }"),
				harness.Transform("notice", "`Order ${input.id} is worth ${input.total}`"),
			},
			edges: harness.Chain("total", "notice"),
		},
		{
			name: "branch, call, join", share: 15, effects: []string{"charge"},
			done: func(amount int) []string {
				if amount > bigOrder {
					return []string{"big", "charge", "join"}
				}
				return []string{"big", "small", "join"}
			},
			nodes: []map[string]any{
				harness.Node("big", "condition", map[string]any{"condition": fmt.Sprintf("payload.amount > %d", bigOrder)}),
				call("charge", calls), harness.Transform("small", "{ waived: payload.amount }"), harness.Transform("join", "{ of: payload.call }"),
			},
			edges: []map[string]any{
				{"sourceNodeId": "big", "targetNodeId": "charge", "sourceOutputKey": "true"},
				{"sourceNodeId": "big", "targetNodeId": "small", "sourceOutputKey": "false"},
				harness.Edge("charge", "join"), harness.Edge("small", "join"),
			},
		},
		{
			name: "wait, call", share: 20, effects: []string{"ship"}, done: all("rest", "ship", "shipped"), delay: waitTime,
			nodes: []map[string]any{
				harness.Node("rest", "wait", map[string]any{"delayMs": waitTime.Milliseconds()}), call("ship", calls), harness.Transform("shipped", "{ of: payload.call }"),
			},
			edges: harness.Chain("rest", "ship", "shipped"),
		},
		{
			name: "answer, call", share: 5, effects: []string{"book"}, done: all("approve", "book"), awaits: awaitsAnswer,
			nodes: []map[string]any{
				harness.Node("approve", "input", map[string]any{"prompt": "Approve?", "inputType": "text", "required": true}), call("book", calls),
			},
			edges: harness.Chain("approve", "book"),
		},
		{
			name: "event", share: 5, done: all("paid", "thanks"), awaits: awaitsEvent,
			nodes: []map[string]any{
				harness.Node("paid", "waitForEvent", map[string]any{"event": paidEvent}), harness.Transform("thanks", "{ of: payload.call }"),
			},
			edges: harness.Chain("paid", "thanks"),
		},
		codeScenario(calls),
		callScenario(),
		loopScenario(calls),
		{
			name: "schedule", effects: []string{"tick"}, done: all("tick"),
			schedule: map[string]any{"cron": "* * * * *", "catchUp": "all"},
			nodes:    []map[string]any{call("tick", calls)}, edges: []map[string]any{},
		},
	}, laneScenarios()...)
}

// codeScenario is a workflow that computes before and after a call.
func codeScenario(calls string) *scenario {
	return &scenario{
		name: "code, call, code", share: 10, effects: []string{"bill"}, done: func(int) []string { return []string{"sum", "tax", "bill", "billed"} },
		nodes: []map[string]any{
			code("sum", "return { total: payload.amount * 2 };"), code("tax", "return { total: input.total * 1.23 };"), call("bill", calls),
			code("billed", "return { of: payload.call };"),
		},
		edges: harness.Chain("sum", "tax", "bill", "billed"),
	}
}

// callScenario is a workflow that calls another one and waits for it.
func callScenario() *scenario {
	return &scenario{
		name: "call a workflow", share: 10, done: func(int) []string { return []string{"price", "receipt"} }, delay: waitTime,
		callee: []map[string]any{
			harness.Node("rest", "wait", map[string]any{"delayMs": waitTime.Milliseconds()}),
			harness.Node("total", "return", map[string]any{"value": map[string]any{"total": "{{ payload.amount * 1.23 }}"}}),
		},
		nodes: []map[string]any{
			harness.Node("price", "callWorkflow", map[string]any{"workflowId": calleeID, "input": map[string]any{"amount": "{{ payload.amount }}"}}),
			harness.Transform("receipt", "{ of: payload.call, total: input.total }"),
		},
		edges: harness.Chain("price", "receipt"),
	}
}

// loopScenario is a workflow that runs a body for each of a few items.
func loopScenario(calls string) *scenario {
	within := func(n map[string]any) map[string]any {
		n["parentId"] = "each"
		return n
	}
	return &scenario{
		name: "for each item", share: 10, done: func(int) []string { return []string{"each", "packed"} }, items: 4, body: []string{"pick", "pack"},
		effects: []string{"pack"}, delay: 2 * waitTime,
		nodes: []map[string]any{
			harness.Node("each", "forEach", map[string]any{"items": "[1, 2, 3, 4]", "concurrency": 2}),
			within(harness.Node("pick", "wait", map[string]any{"delayMs": waitTime.Milliseconds()})), within(call("pack", calls)),
			harness.Transform("packed", "{ of: payload.call, packed: input.count }"),
		},
		edges: append(harness.Chain("pick", "pack"), harness.Chain("each", "packed")...),
	}
}

// calleeID stands for the workflow that a scenario's nodes call.
const calleeID = "{callee}"

// publish publishes a scenario's workflow for a tenant, after the one that it calls, and returns
// its nodes as well.
func (sc *scenario) publish(ctx context.Context, post harness.Post) (w harness.Workflow, nodes []map[string]any, err error) {
	nodes = sc.nodes
	if sc.callee != nil {
		called, err := harness.Publish(ctx, post, sc.name+", called", sc.callee, harness.Chain("rest", "total"))
		if err != nil {
			return w, nil, err
		}
		nodes = slices.Clone(nodes)
		for i, n := range nodes {
			if config, _ := n["config"].(map[string]any); config["workflowId"] == calleeID {
				config = maps.Clone(config)
				config["workflowId"] = called.ID
				nodes[i] = maps.Clone(n)
				nodes[i]["config"] = config
			}
		}
	}
	w, err = harness.Publish(ctx, post, sc.name, nodes, sc.edges)
	return w, nodes, err
}

// paidEvent is what runs wait for.
const paidEvent = "order.paid"

// retryPolicy lets every call succeed in the end: the receiver fails fewer times.
var retryPolicy = map[string]any{"maxRetries": 10, "backoffMs": 100, "maxBackoffMs": 1000}

// triggerConfig is that of a scenario's trigger.
func (sc *scenario) triggerConfig() map[string]any {
	config := map[string]any{"retryPolicy": retryPolicy}
	if sc.schedule != nil {
		config["scheduleConfig"] = sc.schedule
	}
	if sc.overflow != "" {
		config["concurrency"] = map[string]any{"key": "payload.line", "limit": 1, "overflow": sc.overflow}
	}
	if sc.event != "" {
		config["webhookConfig"] = map[string]any{"event": sc.event}
	}
	return config
}

func (sc *scenario) triggerType() string {
	if sc.schedule != nil {
		return "schedule"
	}
	return "webhook"
}

// attemptTimeout is how long a node waits for an answer of the receiver, in ms.
const attemptTimeout = 700

// call posts the order to the receiver.
func call(id, to string) map[string]any {
	return harness.Node(id, "httpRequest", map[string]any{
		"method": "POST", "url": to + "/" + id, "timeoutMs": attemptTimeout,
		"body": map[string]any{"tenant": "{{ run.tenantId }}", "run": "{{ run.id }}", "order": "{{ payload }}"},
	})
}

func code(id, source string) map[string]any {
	return harness.Node(id, "code", map[string]any{"source": source})
}
