package workflow_test

import (
	"testing"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/workflow"
)

func TestCheckOutputsAndInputs(t *testing.T) {
	a, other := step("a", "transform", passing), step("any", "transform", passing)
	runCheck(t, map[string]checkCase{
		"branches, outcomes and outputs that exist": {
			nodes: nodes(step("if", "condition", `{"condition": "input.x"}`), a, step("get", "httpRequest", `{"url": "https://x.test"}`), other),
			edges: edges(on("if", "true", "a"), on("if", "false", "get"), on("if", "onError", "any"),
				on("get", "onSuccess", "any"), on("get", "onError", "any"), on("get", "body", "any"), on("a", "whatever", "any")),
		},
		"a branch that the node does not have": {
			nodes: nodes(step("if", "condition", `{"condition": "input.x"}`), step("sw", "switch", `{"expression": "input.x", "cases": [{"value": 1}]}`), other),
			edges: edges(edge("if", "sw"), on("if", "yes", "any"), edge("sw", "any"), on("sw", "case-1", "any")),
			want: findings(
				want("edges[1].sourceOutputKey", "edge_2", workflow.UnknownOutput, `must be a branch of "if": "true", "false", "onSuccess" or "onError", not "yes"`),
				want("edges[3].sourceOutputKey", "edge_4", workflow.UnknownOutput, `must be a branch of "sw": "case-0", "default", "onSuccess" or "onError", not "case-1"`),
			),
		},
		"an output that the node does not have": {
			nodes: nodes(step("get", "httpRequest", `{"url": "https://x.test"}`), other), edges: edges(on("get", "data", "any")),
			want: findings(want("edges[0].sourceOutputKey", "edge_1", workflow.UnknownOutput, `must be an output of "get": "status", "headers", "body", "onSuccess" or "onError", not "data"`)),
		},
		"an input that the node does not have": {
			nodes: nodes(a, step("pay", "charge", "")), edges: edges(into("a", "", "pay", "amount"), into("a", "", "pay", "price")),
			want: findings(want("edges[1].targetInputKey", "edge_2", workflow.UnknownInput, `must be an input of "pay": "amount", "note", not "price"`)),
		},
		"any input of a node that declares none": {nodes: nodes(a, other), edges: edges(into("a", "", "any", "whatever"))},
		"a required input that no edge provides": {
			nodes: nodes(a, step("pay", "charge", "")), edges: edges(into("a", "", "pay", "note")),
			want: findings(want("nodes[1]", "pay", workflow.MissingInput, `requires "amount", which nothing that leads there gives: add an edge with that targetInputKey, or let a node before it give that member`)),
		},
		"a required input that an edge without a key may provide": {
			nodes: nodes(a, other, step("pay", "charge", "")), edges: edges(into("a", "", "pay", "note"), edge("any", "pay")),
		},
	})
}

func TestCheckTypesAlongEdges(t *testing.T) {
	who := step("who", "person", "")
	pay := step("pay", "charge", "")
	delay := step("delay", "wait", `{"delayMs": 5}`)
	runCheck(t, map[string]checkCase{
		"a member that fits": {nodes: nodes(step("get", "httpRequest", `{"url": "https://x.test"}`), pay), edges: edges(into("get", "status", "pay", "amount"))},
		"a member that does not fit the input": {
			nodes: nodes(who, pay), edges: edges(into("who", "amount", "pay", "amount")),
			want: findings(want("edges[0].targetInputKey", "edge_1", workflow.TypeClash, `must lead from what fits: output "amount" of "who" gives a string where a number is wanted (input "amount" of "pay")`)),
		},
		"a member that does not fit the whole input": {
			nodes: nodes(who, pay), edges: edges(on("who", "name", "pay")),
			want: findings(want("edges[0].sourceOutputKey", "edge_1", workflow.TypeClash, `must lead from what fits: output "name" of "who" gives a string where an object is wanted (the input of "pay")`)),
		},
		"an output that does not fit": {
			nodes: nodes(who, pay), edges: edges(edge("who", "pay")),
			want: findings(want("edges[0]", "edge_1", workflow.TypeClash, `must lead from what fits: "who" has a property "amount" that cannot be used: it gives a string where a number is wanted (the input of "pay")`)),
		},
		"an object that surely lacks what is required, unless another edge may bring it": {
			nodes: nodes(who, pay, step("x", "transform", passing), step("both", "charge", "")),
			edges: edges(on("who", "address", "pay"), on("who", "address", "both"), edge("x", "both")),
			want:  findings(want("edges[0].sourceOutputKey", "edge_1", workflow.TypeClash, `must lead from what fits: output "address" of "who" never has the property "amount", which is required (the input of "pay")`)),
		},
		"what passes through a node that gives its input on": {
			nodes: nodes(who, delay, step("if", "condition", `{"condition": "input.x", "falseBranch": ""}`), pay),
			edges: edges(edge("who", "delay"), edge("delay", "if"), on("if", "true", "pay")),
			want:  findings(want("edges[2].sourceOutputKey", "edge_3", workflow.TypeClash, `must lead from what fits: branch "true" of "if" has a property "amount" that cannot be used: it gives a string where a number is wanted (the input of "pay")`)),
		},
		"a member of a value that has none": {
			nodes: nodes(who, delay, pay), edges: edges(on("who", "name", "delay"), into("delay", "first", "pay", "amount")),
			want: findings(want("edges[1].sourceOutputKey", "edge_2", workflow.UnknownOutput, `must be left out or "onSuccess" or "onError": "delay" gives one value without members, not "first"`)),
		},
		"several that come together pass on whatever they are": {
			nodes: nodes(who, step("x", "person", ""), delay, pay), edges: edges(edge("who", "delay"), edge("x", "delay"), edge("delay", "pay")),
		},
		"what arrives under a key is not passed on as it was": {
			nodes: nodes(who, delay, pay), edges: edges(into("who", "name", "delay", "n"), edge("delay", "pay")),
			want: findings(want("nodes[2]", "pay", workflow.MissingInput, `requires "amount", which nothing that leads there gives: add an edge with that targetInputKey, or let a node before it give that member`)),
		},
		"an optional input, or one with a default, need not be provided": {
			nodes: nodes(step("x", "transform", passing), withInput(pay, `{"tip": {"type": "number", "required": true, "default": 0}}`)),
			edges: edges(into("x", "", "pay", "amount")),
		},
		"what passes through may hold more than its source declared": {
			nodes: nodes(who, delay, pay), edges: edges(edge("who", "delay"), into("delay", "age", "pay", "amount")),
		},
		"an error brings no input": {
			nodes: nodes(who, pay), edges: edges(on("who", "onError", "pay")),
			want: findings(want("nodes[1]", "pay", workflow.MissingInput, `requires "amount", which nothing that leads there gives: add an edge with that targetInputKey, or let a node before it give that member`)),
		},
		"an error passes where another edge may bring the input": {
			nodes: nodes(who, pay, step("x", "transform", passing)), edges: edges(on("who", "onError", "pay"), edge("x", "pay")),
		},
		"the answer that an input node asks for": {
			nodes: nodes(step("ask", "input", `{"inputType": "email"}`), step("age", "input", `{"inputType": "number"}`), pay, step("too", "charge", "")),
			edges: edges(into("ask", "value", "pay", "amount"), into("age", "value", "too", "amount")),
			want:  findings(want("edges[0].targetInputKey", "edge_1", workflow.TypeClash, `must lead from what fits: output "value" of "ask" gives a string where a number is wanted (input "amount" of "pay")`)),
		},
	})
}

