package workflow_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/workflow"
)

func TestGraphGivesBackWhatWasSent(t *testing.T) {
	draft := workflow.NodeDraft{
		ID: "a", Type: "no such type", Version: "x", Name: "A", Description: pointer(""),
		Config:       domain.RestoreDocument(`{"b":1.50, "a":{}}`),
		InputSchema:  domain.RestoreDocument(`{"x" : 1}`),
		OutputSchema: domain.RestoreDocument(`{"y" : 2}`),
		Position:     workflow.Position{X: -1.5, Y: 2},
	}
	full := workflow.EdgeDraft{
		SourceNodeID: "a", TargetNodeID: "b", Condition: pointer("not checked yet ("), Label: pointer("l"),
		SourceOutputKey: pointer("o"), TargetInputKey: pointer("i"),
	}
	g := graph(t, nodes(draft, workflow.NodeDraft{ID: "b"}), edges(full, edge("a", "b")))
	wantNodes := []workflow.Node{workflow.Node(draft), {ID: "b"}}
	wantEdges := []workflow.Edge{
		{
			ID: "edge_1", SourceNodeID: "a", TargetNodeID: "b", Condition: pointer("not checked yet ("), Label: pointer("l"),
			SourceOutputKey: pointer("o"), TargetInputKey: pointer("i"),
		},
		{ID: "edge_2", SourceNodeID: "a", TargetNodeID: "b"},
	}
	documents := cmp.Comparer(func(a, b domain.Document) bool { return a == b })
	if diff := cmp.Diff(wantNodes, g.Nodes(), documents); diff != "" {
		t.Errorf("nodes: %s", diff)
	}
	if diff := cmp.Diff(wantEdges, g.Edges()); diff != "" {
		t.Errorf("edges: %s", diff)
	}
	if restored := workflow.RestoreGraph(g.Nodes(), g.Edges()); !restored.Equal(g) {
		t.Error("restored from its own nodes and edges, it is another graph")
	}
}

