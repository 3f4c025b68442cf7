package workflow

import "slices"

// Body is the graph of the nodes whose parent is the node, in the client's order, with the edges
// among them: what a run does that the node starts for an item. That of the empty id are the
// nodes without a parent, with which a run of the version has to do. What is nested deeper is not
// in it, and Body of it gives that, too.
func (g Graph) Body(of NodeID) Graph {
	whole := g.Whole()
	var nodes []Node
	inside := map[NodeID]bool{}
	for i, n := range whole.nodes {
		if n.Parent == of && whole.index[n.ID] == i {
			nodes = append(nodes, n.clone())
			inside[n.ID] = true
		}
	}
	var edges []Edge
	for _, e := range whole.edges {
		if inside[e.SourceNodeID] && inside[e.TargetNodeID] {
			edges = append(edges, e.clone())
		}
	}
	body := indexed(nodes, edges)
	body.whole = &whole
	return body
}

// Whole is the graph of the version, whichever of its bodies g is.
func (g Graph) Whole() Graph {
	if g.whole != nil {
		return *g.whole
	}
	return g
}

// Has says whether there is a node of this id.
func (g Graph) Has(id NodeID) bool {
	_, has := g.index[id]
	return has
}

// parent returns the place of the node in whose body a node is.
func (g Graph) parent(i int) (place int, nested bool) {
	if g.nodes[i].Parent == "" {
		return 0, false
	}
	place, nested = g.index[g.nodes[i].Parent]
	return place, nested
}

// around returns the places of the nodes in whose bodies a node is, the innermost first. Where
// they lie within themselves, which only [RestoreGraph] can make, each is returned once.
func (g Graph) around(i int) []int {
	var all []int
	for {
		parent, nested := g.parent(i)
		if !nested || slices.Contains(all, parent) {
			return all
		}
		all = append(all, parent)
		i = parent
	}
}

// beginsBody says whether a node is one at which the runs of a body begin.
func (g Graph) beginsBody(i int) bool {
	return !slices.ContainsFunc(g.incoming[i], func(e int) bool {
		return g.nodes[g.index[g.edges[e].SourceNodeID]].Parent == g.nodes[i].Parent
	})
}

// checkParents reports parents that are not there, that lie within themselves, and nesting that
// is too deep.
func (g Graph) checkParents(fs *findings, nodesKnown bool) {
	reported := map[int]bool{} // nodes of cycles
	for i, n := range g.nodes {
		about := nodeSubject(i, n).member("parentId")
		around := g.around(i)
		switch _, exists := g.index[n.Parent]; {
		case n.Parent == "":
		case !exists && nodesKnown:
			fs.add(about, UnknownNode, "must be the id of a node of this version; there is no %s", quote(n.Parent))
		case exists && slices.Contains(around, i) && !reported[i]:
			names := []string{clip(string(n.ID))}
			for _, j := range around {
				reported[j] = true
				names = append(names, clip(string(g.nodes[j].ID)))
			}
			fs.add(about, Cycle, "must not lead back to the node: %s; move one of them out", chain(names))
		case len(around) == MaxNesting+1 && !slices.Contains(around, i): // what lies deeper follows
			fs.add(about, TooDeep, "must not nest deeper than %d; move the node out of %s", MaxNesting, quote(n.Parent))
		}
	}
}

// checkBorder reports an edge that crosses the border of a body.
func (g Graph) checkBorder(fs *findings, about subject, i int) {
	source, target, ok := g.ends(i)
	if !ok || g.nodes[source].Parent == g.nodes[target].Parent || g.isAstray(source) || g.isAstray(target) {
		return
	}
	fs.add(about, CrossesBorder, "must lead to a node with the same parentId: %s, and %s; lead to or from the node whose body it is, or move one of them",
		g.stands(source), g.stands(target))
}

// isAstray says whether the parent of a node is not there.
func (g Graph) isAstray(i int) bool {
	_, nested := g.parent(i)
	return !nested && g.nodes[i].Parent != ""
}

// stands says for a message where a node is.
func (g Graph) stands(i int) string {
	if parent := g.nodes[i].Parent; parent != "" {
		return quote(g.nodes[i].ID) + " is in the body of " + quote(parent)
	}
	return quote(g.nodes[i].ID) + " is in none"
}
