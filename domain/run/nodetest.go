package run

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/workflow"
)

// NodeTestCall asks for one node of a version to be executed.
type NodeTestCall struct {
	Input   json.RawMessage                     // what flows into it, any JSON value; nil for what Nodes bring
	Nodes   map[workflow.NodeID]json.RawMessage // what others gave
	Payload json.RawMessage                     // of the run; nil when absent, which counts as {}

	// Of a node in a body, whose run is for one item of the innermost:
	Item  json.RawMessage // any JSON value; nil when absent, which counts as null
	Index *int            // its place; nil when absent, which counts as 0

	Malformed []domain.Violation
}

// Check returns what is wrong with the call for a node of a graph, as [Call.Check] does.
func (c NodeTestCall) Check(g workflow.Graph, of workflow.NodeID) error {
	var r domain.Rules
	r.Add(c.Malformed...)
	checkJSON(&r, c.Input, "input")
	checkJSON(&r, c.Payload, "payload")
	c.checkItem(&r, g, of)
	known := make(map[workflow.NodeID]bool)
	for _, n := range g.Nodes() {
		known[n.ID] = true
	}
	for _, id := range slices.Sorted(maps.Keys(c.Nodes)) {
		field := domain.Member("nodes", string(id))
		checkJSON(&r, c.Nodes[id], field)
		r.Check(known[id], field, domain.Unknown, "must be for a node of this version; there is no such node")
	}
	return r.Err(callInvalid, callInvalidMessage)
}

// checkItem checks what only a node in a body can be tested with.
func (c NodeTestCall) checkItem(r *domain.Rules, g workflow.Graph, of workflow.NodeID) {
	tested, _ := g.Node(of)
	const elsewhere = "must be left out: the node is in the body of no other one"
	r.Check(c.Item == nil || tested.Parent != "", "item", domain.NotAllowed, elsewhere)
	checkJSON(r, c.Item, "item")
	if c.Index == nil {
		return
	}
	r.Check(tested.Parent != "", "index", domain.NotAllowed, elsewhere)
	r.Check(*c.Index >= 0, "index", domain.TooSmall, "must be at least 0, not %d", *c.Index)
	r.Check(*c.Index < MaxItems, "index", domain.TooLarge, "must be at most %d, not %d", MaxItems-1, *c.Index)
}

// With takes the version's sample data for nodes that the call has nothing of.
func (c NodeTestCall) With(pinned iter.Seq2[workflow.NodeID, json.RawMessage]) NodeTestCall {
	given := c.Nodes
	c.Nodes = maps.Collect(pinned)
	maps.Copy(c.Nodes, given)
	return c
}

// CheckTestable says why a node is not tested: Invalid with the code node_not_testable, of one
// that does nothing itself. A type that is not known fails in the test.
func CheckTestable(n workflow.Node, types Types) error {
	kind, known := planner{types: types}.lookup(n)
	why := ""
	switch {
	case !known || !kind.BuiltIn:
	case kind.RunsBody:
		why = "A node of type %s runs other nodes, and does nothing itself. Test the nodes in its body, or run the version."
	case kind.StartsRun:
		why = "A node of type %s starts a run of another workflow, and does nothing itself. Start that one, or run the version."
	case kind.CanPause:
		why = "A node of type %s only waits, and does nothing itself. Say in pins what it gives, or run the version."
	}
	if why == "" {
		return nil
	}
	return domain.Fail(domain.Invalid, "node_not_testable", why, kind.Type)
}

// NodeTest is a run in which one node begins, and nothing after it. It takes part in nothing else:
// no store keeps it. Its graph is what the node and those that lead to it are.
type NodeTest struct {
	Run   *Run
	Graph workflow.Graph
	node  workflow.NodeID
}