func TestNewGraphRefuses(t *testing.T) {
	long := strings.Repeat("x", 256)
	blank := func(ids ...workflow.NodeID) (out []workflow.NodeDraft) {
		for _, id := range ids {
			out = append(out, workflow.NodeDraft{ID: id})
		}
		return out
	}
	tests := map[string]struct {
		nodes []workflow.NodeDraft
		edges []workflow.EdgeDraft
		want  []domain.Violation
	}{
		"ids that are missing, too long or repeat": {
			nodes: blank("a", "", workflow.NodeID(long), "a"),
			want: []domain.Violation{
				{Field: "nodes[1].id", Message: "must not be empty", Code: domain.Required},
				{Field: "nodes[2].id", Message: "must be at most 255 characters long, not 256", Code: domain.TooLong},
				{Field: "nodes[3].id", Message: `repeats the id "a" of nodes[0]; every node needs an id of its own`, Code: domain.Duplicate},
			},
		},
		"texts of a node that are too long": {
			nodes: nodes(workflow.NodeDraft{ID: "a", Type: long, Version: long, Name: long, Description: pointer(strings.Repeat("x", 1001))}),
			want: []domain.Violation{
				{Field: "nodes[0].type", Message: "must be at most 255 characters long, not 256", Code: domain.TooLong},
				{Field: "nodes[0].version", Message: "must be at most 255 characters long, not 256", Code: domain.TooLong},
				{Field: "nodes[0].name", Message: "must be at most 255 characters long, not 256", Code: domain.TooLong},
				{Field: "nodes[0].description", Message: "must be at most 1000 characters long, not 1001", Code: domain.TooLong},
			},
		},
		"a position that is nowhere": {
			nodes: nodes(workflow.NodeDraft{ID: "a", Position: workflow.Position{X: math.NaN(), Y: math.Inf(-1)}}),
			want: []domain.Violation{
				{Field: "nodes[0].position.x", Message: "must be a finite number, not NaN", Code: domain.BadFormat},
				{Field: "nodes[0].position.y", Message: "must be a finite number, not -Inf", Code: domain.BadFormat},
			},
		},
		"attempts that are out of bounds": {
			nodes: nodes(
				workflow.NodeDraft{ID: "a", Timeout: new(time.Duration(0)), Retry: &workflow.RetryPolicy{MaxRetries: 11, Backoff: 99 * time.Millisecond, MaxBackoff: 999 * time.Millisecond}},
				workflow.NodeDraft{ID: "b", Timeout: new(5*time.Minute + time.Millisecond), Retry: &workflow.RetryPolicy{MaxRetries: -1, Backoff: 2 * time.Second, MaxBackoff: time.Second}},
				workflow.NodeDraft{ID: "c", Timeout: new(5 * time.Minute), Retry: &workflow.RetryPolicy{MaxRetries: 10, Backoff: time.Second, MaxBackoff: time.Second}},
			),
			want: []domain.Violation{
				{Field: "nodes[0].timeoutMs", Message: "must be at least 1, not 0", Code: domain.TooSmall},
				{Field: "nodes[0].retryPolicy.maxRetries", Message: "must be at most 10, not 11", Code: domain.TooLarge},
				{Field: "nodes[0].retryPolicy.backoffMs", Message: "must be at least 100, not 99", Code: domain.TooSmall},
				{Field: "nodes[0].retryPolicy.maxBackoffMs", Message: "must be at least 1000, not 999", Code: domain.TooSmall},
				{Field: "nodes[1].timeoutMs", Message: "must be at most 300000, not 300001", Code: domain.TooLarge},
				{Field: "nodes[1].retryPolicy.maxRetries", Message: "must be at least 0, not -1", Code: domain.TooSmall},
				{Field: "nodes[1].retryPolicy.maxBackoffMs", Message: "must be at least backoffMs, which is 2000, not 1000", Code: domain.TooSmall},
			},
		},
		"edges that dangle": {
			nodes: blank("a"),
			edges: edges(edge("x", "a"), edge("a", "y"), edge("", "a")),
			want: []domain.Violation{
				{Field: "edges[0].sourceNodeId", Message: `must be the id of a node of this version; there is no "x"`, Code: workflow.UnknownNode},
				{Field: "edges[1].targetNodeId", Message: `must be the id of a node of this version; there is no "y"`, Code: workflow.UnknownNode},
				{Field: "edges[2].sourceNodeId", Message: "must not be empty; it names a node of this version", Code: domain.Required},
			},
		},
		"an edge to itself": {
			nodes: blank("a"),
			edges: edges(edge("a", "a")),
			want: []domain.Violation{{
				Field: "edges[0].targetNodeId", Message: `must differ from sourceNodeId; an edge cannot lead from "a" back to itself`, Code: workflow.SelfEdge,
			}},
		},
		"texts of an edge that are too long": {
			nodes: blank("a", "b"),
			edges: edges(workflow.EdgeDraft{
				SourceNodeID: "a", TargetNodeID: "b", Condition: pointer(strings.Repeat("x", 65537)),
				Label: &long, SourceOutputKey: &long, TargetInputKey: &long,
			}),
			want: []domain.Violation{
				{Field: "edges[0].condition", Message: "must be at most 65536 characters long, not 65537", Code: domain.TooLong},
				{Field: "edges[0].label", Message: "must be at most 255 characters long, not 256", Code: domain.TooLong},
				{Field: "edges[0].sourceOutputKey", Message: "must be at most 255 characters long, not 256", Code: domain.TooLong},
				{Field: "edges[0].targetInputKey", Message: "must be at most 255 characters long, not 256", Code: domain.TooLong},
			},
		},
		"an edge that is there already, whether a key is absent or empty": {
			nodes: blank("a", "b"),
			edges: edges(on("a", "x", "b"), edge("a", "b"), on("a", "", "b")),
			want:  []domain.Violation{{Field: "edges[2]", Message: "is the same as edges[1]; remove one of them", Code: domain.Duplicate}},
		},
		"every cycle, each with its nodes, at the edge that closes it": {
			nodes: blank("a", "b", "c", "d", "e"),
			edges: edges(edge("b", "a"), edge("a", "b"), edge("b", "c"), edge("c", "d"), edge("d", "e"), edge("e", "c")),
			want: []domain.Violation{
				{Field: "edges[0]", Message: "closes a cycle: a → b → a; a workflow only runs forward, so one of these edges has to go", Code: workflow.Cycle},
				{Field: "edges[5]", Message: "closes a cycle: c → d → e → c; a workflow only runs forward, so one of these edges has to go", Code: workflow.Cycle},
			},
		},
		"more nodes than there may be, without a word on each": {
			nodes: make([]workflow.NodeDraft, 501),
			edges: edges(edge("a", "b")),
			want:  []domain.Violation{{Field: "nodes", Message: "must hold at most 500 nodes, not 501", Code: domain.TooLong}},
		},
		"more edges than there may be, without a word on each": {
			nodes: blank("a", "a"),
			edges: make([]workflow.EdgeDraft, 2001),
			want: []domain.Violation{
				{Field: "nodes[1].id", Message: `repeats the id "a" of nodes[0]; every node needs an id of its own`, Code: domain.Duplicate},
				{Field: "edges", Message: "must hold at most 2000 edges, not 2001", Code: domain.TooLong},
			},
		},
	}
	for claim, tt := range tests {
		t.Run(claim, func(t *testing.T) {
			_, err := newGraph(tt.nodes, tt.edges, counted())
			wantError(t, err, domain.Invalid, "version_invalid", tt.want...)
		})
	}
}