func TestCheckOwnSchemas(t *testing.T) {
	with := func(d workflow.NodeDraft, input, output string) workflow.NodeDraft {
		d.InputSchema, d.OutputSchema = domain.RestoreDocument(input), domain.RestoreDocument(output)
		return d
	}
	get := step("get", "httpRequest", `{"url": "https://x.test"}`)
	calc := step("calc", "transform", passing)
	runCheck(t, map[string]checkCase{
		"they narrow what the type gives, and add to it": {
			nodes: nodes(with(get, "", `{"body": {"type": "string"}, "extra": {"type": "boolean"}}`), step("pay", "charge", ""), step("p2", "charge", "")),
			edges: edges(into("get", "body", "pay", "amount"), into("get", "extra", "pay", "note"), into("get", "status", "p2", "amount"), on("get", "gone", "p2")),
			want: findings(
				want("edges[0].targetInputKey", "edge_1", workflow.TypeClash, `must lead from what fits: output "body" of "get" gives a string where a number is wanted (input "amount" of "pay")`),
				want("edges[1].targetInputKey", "edge_2", workflow.TypeClash, `must lead from what fits: output "extra" of "get" gives true or false where a string is wanted (input "note" of "pay")`),
				want("edges[3].sourceOutputKey", "edge_4", workflow.UnknownOutput, `must be an output of "get": "status", "headers", "body", "extra", "onSuccess" or "onError", not "gone"`),
			),
		},
		"they narrow what the type takes, and leave required what was": {
			nodes: nodes(calc, with(step("pay", "charge", ""), `{"amount": {"type": "number", "max": 5}, "tip": {"type": "number", "required": true}}`, "")),
			edges: edges(into("calc", "", "pay", "note")),
			want:  findings(want("nodes[1]", "pay", workflow.MissingInput, `requires "amount", "tip", which nothing that leads there gives: add an edge with that targetInputKey, or let a node before it give that member`)),
		},
		"they give a type to what has none": {
			nodes: nodes(with(calc, "", `{"sum": {"type": "string"}}`), step("pay", "charge", "")),
			edges: edges(into("calc", "sum", "pay", "amount")),
			want:  findings(want("edges[0].targetInputKey", "edge_1", workflow.TypeClash, `must lead from what fits: output "sum" of "calc" gives a string where a number is wanted (input "amount" of "pay")`)),
		},
		"they must not contradict the type": {
			nodes: nodes(with(get, "", `{"status": {"type": "string"}}`)),
			want:  findings(want("nodes[0].outputSchema.status", "get", workflow.TypeClash, "must narrow what the node type declares: it gives a string where a whole number is wanted")),
		},
		"they must be sound": {
			nodes: nodes(with(calc, `{"a": {"type": "text"}, "b": {"type": "number", "min": 2, "max": 1}}`, "")),
			want: findings(
				want("nodes[0].inputSchema.a.type", "calc", domain.NotAllowed, `must be "string", "number", "boolean", "any", "object", "array" or "enum", not "text"`),
				want("nodes[0].inputSchema.b.max", "calc", domain.Conflicting, "must be at least min, which is 2, not 1"),
			),
		},
		"another document is a note": {
			nodes: nodes(with(calc, `{"type": "object", "properties": {"a": {"type": "string"}}}`, `{"example": 1}`)),
		},
	})
}

func withInput(d workflow.NodeDraft, schema string) workflow.NodeDraft {
	d.InputSchema = domain.RestoreDocument(schema)
	return d
}
