package workflow

import "slices"

// stronglyConnected returns the groups of two or more nodes that all lead to one another,
// each in the client's order, ordered by their first node. It is Tarjan's algorithm with a
// stack of its own, since a deep graph could exhaust the goroutine's, and takes linear time.
func (g Graph) stronglyConnected() [][]int {
	t := tarjan{g: g, number: make([]int, len(g.nodes)), low: make([]int, len(g.nodes)), onPath: make([]bool, len(g.nodes))}
	for i := range g.nodes {
		if t.number[i] == 0 {
			t.explore(i)
		}
	}
	slices.SortFunc(t.groups, func(a, b []int) int { return a[0] - b[0] })
	return t.groups
}

// tarjan is the state of one search. Numbers count from 1 in order of discovery; 0
// is a node not seen yet.
type tarjan struct {
	g      Graph
	number []int
	low    []int // the least number reachable from a node through the nodes on the path
	onPath []bool
	path   []int // nodes seen whose group is not complete
	groups [][]int
	count  int
}

// frame is a node whose outgoing edges are being followed.
type frame struct {
	node int
	next int // place in its outgoing edges
}

func (t *tarjan) explore(root int) {
	calls := []frame{{node: t.enter(root)}}
	for len(calls) > 0 {
		top := &calls[len(calls)-1]
		out := t.g.outgoing[top.node]
		if top.next == len(out) {
			t.leave(top.node)
			calls = calls[:len(calls)-1]
			if len(calls) > 0 {
				caller := calls[len(calls)-1].node
				t.low[caller] = min(t.low[caller], t.low[top.node])
			}
			continue
		}
		target := t.g.index[t.g.edges[out[top.next]].TargetNodeID]
		top.next++
		switch {
		case t.number[target] == 0:
			calls = append(calls, frame{node: t.enter(target)})
		case t.onPath[target]:
			t.low[top.node] = min(t.low[top.node], t.number[target])
		}
	}
}

func (t *tarjan) enter(node int) int {
	t.count++
	t.number[node], t.low[node], t.onPath[node] = t.count, t.count, true
	t.path = append(t.path, node)
	return node
}

// leave takes a complete group off the path when node is its first.
func (t *tarjan) leave(node int) {
	if t.low[node] != t.number[node] {
		return
	}
	start := len(t.path) - 1
	for t.path[start] != node {
		start--
	}
	group := slices.Clone(t.path[start:])
	t.path = t.path[:start]
	for _, member := range group {
		t.onPath[member] = false
	}
	if len(group) > 1 {
		slices.Sort(group)
		t.groups = append(t.groups, group)
	}
}

// shortestLoop returns the edges of a shortest way from the group's first node
// back to it, in order. The group is one that [Graph.stronglyConnected] returned.
func (g Graph) shortestLoop(group []int) []int {
	start := group[0]
	member := make(map[int]bool, len(group))
	for _, i := range group {
		member[i] = true
	}
	cameBy := map[int]int{} // node → edge by which it was first reached
	for open := []int{start}; len(open) > 0; open = open[1:] {
		for _, e := range g.outgoing[open[0]] {
			target := g.index[g.edges[e].TargetNodeID]
			if _, seen := cameBy[target]; seen || !member[target] || target == open[0] {
				continue
			}
			cameBy[target] = e
			if target == start {
				return g.walkBack(cameBy, start)
			}
			open = append(open, target)
		}
	}
	return nil
}

func (g Graph) walkBack(cameBy map[int]int, start int) []int {
	var loop []int
	for at := start; ; {
		e := cameBy[at]
		loop = append(loop, e)
		if at = g.index[g.edges[e].SourceNodeID]; at == start {
			slices.Reverse(loop)
			return loop
		}
	}
}
