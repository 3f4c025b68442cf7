package workflow_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/workflow"
)

// in puts a node into the body of another.
func in(parent string, n workflow.NodeDraft) workflow.NodeDraft {
	n.Parent = workflow.NodeID(parent)
	return n
}

func blank(id string) workflow.NodeDraft { return workflow.NodeDraft{ID: workflow.NodeID(id)} }

// nested is a graph with a body in a body.
func nested(t *testing.T) workflow.Graph {
	t.Helper()
	return graph(t, nodes(
		in("inner", blank("deep")), in("outer", blank("inner")), blank("first"), in("outer", blank("one")), blank("outer"), in("outer", blank("two")), blank("last"),
	), edges(edge("first", "outer"), edge("one", "inner"), edge("inner", "two"), edge("outer", "last")))
}

func TestABodyIsWhatIsDirectlyInANode(t *testing.T) {
	g := nested(t)
	for of, want := range map[workflow.NodeID][]string{
		"":      {"first", "outer", "last", "first>outer", "outer>last"},
		"outer": {"inner", "one", "two", "one>inner", "inner>two"},
		"inner": {"deep"},
		"last":  nil,
	} {
		for name, body := range map[string]workflow.Graph{"of the whole": g.Body(of), "of another body": g.Body("outer").Body(of)} {
			if diff := cmp.Diff(want, content(body)); diff != "" {
				t.Errorf("the body of %q, %s: %s", of, name, diff)
			}
		}
	}
}

func content(g workflow.Graph) (all []string) {
	for _, n := range g.Nodes() {
		all = append(all, string(n.ID))
	}
	for _, e := range g.Edges() {
		all = append(all, string(e.SourceNodeID+">"+e.TargetNodeID))
	}
	return all
}

