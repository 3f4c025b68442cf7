package main

import (
	"fmt"
	"time"
)

// shape is a workflow that clients start.
type shape struct {
	name    string
	share   int // of a hundred calls
	nodes   []map[string]any
	edges   []map[string]any
	trigger map[string]any // its type and the configuration besides the retry policy

	// done says which nodes complete in a run that completes, for an order's amount.
	done func(amount int) []string

	// effects are the nodes that call out.
	effects []string

	event string        // that clients name instead of the trigger; empty for none
	rests time.Duration // how long a run waits by itself

	awaits string // what a client has to do before it goes on: answer, event or nothing
}

// What a client has to bring.
const (
	awaitsAnswer = "answer"
	awaitsEvent  = "event"
)

// rest is how long an order waits that has to.
const rest = 400 * time.Millisecond

// bigOrder is from which amount on an order is charged.
const bigOrder = 500

// shapes lists them; calls is where they call out to.
func shapes(calls string) []*shape {
	hook := map[string]any{"type": "webhook"}
	all := func(ids ...string) func(int) []string { return func(int) []string { return ids } }
	return []*shape{
		{
			name: "two transforms", share: 40, trigger: hook, done: all("total", "notice"),
			nodes: []map[string]any{
				transform("total", "{ id: payload.call, total: payload.amount * 1.23 }"),
				transform("notice", "`Order ${input.id} is worth ${input.total}`"),
			},
			edges: chain("total", "notice"),
		},
		{
			name: "branch, call, join", share: 20, trigger: hook, effects: []string{"charge"},
			done: func(amount int) []string {
				if amount > bigOrder {
					return []string{"big", "charge", "join"}
				}
				return []string{"big", "small", "join"}
			},
			nodes: []map[string]any{
				node("big", "condition", map[string]any{"condition": fmt.Sprintf("payload.amount > %d", bigOrder)}),
				call("charge", calls), transform("small", "{ waived: payload.amount }"), transform("join", "{ of: payload.call }"),
			},
			edges: []map[string]any{
				{"sourceNodeId": "big", "targetNodeId": "charge", "sourceOutputKey": "true"},
				{"sourceNodeId": "big", "targetNodeId": "small", "sourceOutputKey": "false"},
				{"sourceNodeId": "charge", "targetNodeId": "join"}, {"sourceNodeId": "small", "targetNodeId": "join"},
			},
		},
		{
			name: "wait, call", share: 20, trigger: hook, effects: []string{"ship"}, done: all("rest", "ship", "shipped"), rests: rest,
			nodes: []map[string]any{
				node("rest", "wait", map[string]any{"delayMs": rest.Milliseconds()}), call("ship", calls), transform("shipped", "{ of: payload.call }"),
			},
			edges: chain("rest", "ship", "shipped"),
		},
		{
			name: "answer, call", share: 10, trigger: hook, effects: []string{"book"}, done: all("approve", "book"), awaits: awaitsAnswer,
			nodes: []map[string]any{
				node("approve", "input", map[string]any{"prompt": "Approve?", "inputType": "text", "required": true}), call("book", calls),
			},
			edges: chain("approve", "book"),
		},
		{
			name: "event", share: 10, trigger: hook, done: all("paid", "thanks"), awaits: awaitsEvent,
			nodes: []map[string]any{
				node("paid", "waitForEvent", map[string]any{"event": paidEvent}), transform("thanks", "{ of: payload.call }"),
			},
			edges: chain("paid", "thanks"),
		},
		{
			name: "schedule", effects: []string{"tick"}, done: all("tick"),
			trigger: map[string]any{"type": "schedule", "scheduleConfig": map[string]any{"cron": "* * * * *", "catchUp": "all"}},
			nodes:   []map[string]any{call("tick", calls)}, edges: []map[string]any{},
		},
	}
}

// paidEvent is what runs wait for.
const paidEvent = "order.paid"

// retryPolicy lets every call succeed in the end: the receiver fails fewer times.
var retryPolicy = map[string]any{"maxRetries": 10, "backoffMs": 100, "maxBackoffMs": 1000}

func node(id, kind string, config map[string]any) map[string]any {
	return map[string]any{"id": id, "type": kind, "version": "1.0.0", "name": id, "config": config}
}

func transform(id, expression string) map[string]any {
	return node(id, "transform", map[string]any{"transformType": "expression", "expression": expression})
}

// attemptTimeout is how long a node waits for an answer of the receiver, in ms.
const attemptTimeout = 700

// call posts the order to the receiver.
func call(id, to string) map[string]any {
	return node(id, "httpRequest", map[string]any{
		"method": "POST", "url": to + "/" + id, "timeoutMs": attemptTimeout,
		"body": map[string]any{"tenant": "{{ run.tenantId }}", "run": "{{ run.id }}", "order": "{{ payload }}"},
	})
}

func chain(ids ...string) []map[string]any {
	edges := []map[string]any{}
	for i := range ids[1:] {
		edges = append(edges, map[string]any{"sourceNodeId": ids[i], "targetNodeId": ids[i+1]})
	}
	return edges
}
