package workflow_test

import (
	"testing"

	"github.com/sluicehq/sluice/domain/workflow"
)

func TestCheckTheNodesThatExpressionsName(t *testing.T) {
	unknown := func(field, id, at, name string) workflow.Finding {
		return want(field, id, workflow.UnknownNode, "must name nodes of the version, as nodes.<id>: at "+at+`, there is no node "`+name+`"`)
	}
	unseen := func(field, id, at, name string) workflow.Finding {
		return want(field, id, workflow.NodeNotBefore, "must name nodes that lead here: at "+at+`, "`+name+`" does not, so it is never there`)
	}
	runCheck(t, map[string]checkCase{
		"those before, and what is computed": {
			nodes: nodes(
				step("a", "transform", `{"expression": "payload"}`), step("b", "transform", `{"expression": "nodes.a.x"}`),
				step("c", "transform", `{"mapping": {"before": "nodes.a"}}`),
				step("d", "httpRequest", `{"url": "https://x.test/{{ nodes.a.x }}/{{ nodes.c }}", "body": "{{ nodes[payload.zzz] }}"}`),
			),
			edges: edges(edge("a", "b"), edge("a", "c"), when(edge("b", "d"), "nodes.b.ok"), when(edge("c", "d"), "nodes.a.ok")),
		},
		"nodes that there are none of": {
			nodes: nodes(
				step("a", "transform", `{"expression": "nodes.zzz.x"}`),
				step("b", "transform", `{"mapping": {"x": {"y": "1 + nodes.zzz"}}}`),
				step("c", "httpRequest", `{"url": "https://x.test/{{ nodes.yyy.x }}", "headers": {"X-A": "{{ nodes.zzz }}"}}`),
				step("d", "transform", `{"transformType": "map", "source": "nodes.zzz", "expression": "x => nodes.zzz"}`),
			),
			edges: edges(when(edge("a", "b"), "nodes.zzz.ok"), edge("b", "c"), edge("c", "d")),
			want: findings(
				unknown("nodes[0].config.expression", "a", "line 1, column 7", "zzz"),
				unknown("nodes[1].config.mapping.x.y", "b", "line 1, column 11", "zzz"),
				unknown("nodes[2].config.headers.X-A", "c", "line 1, column 8", "zzz"),
				unknown("nodes[2].config.url", "c", "line 1, column 8", "yyy"),
				unknown("nodes[3].config.source", "d", "line 1, column 7", "zzz"),
				unknown("nodes[3].config.expression", "d", "line 1, column 8", "zzz"),
				unknown("edges[0].condition", "edge_1", "line 1, column 7", "zzz"),
			),
		},
		"nodes that lead nowhere near": {
			nodes: nodes(
				step("a", "transform", `{"expression": "nodes.a"}`), step("b", "transform", `{"expression": "nodes.c"}`),
				step("c", "transform", `{"expression": "nodes.a"}`),
			),
			edges: edges(when(edge("a", "b"), "nodes.b"), when(edge("b", "c"), "nodes.b")),
			want: findings(
				unseen("nodes[0].config.expression", "a", "line 1, column 7", "a"),
				unseen("nodes[1].config.expression", "b", "line 1, column 7", "c"),
				unseen("edges[0].condition", "edge_1", "line 1, column 7", "b"),
			),
		},
		"nodes beside": {
			nodes: nodes(
				step("a", "transform", `{"expression": "payload"}`), step("b", "transform", `{"expression": "payload"}`),
				step("c", "transform", `{"mapping": {"beside": "nodes.b.x", "before": "nodes.a"}}`), step("d", "transform", `{"expression": "nodes.b"}`),
			),
			edges: edges(edge("a", "b"), edge("a", "c"), edge("b", "d"), when(edge("c", "d"), "nodes.b.ok")),
			want: findings(
				unseen("nodes[2].config.mapping.beside", "c", "line 1, column 7", "b"),
				unseen("edges[3].condition", "edge_4", "line 1, column 7", "b"),
			),
		},
	})
}