func TestRunsDoNotBeginInABody(t *testing.T) {
	g := nested(t)
	type starts struct{ roots, order, reached []workflow.NodeID }
	for name, tt := range map[string]struct {
		g    workflow.Graph
		from workflow.NodeID
		want starts
	}{
		"the whole": {g, "outer", starts{
			[]workflow.NodeID{"first"},
			[]workflow.NodeID{"first", "outer", "last", "one", "inner", "two", "deep"},
			[]workflow.NodeID{"deep", "inner", "one", "outer", "two", "last"},
		}},
		"a body": {g.Body("outer"), "one", starts{
			[]workflow.NodeID{"one"}, []workflow.NodeID{"one", "inner", "two"}, []workflow.NodeID{"inner", "one", "two"},
		}},
		"what is in none": {g.Body(""), "outer", starts{
			[]workflow.NodeID{"first"}, []workflow.NodeID{"first", "outer", "last"}, []workflow.NodeID{"outer", "last"},
		}},
	} {
		got := starts{tt.g.Roots(), tt.g.TopologicalOrder(), tt.g.Reachable(tt.from)}
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(starts{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestAnotherParentMakesAnotherGraph(t *testing.T) {
	g := nested(t)
	moved := g.Nodes()
	moved[0].Parent = "outer"
	if workflow.RestoreGraph(moved, g.Edges()).Equal(g) {
		t.Error("the graphs are equal")
	}
}

func TestNoGraphHasABodyLikeThat(t *testing.T) {
	for claim, tt := range map[string]struct {
		nodes []workflow.NodeDraft
		edges []workflow.EdgeDraft
		want  []domain.Violation
	}{
		"a parent that is not there, and edges that do not care": {
			nodes: nodes(in("gone", blank("a")), blank("b")), edges: edges(edge("a", "b")),
			want: []domain.Violation{{Field: "nodes[0].parentId", Code: workflow.UnknownNode, Message: `must be the id of a node of this version; there is no "gone"`}},
		},
		"nodes within themselves, once for each": {
			nodes: nodes(in("a", blank("a")), in("c", blank("b")), in("b", blank("c")), in("b", blank("d"))),
			want: []domain.Violation{
				{Field: "nodes[0].parentId", Code: workflow.Cycle, Message: `must not lead back to the node: a → a; move one of them out`},
				{Field: "nodes[1].parentId", Code: workflow.Cycle, Message: `must not lead back to the node: b → c → b; move one of them out`},
			},
		},
		"bodies four deep": {
			nodes: nodes(blank("a"), in("a", blank("b")), in("b", blank("c")), in("c", blank("d")), in("d", blank("e")), in("e", blank("f"))),
			want: []domain.Violation{
				{Field: "nodes[4].parentId", Code: workflow.TooDeep, Message: `must not nest deeper than 3; move the node out of "d"`},
			},
		},
		"edges that cross a border": {
			nodes: nodes(blank("a"), in("a", blank("b")), in("a", blank("c")), blank("d"), in("d", blank("e"))),
			edges: edges(edge("a", "b"), edge("b", "c"), edge("c", "d"), edge("c", "e")),
			want: []domain.Violation{
				{Field: "edges[0].targetNodeId", Code: workflow.CrossesBorder, Message: `must lead to a node with the same parentId: "a" is in none, and "b" is in the body of "a"; lead to or from the node whose body it is, or move one of them`},
				{Field: "edges[2].targetNodeId", Code: workflow.CrossesBorder, Message: `must lead to a node with the same parentId: "c" is in the body of "a", and "d" is in none; lead to or from the node whose body it is, or move one of them`},
				{Field: "edges[3].targetNodeId", Code: workflow.CrossesBorder, Message: `must lead to a node with the same parentId: "c" is in the body of "a", and "e" is in the body of "d"; lead to or from the node whose body it is, or move one of them`},
			},
		},
	} {
		t.Run(claim, func(t *testing.T) {
			_, err := newGraph(tt.nodes, tt.edges, counted())
			wantError(t, err, domain.Invalid, "version_invalid", tt.want...)
		})
	}
}

func TestAParentRunsOthers(t *testing.T) {
	const once = `{"items": "payload.list"}`
	runCheck(t, map[string]checkCase{
		"and no type does that is known to do something else": {
			nodes: nodes(step("a", "transform", passing), in("a", step("b", "transform", passing)), step("t", "teleport", ""), in("t", step("c", "transform", passing))),
			want: findings(
				want("nodes[1].parentId", "b", workflow.NotAContainer, `must be the id of a node that runs others, such as a forEach; "a" is of type "transform"`),
				want("nodes[2].type", "t", workflow.UnknownNodeType, `must name a node type of the registry; there is no "teleport"`),
			),
		},
		"and has some to run": {
			nodes: nodes(step("a", "forEach", once), step("b", "forEach", once), in("b", step("c", "transform", `{"expression": "item + index"}`))),
			want:  findings(want("nodes[0]", "a", workflow.EmptyBody, `has nothing to run for its items: give the nodes of its body the parentId "a"`)),
		},
		"and no run starts in a body": {
			nodes: nodes(step("a", "forEach", once), in("a", step("b", "trigger_webhook", `{"_triggerId": "trg_gone"}`)), in("a", step("c", "transform", passing))),
			want:  findings(want("nodes[1].parentId", "b", workflow.TriggerInBody, "must be left out: runs start at trigger nodes, and no run starts in a body")),
		},
		"and its body sees what leads to it, and is not seen": {
			nodes: nodes(
				step("first", "transform", passing), step("a", "forEach", once), step("last", "transform", `{"expression": "nodes.c"}`), step("apart", "transform", `{"expression": "item"}`),
				in("a", step("c", "transform", `{"expression": "nodes.first + nodes.apart"}`)), in("a", step("d", "forEach", `{"items": "nodes.c"}`)),
				in("d", step("e", "transform", `{"expression": "nodes.first + nodes.c + nodes.d"}`)),
			),
			edges: edges(edge("first", "a"), edge("a", "last"), when(edge("c", "d"), "item > index")),
			want: findings(
				want("nodes[2].config.expression", "last", workflow.NodeNotBefore, `must name nodes that lead here: at line 1, column 7, "c" is in the body of "a"; what its runs gave is in nodes.a.results`),
				want("nodes[3].config.expression", "apart", workflow.BadExpression, `must be an expression that compiles: unknown name "item"`),
				want("nodes[4].config.expression", "c", workflow.NodeNotBefore, `must name nodes that lead here: at line 1, column 21, "apart" does not, so it is never there`),
				want("nodes[6].config.expression", "e", workflow.NodeNotBefore, `must name nodes that lead here: at line 1, column 31, "d" does not, so it is never there`),
			),
		},
	})
}

func TestADraftWithABodyThatNothingRunsIsNotRun(t *testing.T) {
	ver, err := workflow.NewVersion("wfv_1", workflow.Restore(workflow.State{ID: "wf_1"}), 1, workflow.VersionDraft{
		Nodes: nodes(step("a", "transform", passing), in("a", step("b", "transform", passing))),
	}, counted(), morning)
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, ver.CheckRunnable(registry(t)), domain.Invalid, "version_not_runnable", domain.Violation{
		Field: "nodes[1].parentId", Code: workflow.NotAContainer, Message: `must be the id of a node that runs others, such as a forEach; "a" is of type "transform"`,
	})
}

func TestChecksEndWhereBodiesLieWithinThemselves(t *testing.T) {
	g := workflow.RestoreGraph([]workflow.Node{
		workflow.Node(in("b", step("a", "transform", passing))), workflow.Node(in("a", step("b", "transform", passing))),
	}, []workflow.Edge{{ID: "edge_1", SourceNodeID: "a", TargetNodeID: "b"}})
	found := workflow.Check(g, environment(t)).Details
	if !slices.ContainsFunc(found, func(f workflow.Finding) bool { return f.Code == workflow.Cycle }) {
		t.Errorf("found %v", found)
	}
}