// NewNodeTest puts a run of the version's graph to where a node is next: the run of an item where the
// node is in a body. Of the nodes that lead to it those count as completed that the call has something
// of, with all of their edges taken. Where none of them has an edge to the node, the call's item, or
// else its payload, flows into it unless the call says what does. An attempt is made once.
func NewNodeTest(id ID, s Start, g workflow.Graph, of workflow.NodeID, c NodeTestCall, now time.Time) NodeTest {
	if s.Payload = c.Payload; len(s.Payload) == 0 {
		s.Payload = json.RawMessage("{}")
	}
	t := NodeTest{Run: New(id, s, now), node: of}
	o := &t.Run.state.Origin
	tested, _ := g.Node(of)
	if tested.Parent != "" {
		o.isItemOf(tested.Parent, c)
	}
	given := givenTo(g, of, c.Nodes)
	input := c.Input
	var nodes []workflow.Node
	var edges []workflow.Edge
	for _, e := range g.Edges() {
		if _, brings := given[e.SourceNodeID]; brings && e.TargetNodeID == of && input == nil {
			edges = append(edges, e)
		}
	}
	if len(edges) == 0 && input == nil {
		input = o.given(o.placeOfInput())
	}
	for _, n := range g.Nodes() {
		_, before := given[n.ID]
		switch {
		case n.ID == of:
			n.Retry = &workflow.RetryPolicy{}
		case !slices.ContainsFunc(edges, func(e workflow.Edge) bool { return e.SourceNodeID == n.ID }):
			n = workflow.Node{ID: n.ID} // only what it gave matters
		}
		n.Parent = tested.Parent // those around the body are as those in it that lead to the node
		if before || n.ID == of {
			nodes = append(nodes, n)
		}
	}
	var entrance workflow.NodeID // where what leads to the node without an edge to it comes in
	if input != nil {
		entrance = unusedID(g, workflow.RootInput)
		given[entrance] = input
		nodes = append(nodes, workflow.Node{ID: entrance, Parent: tested.Parent})
		edges = []workflow.Edge{{SourceNodeID: entrance, TargetNodeID: of}}
	} else {
		entrance = edges[0].SourceNodeID
	}
	for _, n := range nodes {
		if n.ID != of && n.ID != entrance {
			edges = append(edges, workflow.Edge{SourceNodeID: n.ID, TargetNodeID: entrance})
		}
	}
	t.Graph = workflow.RestoreGraph(nodes, edges)
	t.Run.beginAt(nodes, of, given, truncated(now))
	return t
}

// isItemOf makes the run of a test that of an item of a node.
func (o *Origin) isItemOf(loop workflow.NodeID, c NodeTestCall) {
	o.Cause, o.ParentNode, o.Item = CauseItem, loop, c.Item
	if len(o.Item) == 0 {
		o.Item = json.RawMessage("null")
	}
	if c.Index != nil {
		o.Index = *c.Index
	}
}

// givenTo are the outputs that the node may look at.
func givenTo(g workflow.Graph, of workflow.NodeID, outputs map[workflow.NodeID]json.RawMessage) map[workflow.NodeID]json.RawMessage {
	around := make(map[workflow.NodeID]bool)
	parents := make(map[workflow.NodeID]workflow.NodeID)
	for _, n := range g.Nodes() {
		parents[n.ID] = n.Parent
	}
	for id := of; id != "" && !around[id]; id = parents[id] {
		around[id] = true
	}
	given := make(map[workflow.NodeID]json.RawMessage)
	for id, output := range outputs {
		if !around[id] && slices.Contains(g.Reachable(id), of) {
			given[id] = output
		}
	}
	return given
}

// unusedID is an id that no node has.
func unusedID(g workflow.Graph, id workflow.NodeID) workflow.NodeID {
	for slices.ContainsFunc(g.Nodes(), func(n workflow.Node) bool { return n.ID == id }) {
		id += "_"
	}
	return id
}

// beginAt has a run go on at a node, with what others gave.
func (r *Run) beginAt(nodes []workflow.Node, at workflow.NodeID, given map[workflow.NodeID]json.RawMessage, now time.Time) {
	s := &r.state
	s.Status, s.StartedAt, s.ActiveSince = StatusRunning, &now, &now
	for i, n := range nodes {
		state := NodeState{ID: n.ID, Status: NodePending}
		switch output, before := given[n.ID]; {
		case n.ID == at:
			s.Begin = []int{i}
		case before:
			state.Status, state.Output, state.StartedAt, state.FinishedAt = NodeCompleted, output, &now, &now
		}
		s.Nodes = append(s.Nodes, state)
	}
}

// Interrupted is what is known of the test when its process ends while the node's attempt is made: nobody
// has seen how it ended, or when.
func (t NodeTest) Interrupted() *Run {
	r := Restore(t.Run.state)
	n := &r.state.Nodes[t.at()]
	n.Status, n.Failure = NodeFailed, &Failure{
		Code: CodeAborted, Message: "The gateway stopped before the attempt had ended. Whether it has had its effect is not known.", Node: n.ID,
	}
	return r
}

// Size is about how many bytes the test takes.
func (t NodeTest) Size() int {
	size := t.Run.Size()
	for _, n := range t.Graph.Nodes() {
		size += len(n.Config.String()) + len(n.InputSchema.String()) + len(n.OutputSchema.String())
	}
	return size
}

func (t NodeTest) at() int {
	return slices.IndexFunc(t.Run.state.Nodes, func(n NodeState) bool { return n.ID == t.node })
}
