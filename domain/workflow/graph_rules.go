package workflow

import (
	"strconv"
	"strings"

	"github.com/sluicehq/sluice/domain"
)

// defects reports what no graph may have, not even a draft's. With idsKnown false
// some node's id could not be read, and edges are not judged by them.
func (g Graph) defects(idsKnown bool) []Finding {
	var fs findings
	nodesFit, edgesFit := len(g.nodes) <= MaxNodes, len(g.edges) <= MaxEdges
	if !nodesFit {
		fs.add(subject{path: "nodes"}, domain.TooLong, "must hold at most %d nodes, not %d", MaxNodes, len(g.nodes))
	} else {
		g.checkNodes(&fs)
		g.checkParents(&fs, idsKnown)
	}
	if !edgesFit {
		fs.add(subject{path: "edges"}, domain.TooLong, "must hold at most %d edges, not %d", MaxEdges, len(g.edges))
	} else {
		g.checkEdges(&fs, idsKnown && nodesFit)
	}
	if nodesFit && edgesFit {
		g.checkCycles(&fs)
	}
	return fs.list
}

func (g Graph) checkNodes(fs *findings) {
	for i, n := range g.nodes {
		about := nodeSubject(i, n)
		fs.text(about.member("id"), string(n.ID), 1, MaxNodeID)
		if first := g.index[n.ID]; first != i {
			fs.add(about.member("id"), domain.Duplicate,
				"repeats the id %q of nodes[%d]; every node needs an id of its own", clip(string(n.ID)), first)
		}
		fs.text(about.member("type"), n.Type, 0, MaxNodeType)
		fs.text(about.member("version"), n.Version, 0, MaxNodeType)
		fs.text(about.member("name"), n.Name, 0, MaxName)
		fs.text(about.member("description"), orEmpty(n.Description), 0, MaxDescription)
		n.checkAttempts(fs, about)
		for _, axis := range []struct {
			name  string
			value float64
		}{{"x", n.Position.X}, {"y", n.Position.Y}} {
			if !finite(axis.value) {
				fs.add(about.member("position").member(axis.name), domain.BadFormat, "must be a finite number, not %v", axis.value)
			}
		}
	}
}

func (g Graph) checkEdges(fs *findings, nodesKnown bool) {
	first := make(map[[6]string]int, len(g.edges))
	for i, e := range g.edges {
		about := edgeSubject(i, e)
		g.checkEnd(fs, about.member("sourceNodeId"), e.SourceNodeID, nodesKnown)
		g.checkEnd(fs, about.member("targetNodeId"), e.TargetNodeID, nodesKnown)
		if e.SourceNodeID == e.TargetNodeID {
			fs.add(about.member("targetNodeId"), SelfEdge,
				"must differ from sourceNodeId; an edge cannot lead from %q back to itself", clip(string(e.TargetNodeID)))
		}
		g.checkBorder(fs, about.member("targetNodeId"), i)
		fs.text(about.member("condition"), orEmpty(e.Condition), 0, MaxExpression)
		fs.text(about.member("label"), orEmpty(e.Label), 0, MaxLabel)
		fs.text(about.member("sourceOutputKey"), e.OutputKey(), 0, MaxKey)
		fs.text(about.member("targetInputKey"), e.InputKey(), 0, MaxKey)
		if earlier, repeats := first[e.content()]; repeats {
			fs.add(about, domain.Duplicate, "is the same as edges[%d]; remove one of them", earlier)
		} else {
			first[e.content()] = i
		}
	}
}

func (g Graph) checkEnd(fs *findings, about subject, id NodeID, nodesKnown bool) {
	if id == "" {
		fs.add(about, domain.Required, "must not be empty; it names a node of this version")
		return
	}
	if _, exists := g.index[id]; !exists && nodesKnown {
		fs.add(about, UnknownNode, "must be the id of a node of this version; there is no %q", clip(string(id)))
	}
}

// content is what two edges have in common that do the same.
func (e Edge) content() [6]string {
	return [6]string{
		string(e.SourceNodeID), string(e.TargetNodeID),
		orEmpty(e.Condition), orEmpty(e.Label), e.OutputKey(), e.InputKey(),
	}
}

// checkCycles reports one cycle of each group of nodes that lead to one another,
// at the edge that closes it. A self edge is reported as such and not here.
func (g Graph) checkCycles(fs *findings) {
	for _, group := range g.stronglyConnected() {
		loop := g.shortestLoop(group)
		names := make([]string, 0, len(loop)+1)
		for _, e := range loop {
			names = append(names, clip(string(g.edges[e].SourceNodeID)))
		}
		names = append(names, names[0])
		last := loop[len(loop)-1]
		fs.add(edgeSubject(last, g.edges[last]), Cycle,
			"closes a cycle: %s; a workflow only runs forward, so one of these edges has to go", chain(names))
	}
}

// chain writes names as a → b → c, leaving out the middle of a long one.
func chain(names []string) string {
	const most, kept = 12, 5
	if len(names) > most {
		left := "… (" + strconv.Itoa(len(names)-2*kept) + " more)"
		names = append(append(names[:kept:kept], left), names[len(names)-kept:]...)
	}
	return strings.Join(names, " → ")
}

// clip shortens a client's text for a message.
func clip(s string) string { return domain.Clip(s, 60) }
