package workflow_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/workflow"
)

// want is a finding about a node, or about an edge when the node's id is empty.
func want(field string, id string, code domain.ViolationCode, message string) workflow.Finding {
	f := workflow.Finding{Field: field, NodeID: workflow.NodeID(id), Code: code, Message: message}
	if len(id) > 5 && id[:5] == "edge_" {
		f.NodeID, f.EdgeID = "", workflow.EdgeID(id)
	}
	if _, at, located := strings.Cut(message, "at line "); located {
		if n, _ := fmt.Sscanf(at, "%d, column %d", &f.At.Line, &f.At.Column); n != 2 {
			panic(message)
		}
	}
	return f
}

func findings(f ...workflow.Finding) []workflow.Finding { return f }

// checkCase is a graph and what Check finds in it.
type checkCase struct {
	nodes    []workflow.NodeDraft
	edges    []workflow.EdgeDraft
	triggers []workflow.AttachedTrigger
	want     []workflow.Finding
}

func runCheck(t *testing.T, tests map[string]checkCase) {
	t.Helper()
	for claim, tt := range tests {
		t.Run(claim, func(t *testing.T) {
			got := workflow.Check(graph(t, tt.nodes, tt.edges), environment(t, tt.triggers...)).Details
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

const passing = `{"expression": "input"}`

func TestCheckTypesAndVersions(t *testing.T) {
	in := func(d workflow.NodeDraft, v string) workflow.NodeDraft {
		d.Version = v
		return d
	}
	runCheck(t, map[string]checkCase{
		"no nodes": {
			want: findings(want("nodes", "", domain.Required, "must hold at least one node")),
		},
		"a sound graph": {nodes: sound().Nodes, edges: sound().Edges},
		"a type that the registry does not have": {
			nodes: nodes(step("a", "http_reqest", ""), step("b", "teleport", ""), step("c", "", "")),
			want: findings(
				want("nodes[0].type", "a", workflow.UnknownNodeType, `must name a node type of the registry; there is no "http_reqest"; did you mean "httpRequest"?`),
				want("nodes[1].type", "b", workflow.UnknownNodeType, `must name a node type of the registry; there is no "teleport"`),
				want("nodes[2].type", "c", domain.Required, "must not be empty; it names a node type of the registry"),
			),
		},
		"a built-in type that the tenant has disabled": {
			nodes: nodes(step("a", "waitForEvent", `{"event": "paid"}`)),
			want:  findings(want("nodes[0].type", "a", workflow.UnknownNodeType, `must name a node type of the registry; there is no "waitForEvent"`)),
		},
		"a version that the registry does not have": {
			nodes: nodes(in(step("a", "charge", ""), "2.0.0"), in(step("b", "charge", ""), "1"), in(step("c", "trigger_webhook", ""), "")),
			want: findings(
				want("nodes[0].version", "a", workflow.UnknownNodeVersion, `must be a version of "charge" that the registry has: "1.0.0" or "1.1.0", not "2.0.0"`),
				want("nodes[0]", "a", workflow.UnreachableNode, `is never reached: no edge leads to it from "c", where runs start`),
				want("nodes[1].version", "b", workflow.UnknownNodeVersion, `must be a version of "charge" that the registry has: "1.0.0" or "1.1.0", not "1"`),
				want("nodes[1]", "b", workflow.UnreachableNode, `is never reached: no edge leads to it from "c", where runs start`),
				want("nodes[2].version", "c", domain.Required, `must not be empty; the registry has "trigger_webhook" in version "1.0.0"`),
			),
		},
	})
}

func TestCheckConfiguration(t *testing.T) {
	runCheck(t, map[string]checkCase{
		"a configuration that does not fit the schema of its type": {
			nodes: nodes(step("a", "charge", `{"currency": "euro"}`), step("b", "wait", `{"delayMs": 1.5}`), step("c", "switch", `{"cases": 1, "defaultNode": null}`)),
			want: findings(
				want("nodes[0].config.currency", "a", domain.BadFormat, "must match the pattern ^[A-Z]{3}$"),
				want("nodes[1].config.delayMs", "b", domain.NotWhole, "must be a whole number, not 1.5"),
				want("nodes[2].config.expression", "c", domain.Required, "must be given: a string"),
				want("nodes[2].config.cases", "c", domain.WrongType, "must be an array, not a number"),
			),
		},
		"a text with {{ fits any type in an httpRequest": {
			nodes: nodes(step("a", "httpRequest", `{"url": "https://x.test/{{ input.id }}", "method": "{{ input.method }}", "timeoutMs": "{{ payload.ms }}", "expectStatus": ["{{ input.ok }}"]}`)),
		},
		"what an editor writes for members that are left blank": {
			nodes: nodes(
				step("a", "transform", `{"transformType": "expression", "expression": "input.a", "mapping": {}, "source": "", "initial": ""}`),
				step("b", "httpRequest", `{"url": "https://x.test/", "method": "", "headers": {}, "query": [], "body": "", "timeoutMs": "5000", "expectStatus": null}`),
				step("c", "wait", `{"delayMs": "1000", "until": ""}`), step("d", "wait", `{"delayMs": null, "until": "payload.due"}`),
			),
		},
		"a blank for a member that is required": {
			nodes: nodes(step("a", "httpRequest", `{"url": ""}`), step("b", "switch", `{"expression": null, "cases": []}`), step("c", "transform", `{"expression": "", "mapping": {}}`)),
			want: findings(
				want("nodes[0].config.url", "a", domain.Required, "must be given: a string"),
				want("nodes[1].config.expression", "b", domain.Required, "must be given: a string"),
				want("nodes[1].config.cases", "b", domain.Required, "must be given: an array"),
				want("nodes[2].config.expression", "c", domain.Required, "must be given, unless mapping is"),
			),
		},
		"and in no other node": {
			nodes: nodes(step("a", "charge", `{"currency": "{{ input.currency }}"}`), step("b", "wait", `{"delayMs": "{{ input.ms }}"}`)),
			want: findings(
				want("nodes[0].config.currency", "a", domain.BadFormat, "must match the pattern ^[A-Z]{3}$"),
				want("nodes[1].config.delayMs", "b", domain.WrongType, "must be a number, not a string"),
			),
		},
	})
	t.Run("a configuration that is no object, which only a store can give", func(t *testing.T) {
		g := workflow.RestoreGraph([]workflow.Node{{ID: "a", Type: "input", Version: "1.0.0", Config: domain.RestoreDocument("[")}}, nil)
		expected := findings(want("nodes[0].config", "a", domain.BadFormat, "must be a JSON object"))
		if diff := cmp.Diff(expected, workflow.Check(g, environment(t)).Details); diff != "" {
			t.Error(diff)
		}
	})
}

func TestCheckExpressions(t *testing.T) {
	const compiles = "must be an expression that compiles: "
	runCheck(t, map[string]checkCase{
		"expressions that do not compile": {
			nodes: nodes(
				step("a", "condition", `{"condition": "input.x >", "trueBranch": "", "falseBranch": ""}`),
				step("b", "switch", `{"expression": "inptu.x", "cases": [{"value": 1, "nodeId": ""}], "defaultNode": ""}`),
				step("c", "transform", `{"expression": "result.x"}`),
				step("d", "transform", `{"mapping": {"z": "input.x", "m": ["run.id", {"deep": ")"}], "a": "item"}}`),
				step("e", "transform", `{"transformType": "filter", "source": "item.x", "expression": "item.x > acc"}`),
				step("f", "wait", `{"until": "tomorrow"}`),
				step("g", "wait", `{"until": "2026-03-01"}`),
				step("g2", "wait", `{"until": "2026-11-31"}`),
				step("g3", "wait", `{"until": "2026-03-01T14:00:00+0100"}`),
				step("g4", "wait", `{"until": 1772370000000}`),
				step("g5", "wait", `{"until": "1772370000000"}`),
			),
			edges: edges(when(edge("a", "b"), "result.x == payload.x"), when(edge("b", "c"), "item > 1")),
			want: findings(
				want("nodes[0].config.condition", "a", workflow.BadExpression, compiles+"1:10: expected operand, found 'EOF'"),
				want("nodes[1].config.expression", "b", workflow.BadExpression, compiles+`unknown name "inptu"`),
				want("nodes[2].config.expression", "c", workflow.BadExpression, compiles+`unknown name "result"`),
				want("nodes[3].config.mapping.a", "d", workflow.BadExpression, compiles+`unknown name "item"`),
				want("nodes[3].config.mapping.m[1].deep", "d", workflow.BadExpression, compiles+"1:1: expected operand, found ')'"),
				want("nodes[4].config.source", "e", workflow.BadExpression, compiles+`unknown name "item"`),
				want("nodes[4].config.expression", "e", workflow.BadExpression, compiles+`unknown name "acc"`),
				want("nodes[5].config.until", "f", workflow.BadExpression, `must be a time in ISO 8601, such as 2026-01-31T09:00:00Z, or an expression that compiles: unknown name "tomorrow"`),
				want("nodes[7].config.until", "g2", domain.BadFormat, "must be a time that exists, in ISO 8601, such as 2026-01-31T09:00:00Z"),
				want("nodes[8].config.until", "g3", domain.BadFormat, "must be a time that exists, in ISO 8601, such as 2026-01-31T09:00:00Z"),
				want("edges[1].condition", "edge_2", workflow.BadExpression, compiles+`unknown name "item"`),
			),
		},
		"the names that a transform of each kind can begin with": {
			nodes: nodes(
				step("a", "transform", `{"transformType": "map", "mapping": {"n": "item.x * index", "i": "input.x"}, "source": "payload.list"}`),
				step("b", "transform", `{"transformType": "filter", "expression": "item > index"}`),
				step("c", "transform", `{"transformType": "reduce", "expression": "acc + item * index", "initial": 0}`),
				step("d", "transform", `{"expression": "run.id"}`),
			),
		},
		"a transform that goes over a list takes a function": {
			nodes: nodes(
				step("a", "transform", `{"transformType": "map", "expression": "x, i => x + i + input.y"}`),
				step("b", "transform", `{"transformType": "filter", "expression": "x => item"}`),
				step("c", "transform", `{"transformType": "reduce", "expression": "acc, x => acc + index"}`),
				step("d", "transform", `{"expression": "x => x"}`),
			),
			want: findings(
				want("nodes[1].config.expression", "b", workflow.BadExpression, `must be a function that compiles: unknown name "item"`),
				want("nodes[2].config.expression", "c", workflow.BadExpression, `must be a function that compiles: unknown name "index"`),
				want("nodes[3].config.expression", "d", workflow.BadExpression, compiles+"1:3: expected '==', found '='"),
			),
		},
		"what is wrong around the expressions of a request": {
			nodes: nodes(
				step("a", "httpRequest", `{"url": "ftp://x.test/{{ input.id }}", "headers": {"Host": "{{ input.host }}", "X-A": "{{ input.\na }}", "X-B": "b\n{{ input.b }}", "x-a": ["{{ input.c }}"]}}`),
				step("b", "httpRequest", `{"url": "htp:/x", "method": "{{ input.method }}", "headers": "{{ input.headers }}", "timeoutMs": "{{ 5 }}", "query": {"a": {"b": "{{ 1 }}"}}}`),
				step("c", "httpRequest", `{"url": "https://x.test/", "method": "FETCH", "headers": {"A B": "{{ input.c }}"}, "expectStatus": ["{{ 200 }}", 99]}`),
			),
			want: findings(
				want("nodes[0].config.headers.Host", "a", domain.NotAllowed, "must be left out: the gateway sets this header"),
				want("nodes[0].config.headers.x-a", "a", domain.Duplicate, "repeats the header X-A"),
				want("nodes[0].config.headers.X-B", "a", domain.BadText, "must not contain line breaks or other control characters"),
				want("nodes[0].config.url", "a", domain.BadFormat, "must begin with http:// or https:// and a host, as https://example.com/ does, or with an expression that gives them"),
				want("nodes[1].config.url", "b", domain.BadFormat, "must be an absolute http or https URL, such as https://example.com/orders"),
				want("nodes[1].config.query.a", "b", domain.WrongType, "must be a string, a number, a boolean or an array of such"),
				want("nodes[2].config.method", "c", domain.NotAllowed, `must be "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD" or "OPTIONS", not "FETCH"`),
				want("nodes[2].config.headers.A B", "c", domain.BadFormat, "must have the name of a header, such as X-Request-Source; a name holds no expressions"),
				want("nodes[2].config.expectStatus[1]", "c", domain.NotAllowed, `must be a status code from 100 to 599, or a range such as "200-299", not 99`),
			),
		},
		"templates that do not compile": {
			nodes: nodes(step("a", "httpRequest", `{"url": "https://x.test/{{ input.id", "headers": {"X-A": "{{ item }}"}, "body": [{"b": "{{ result }}"}]}`)),
			want: findings(
				want("nodes[0].config.body[0].b", "a", workflow.BadExpression, `must be a template that compiles: unknown name "result"`),
				want("nodes[0].config.headers.X-A", "a", workflow.BadExpression, `must be a template that compiles: unknown name "item"`),
				want("nodes[0].config.url", "a", workflow.BadExpression, "must be a template that compiles: {{ without }}"),
			),
		},
	})
}

func TestCheckBranches(t *testing.T) {
	a, b := step("a", "transform", passing), step("b", "transform", passing)
	cond := func(targets string) workflow.NodeDraft {
		return step("if", "condition", `{"condition": "input.x"`+targets+`}`)
	}
	runCheck(t, map[string]checkCase{
		"each branch has an edge":                        {nodes: nodes(cond(""), a, b), edges: edges(on("if", "true", "a"), on("if", "false", "b"))},
		"each branch has a target that an edge leads to": {nodes: nodes(cond(`, "trueBranch": "a", "falseBranch": "b"`), a, b), edges: edges(edge("if", "a"), edge("if", "b"))},
		"each branch has a target that an edge of the branch leads to": {
			nodes: nodes(cond(`, "trueBranch": "a", "falseBranch": "b"`), a, b), edges: edges(on("if", "true", "a"), on("if", "false", "b")),
		},
		"an edge without a key is taken on each branch": {nodes: nodes(cond(""), a), edges: edges(edge("if", "a"))},
		"so is one for success":                         {nodes: nodes(cond(""), a), edges: edges(on("if", "onSuccess", "a"))},
		"a branch that is meant to end":                 {nodes: nodes(cond(`, "falseBranch": null`), a), edges: edges(on("if", "true", "a"))},
		"a branch that leads nowhere ends there": {
			nodes: nodes(cond(`, "trueBranch": "a"`), a), edges: edges(edge("if", "a")),
		},
		"so does each branch of a node without edges": {nodes: nodes(cond(`, "trueBranch": ""`))},
		"cases that lead nowhere": {
			nodes: nodes(step("sw", "switch", `{"expression": "input.x", "cases": [{"value": "x", "nodeId": "a"}, {"value": "y"}, {"value": "z", "nodeId": null}]}`), a),
			edges: edges(edge("sw", "a")),
		},
		"a case that an earlier one hides": {
			nodes: nodes(step("sw", "switch", `{"expression": "input.x", "cases": [{"value": 1}, {"value": "1"}, {"value": 1.0}]}`), a), edges: edges(edge("sw", "a")),
			want: findings(want("nodes[0].config.cases[2].value", "sw", domain.Duplicate, "must differ from that of cases[0], which is chosen first")),
		},
		"a case of text hides the number and the boolean that are spelled so": {
			nodes: nodes(step("sw", "switch", `{"expression": "input.x", "cases": [{"value": "5"}, {"value": 5.0}, {"value": "true"}, {"value": true}, {"value": "null"}, {"value": null}]}`), a), edges: edges(edge("sw", "a")),
			want: findings(
				want("nodes[0].config.cases[1].value", "sw", domain.Duplicate, "must differ from that of cases[0], which is chosen first"),
				want("nodes[0].config.cases[3].value", "sw", domain.Duplicate, "must differ from that of cases[2], which is chosen first"),
			),
		},
		"a target that is no node": {
			nodes: nodes(cond(`, "trueBranch": "x"`), a), edges: edges(edge("if", "a")),
			want: findings(want("nodes[0].config.trueBranch", "if", workflow.UnknownNode, `must be the id of a node of this version; there is no "x"`)),
		},
		"a target that no edge leads to, or only on another branch": {
			nodes: nodes(step("sw", "switch", `{"expression": "input.x", "cases": [{"value": 1, "nodeId": "b"}], "defaultNode": "a"}`), a, b),
			edges: edges(on("sw", "case-0", "a"), edge("a", "b")),
			want: findings(
				want("nodes[0].config.cases[0].nodeId", "sw", workflow.MissingEdge, `names "b", so there must be an edge from "sw" to it for branch "case-0"`),
				want("nodes[0].config.defaultNode", "sw", workflow.MissingEdge, `names "a", so there must be an edge from "sw" to it for branch "default"; the one that is there bears the sourceOutputKey "case-0"`),
			),
		},
	})
}

func TestCheckTriggersAndReach(t *testing.T) {
	hook := workflow.AttachedTrigger{ID: "trg_hook", Name: "Hook", Type: "webhook"}
	clock := workflow.AttachedTrigger{ID: "trg_clock", Name: "Clock", Type: "schedule"}
	a := step("a", "transform", passing)
	runCheck(t, map[string]checkCase{
		"a trigger node that names its trigger": {
			nodes: nodes(step("t", "trigger_webhook", `{"_triggerId": "trg_hook"}`), a), edges: edges(edge("t", "a")),
			triggers: []workflow.AttachedTrigger{hook},
		},
		"a trigger node whose trigger may come later": {nodes: nodes(step("t", "trigger_schedule", `{}`), a), edges: edges(edge("t", "a"))},
		"a trigger that the version does not have": {
			nodes:    nodes(step("t", "trigger_webhook", `{"_triggerId": "trg_gone"}`), step("u", "trigger_schedule", `{"_triggerId": "trg_gone"}`)),
			triggers: []workflow.AttachedTrigger{hook},
			want: findings(
				want("nodes[0].config._triggerId", "t", workflow.UnknownTrigger, `must be the id of a trigger of this version; there is no "trg_gone"; it has "trg_hook"`),
				want("nodes[1].config._triggerId", "u", workflow.UnknownTrigger, `must be the id of a trigger of this version; there is no "trg_gone"; it has none of type "schedule"`),
			),
		},
		"a trigger of another type": {
			nodes: nodes(step("t", "trigger_webhook", `{"_triggerId": "trg_clock"}`)), triggers: []workflow.AttachedTrigger{clock},
			want: findings(want("nodes[0].config._triggerId", "t", workflow.WrongTriggerType, `must name a trigger of type "webhook"; "trg_clock" is of type "schedule"`)),
		},
		"a trigger that starts at another node": {
			nodes:    nodes(step("t", "trigger_webhook", `{"_triggerId": "trg_hook"}`), step("u", "trigger_webhook", `{"_triggerId": "trg_hook"}`)),
			triggers: []workflow.AttachedTrigger{hook},
			want:     findings(want("nodes[1].config._triggerId", "u", domain.Duplicate, `must not name a trigger that starts at another node: "trg_hook" starts at "t"`)),
		},
		"nodes that no trigger node leads to": {
			nodes: nodes(step("t", "trigger_webhook", `{}`), a, step("b", "transform", passing), step("c", "transform", passing)),
			edges: edges(edge("b", "c")),
			want: findings(
				want("nodes[1]", "a", workflow.UnreachableNode, `is never reached: no edge leads to it from "t", where runs start`),
				want("nodes[2]", "b", workflow.UnreachableNode, `is never reached: no edge leads to it from "t", where runs start`),
				want("nodes[3]", "c", workflow.UnreachableNode, `is never reached: no edge leads to it from "t", where runs start`),
			),
		},
		"a trigger without a node of its own starts at every node without an incoming edge": {
			nodes: nodes(step("t", "trigger_webhook", `{}`), a), triggers: []workflow.AttachedTrigger{clock},
		},
	})
}

func TestCheckNodeIDs(t *testing.T) {
	runCheck(t, map[string]checkCase{
		"a node may not bear the id of the payload in the context": {
			nodes: nodes(step("a", "transform", passing), step("input", "input", `{}`), step("Input", "transform", passing), step("inputs", "transform", passing)),
			edges: edges(edge("a", "input")),
			want:  findings(want("nodes[1].id", "input", domain.NotAllowed, `must be another one: the context of a run holds its payload under "input"`)),
		},
		"the other names of an expression are ids like any": {
			nodes: nodes(step("payload", "transform", passing), step("nodes", "transform", passing), step("run", "transform", passing), step("metadata", "transform", passing)),
		},
	})
}

func TestCheckReportsWhatNoDraftMayHave(t *testing.T) {
	node := func(id workflow.NodeID) workflow.Node {
		return workflow.Node{ID: id, Type: "transform", Version: "1.0.0", Config: domain.RestoreDocument(passing)}
	}
	g := workflow.RestoreGraph(
		[]workflow.Node{node("a"), node("b"), node("c"), node("c")},
		[]workflow.Edge{
			{ID: "edge_1", SourceNodeID: "b", TargetNodeID: "c"},
			{ID: "edge_2", SourceNodeID: "c", TargetNodeID: "b"},
			{ID: "edge_3", SourceNodeID: "a", TargetNodeID: "x"},
			{ID: "edge_4", SourceNodeID: "a", TargetNodeID: "a"},
		})
	expected := findings(
		want("nodes[3].id", "c", domain.Duplicate, `repeats the id "c" of nodes[2]; every node needs an id of its own`),
		want("edges[2].targetNodeId", "edge_3", workflow.UnknownNode, `must be the id of a node of this version; there is no "x"`),
		want("edges[3].targetNodeId", "edge_4", workflow.SelfEdge, `must differ from sourceNodeId; an edge cannot lead from "a" back to itself`),
		want("edges[1]", "edge_2", workflow.Cycle, "closes a cycle: b → c → b; a workflow only runs forward, so one of these edges has to go"),
		want("nodes[0]", "a", workflow.UnreachableNode, "is never reached: no edge leads to it from a node where a run starts"),
	)
	if diff := cmp.Diff(expected, workflow.Check(g, environment(t)).Details); diff != "" {
		t.Error(diff)
	}
}
