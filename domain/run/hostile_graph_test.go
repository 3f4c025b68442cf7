package run_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/workflow"
)

// hostileRun is a workflow, what it is started with, and what the world answers, all of
// it chosen by somebody who means harm.
type hostileRun struct {
	nodes    []workflow.Node
	edges    []workflow.Edge
	payload  json.RawMessage
	answers  map[workflow.NodeID]json.RawMessage // of attempts
	failures map[workflow.NodeID]int             // attempts that fail before
	brought  json.RawMessage                     // the data of events and answers of people
	forgets  bool                                // it is read anew after every step
}

// elements are small as text and larger as values.
var elements = []string{`[]`, `{}`, `{"":0}`, `0`, `1.5`, `""`, `null`, `"abc"`, `[[[[[[[[]]]]]]]]`, `{"a":{"b":{"c":[]}}}`, `0.` + strings.Repeat("7", 5000)}

// texts are made once, since drawing them again would take most of the time.
var texts = map[string]json.RawMessage{}

// listOf is an array of about as many bytes of one element.
func listOf(element string, length int) json.RawMessage {
	key := fmt.Sprint(element, " ", length)
	if texts[key] == nil {
		elements := strings.Repeat(element+",", length/(len(element)+1))
		texts[key] = json.RawMessage("[" + strings.TrimSuffix(elements, ",") + "]")
	}
	return texts[key]
}

// drawList draws an array of up to 600 kB.
func drawList(t *rapid.T) json.RawMessage {
	return listOf(rapid.SampledFrom(elements).Draw(t, "element"), rapid.SampledFrom([]int{0, 10, 1000, 30_000, 200_000, 600_000}).Draw(t, "length"))
}

// drawPayload draws an object with a list, a text, a number and something deep.
func drawPayload(t *rapid.T) json.RawMessage {
	size := rapid.SampledFrom([]int{1, 100, 10_000, 200_000})
	deep := rapid.IntRange(0, 60).Draw(t, "depth")
	return fmt.Appendf(nil, `{"l":%s,"s":"%s","n":0.%s,"o":%s%s,"c":%d}`, drawList(t), strings.Repeat("x", size.Draw(t, "text")),
		strings.Repeat("7", size.Draw(t, "digits")), strings.Repeat(`{"o":`, deep), "1"+strings.Repeat("}", deep), rapid.IntRange(0, 2).Draw(t, "case"))
}

// grammar composes expressions.
type grammar struct {
	t      *rapid.T
	of     int  // the node's number: it may read those below
	copies bool // it keeps copies of the payload
}

func (g grammar) pick(options ...string) string {
	return rapid.SampledFrom(options).Draw(g.t, "expression")
}

// leaf reads something that is there.
func (g grammar) leaf() string {
	if g.of > 0 && rapid.IntRange(0, 3).Draw(g.t, "leaf") == 0 {
		return "nodes." + name(rapid.IntRange(0, g.of-1).Draw(g.t, "node"))
	}
	return g.pick("payload", "payload.l", "payload.l", "payload.l", "payload.s", "payload.n", "payload.o", "payload.c", "input", "input?.l", "nodes", "1", `"x"`, "null", "now()")
}

// list composes something that is mostly an array.
func (g grammar) list(depth int) string {
	if depth <= 0 {
		return g.pick("payload.l", "input", "[]", "[payload.l]")
	}
	inner := g.list(depth - 1)
	switch rapid.IntRange(0, 7).Draw(g.t, "list") {
	case 0:
		return inner + ".map(x => " + g.pick("x", "[x, x]", "({x})", "payload.n > x", "[payload.l]", "payload.l", "String(x)", "payload.s + x") + ")"
	case 1:
		return inner + ".filter(x => " + g.pick("true", "x", "payload.n > 1", "payload.l.length > 1") + ")"
	case 2:
		return "[..." + inner + ", ..." + inner + "]"
	case 3:
		return inner + ".concat(" + g.any(depth-1) + ")"
	case 4:
		return "[" + g.any(depth-1) + ", " + g.any(depth-1) + "]"
	case 5:
		return g.pick("Object.entries(payload)", "Object.values(nodes)", `payload.s.split("")`, "payload.l.flatMap(x => [x, x])", "payload.l.slice(1)")
	default:
		return inner
	}
}

// any composes an expression of any type.
func (g grammar) any(depth int) string {
	if depth <= 0 {
		return g.leaf()
	}
	switch rapid.IntRange(0, 9).Draw(g.t, "any") {
	case 0, 1:
		return g.list(depth - 1)
	case 2, 3:
		return "({i: 1, l: " + g.any(depth-1) + "})"
	case 4:
		return "({..." + g.any(depth-1) + ", k: " + g.any(depth-1) + "})"
	case 5:
		return "`${" + g.any(depth-1) + "}${" + g.leaf() + "}`"
	case 6:
		return g.pick("JSON.stringify(", "String(", "Number(") + g.any(depth-1) + ")"
	case 7:
		return g.list(depth-1) + ".reduce((a, x) => " + g.pick("a + 1", "[a, x]", "[...a, x]", "a + payload.s", "payload.n + a") + ", " + g.pick("0", "[]", `""`) + ")"
	case 8:
		return "(" + g.any(depth-1) + " " + g.pick("+", "-", "===", "<", "&&", "||", "??") + " " + g.any(depth-1) + ")"
	default:
		return g.leaf()
	}
}

func (g grammar) expression() string { return g.any(rapid.IntRange(0, 4).Draw(g.t, "depth")) }