func TestNewGraphAcceptsTheGreatestGraph(t *testing.T) {
	n, e := chainOf(500)
	for i := range 1501 { // to 2000 edges, without a cycle and none twice
		e = append(e, on("n0", fmt.Sprint(i), "n499"))
	}
	g := graph(t, n, e)
	if len(g.Nodes()) != 500 || len(g.Edges()) != 2000 {
		t.Errorf("%d nodes and %d edges", len(g.Nodes()), len(g.Edges()))
	}
}

func TestALongCycleIsNamedInBrief(t *testing.T) {
	n, e := chainOf(500)
	_, err := newGraph(n, append(e, edge("n499", "n0")), counted())
	want := "closes a cycle: n0 → n1 → n2 → n3 → n4 → … (491 more) → n496 → n497 → n498 → n499 → n0;" +
		" a workflow only runs forward, so one of these edges has to go"
	wantError(t, err, domain.Invalid, "version_invalid", domain.Violation{Field: "edges[499]", Message: want, Code: workflow.Cycle})
}

func chainOf(length int) (n []workflow.NodeDraft, e []workflow.EdgeDraft) {
	for i := range length {
		n = append(n, workflow.NodeDraft{ID: workflow.NodeID(fmt.Sprintf("n%d", i))})
		if i > 0 {
			e = append(e, edge(fmt.Sprintf("n%d", i-1), fmt.Sprintf("n%d", i)))
		}
	}
	return n, e
}

func TestGraphQueries(t *testing.T) {
	// d and c are written before a, which leads to them: a → b → d, a → c → d, and e alone.
	g := graph(t,
		nodes(step("d", "", ""), step("c", "", ""), step("b", "", ""), step("a", "", ""), step("e", "", "")),
		edges(edge("b", "d"), edge("a", "c"), edge("c", "d"), edge("a", "b")))
	got := []any{
		g.Roots(), g.TopologicalOrder(),
		g.Reachable("c"), g.Reachable("a"), g.Reachable("x", "e"),
	}
	want := []any{
		[]workflow.NodeID{"a", "e"}, []workflow.NodeID{"a", "e", "c", "b", "d"},
		[]workflow.NodeID{"d", "c"}, []workflow.NodeID{"d", "c", "b", "a"}, []workflow.NodeID{"e"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestGraphNeverChanges(t *testing.T) {
	n := nodes(workflow.NodeDraft{ID: "a", Description: pointer("d")}, workflow.NodeDraft{ID: "b"})
	e := edges(when(edge("a", "b"), "c"))
	g := graph(t, n, e)
	before := workflow.RestoreGraph(g.Nodes(), g.Edges())
	*n[0].Description, *e[0].Condition = "outside", "outside"
	*g.Nodes()[0].Description, g.Nodes()[1].ID = "outside", "outside"
	*g.Edges()[0].Condition = "outside"
	if !g.Equal(before) {
		t.Errorf("is %+v now", g.Nodes())
	}
	if g.Equal(workflow.RestoreGraph(g.Nodes(), nil)) || g.Equal(workflow.RestoreGraph(nil, g.Edges())) {
		t.Error("equals a graph that lacks its nodes or its edges")
	}
}
