package workflow

import (
	"slices"
)

// Nodes returns the nodes in the client's order.
func (g Graph) Nodes() []Node { return cloneNodes(g.nodes) }

// Node finds a node by its id.
func (g Graph) Node(id NodeID) (n Node, known bool) {
	i, known := g.index[id]
	if !known {
		return n, false
	}
	return g.nodes[i].clone(), true
}

// Edges returns the edges in the client's order.
func (g Graph) Edges() []Edge { return cloneEdges(g.edges) }

// Roots returns the nodes without an incoming edge, in the client's order. Those in the bodies of
// others are none: what runs them begins there.
func (g Graph) Roots() []NodeID {
	var roots []NodeID
	for i, n := range g.nodes {
		if _, nested := g.parent(i); !nested && len(g.incoming[i]) == 0 {
			roots = append(roots, n.ID)
		}
	}
	return roots
}

// TopologicalOrder returns every node after all nodes that lead to it and those in whose bodies
// it is, otherwise in the client's order. A graph with a cycle, which only [RestoreGraph] can make,
// yields the nodes before it.
func (g Graph) TopologicalOrder() []NodeID {
	open := make([]int, len(g.nodes)) // edges and parents that have not been placed yet
	var ready []int
	for i := range g.nodes {
		open[i] = len(g.incoming[i])
		if _, nested := g.parent(i); nested {
			open[i]++
		}
		if open[i] == 0 {
			ready = append(ready, i)
		}
	}
	order := make([]NodeID, 0, len(g.nodes))
	follow := func(i int) {
		if open[i]--; open[i] == 0 {
			ready = append(ready, i)
		}
	}
	for ; len(ready) > 0; ready = ready[1:] {
		order = append(order, g.nodes[ready[0]].ID)
		for _, e := range g.outgoing[ready[0]] {
			follow(g.index[g.edges[e].TargetNodeID])
		}
		for _, i := range g.bodies[ready[0]] {
			follow(i)
		}
	}
	return order
}

// Reachable returns the nodes that runs come to from any of the given ones, these included, in
// the client's order: those that edges lead to, and what is in their bodies. An id that no node
// has leads nowhere.
func (g Graph) Reachable(from ...NodeID) []NodeID {
	reached := make([]bool, len(g.nodes))
	var open []int
	visit := func(i int) {
		if !reached[i] {
			reached[i] = true
			open = append(open, i)
		}
	}
	for _, id := range from {
		if i, ok := g.index[id]; ok {
			visit(i)
		}
	}
	for len(open) > 0 {
		last := open[len(open)-1]
		open = open[:len(open)-1]
		for _, e := range g.outgoing[last] {
			visit(g.index[g.edges[e].TargetNodeID])
		}
		for _, i := range g.bodies[last] {
			if g.beginsBody(i) {
				visit(i)
			}
		}
	}
	var ids []NodeID
	for i, n := range g.nodes {
		if reached[i] {
			ids = append(ids, n.ID)
		}
	}
	return ids
}

// leadingTo says of nodes whether the one at a place is among what is [Graph.Reachable] from
// them by an edge or a body at least.
func (g Graph) leadingTo(place int) []bool {
	leading := make([]bool, len(g.nodes))
	open := []int{place}
	visit := func(i int) {
		if !leading[i] {
			leading[i] = true
			open = append(open, i)
		}
	}
	for len(open) > 0 {
		last := open[len(open)-1]
		open = open[:len(open)-1]
		for _, e := range g.incoming[last] {
			visit(g.index[g.edges[e].SourceNodeID])
		}
		if parent, nested := g.parent(last); nested && g.beginsBody(last) {
			visit(parent)
		}
	}
	return leading
}

// Equal says whether both graphs hold the same nodes and edges in the same order.
func (g Graph) Equal(other Graph) bool {
	return slices.EqualFunc(g.nodes, other.nodes, func(a, b Node) bool {
		alike := same(a.Description, b.Description) && same(a.Retry, b.Retry) && same(a.Timeout, b.Timeout)
		a.Description, a.Retry, a.Timeout = b.Description, b.Retry, b.Timeout
		return alike && a == b
	}) && slices.EqualFunc(g.edges, other.edges, func(a, b Edge) bool {
		return a.ID == b.ID && a.SourceNodeID == b.SourceNodeID && a.TargetNodeID == b.TargetNodeID &&
			same(a.Condition, b.Condition) && same(a.Label, b.Label) &&
			same(a.SourceOutputKey, b.SourceOutputKey) && same(a.TargetInputKey, b.TargetInputKey)
	})
}