// drawConfig draws a node of a kind.
func (g grammar) drawConfig(kind string) map[string]any {
	switch kind {
	case "condition":
		return map[string]any{"condition": g.expression(), "trueBranch": "", "falseBranch": ""}
	case "switch":
		return map[string]any{"expression": g.pick("payload.c", g.expression()), "cases": []any{map[string]any{"value": 0}, map[string]any{"value": 1}}}
	case "httpRequest":
		template := func() string { return "a {{ " + g.expression() + " }}" }
		return map[string]any{
			"url": "https://example.com/" + g.pick("", "{{ payload.c }}", "{{ payload.s }}"), "method": "POST",
			"headers": map[string]any{"x-value": template()}, "query": map[string]any{"q": template()},
			"body": map[string]any{"whole": "{{ " + g.expression() + " }}", "all": []any{template(), "{{ nodes }}", "{{ payload }}"}},
		}
	case "wait":
		return map[string]any{"delayMs": rapid.IntRange(0, 5000).Draw(g.t, "delay")}
	case "input":
		return map[string]any{"inputType": "text", "timeoutMs": 60_000}
	case "waitForEvent":
		return map[string]any{"event": "paid", "timeoutMs": 60_000}
	}
	switch how := rapid.SampledFrom([]string{"expression", "expression", "expression", "map", "filter", "reduce", "mapping"}).Draw(g.t, "transform"); how {
	case "mapping":
		return map[string]any{"mapping": map[string]any{"a": g.expression(), "b": map[string]any{"c": g.expression()}}}
	case "expression":
		if g.copies {
			return map[string]any{"expression": g.pick("({i: 1, l: payload.l})", "({i: 2, l: payload.l})", "({i: 3, l: payload.l})", "Object.values(nodes).length", "payload.l")}
		}
		return map[string]any{"transformType": how, "expression": g.expression()}
	case "reduce":
		return map[string]any{"transformType": how, "source": g.list(2), "initial": nil, "expression": "(a, x) => " + g.pick("[a, x]", "x", "[x, payload.l]", "payload.n")}
	default:
		return map[string]any{"transformType": how, "source": g.list(2), "expression": "x => " + g.pick("x", "[x, x]", "payload.n > x", "payload.l", "({x, l: payload.l})")}
	}
}

// drawHostileRun draws a graph of up to thirty nodes. Nodes lead to nodes with a greater
// number only.
func drawHostileRun(t *rapid.T) *hostileRun {
	kinds := []string{"transform", "transform", "transform", "transform", "condition", "switch", "httpRequest", "httpRequest", "call", "wait", "input", "waitForEvent"}
	h := &hostileRun{
		payload: drawPayload(t), answers: map[workflow.NodeID]json.RawMessage{}, failures: map[workflow.NodeID]int{},
		forgets: rapid.Bool().Draw(t, "forgets"), brought: json.RawMessage(`"yes"`),
	}
	copies := rapid.IntRange(0, 3).Draw(t, "copies") == 0
	if copies {
		kinds = kinds[:1]
		h.payload = fmt.Appendf(nil, `{"l":%s,"n":1,"s":"x","c":1}`, listOf(rapid.SampledFrom(elements).Draw(t, "element"), 900_000))
	}
	if rapid.Bool().Draw(t, "brings much") {
		h.brought = drawList(t)
	}
	for i := range rapid.IntRange(1, 30).Draw(t, "nodes") {
		id, kind := workflow.NodeID(name(i)), rapid.SampledFrom(kinds).Draw(t, "kind")
		config := map[string]any{}
		if kind != "call" {
			config = grammar{t, i, copies}.drawConfig(kind)
		}
		switch kind {
		case "call":
			h.answers[id] = drawList(t)
		case "httpRequest":
			h.answers[id] = fmt.Appendf(nil, `{"status":200,"headers":{},"body":%s}`, drawList(t))
		}
		h.failures[id] = rapid.SampledFrom([]int{0, 0, 0, 1, 9}).Draw(t, "failures")
		h.nodes = append(h.nodes, workflow.Node{ID: id, Type: kind, Version: "1.0.0", Name: string(id), Config: domain.RestoreDocument(text(config))})
		h.drawEdges(t, i)
	}
	return h
}

// drawEdges draws what leads to a node.
func (h *hostileRun) drawEdges(t *rapid.T, to int) {
	for range min(to, rapid.SampledFrom([]int{0, 1, 1, 1, 2, 3}).Draw(t, "edges")) {
		from := rapid.IntRange(max(0, to-4), to-1).Draw(t, "source")
		keys := []string{"", "", "", workflow.OnError, workflow.OnSuccess, "l", "body"}
		switch h.nodes[from].Type {
		case "condition":
			keys = []string{"true", "false", ""}
		case "switch":
			keys = []string{"case-0", "case-1", "default"}
		}
		key, into, condition := rapid.SampledFrom(keys).Draw(t, "key"), rapid.SampledFrom([]string{"", "", "", "k", "m"}).Draw(t, "into"), ""
		if rapid.IntRange(0, 4).Draw(t, "guarded") == 0 {
			g := grammar{t: t, of: to}
			condition = g.pick("result", "payload.n > 0", "true", g.expression())
		}
		h.edges = append(h.edges, workflow.Edge{
			ID: workflow.EdgeID(fmt.Sprint("edge_", len(h.edges))), SourceNodeID: h.nodes[from].ID, TargetNodeID: h.nodes[to].ID,
			SourceOutputKey: &key, TargetInputKey: &into, Condition: &condition,
		})
	}
}
