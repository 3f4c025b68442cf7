package workflow

import (
	"encoding/json"
	"strconv"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
)

// branch is one way that a condition or a switch can go.
type branch struct {
	node.BranchTarget
	about subject // where the configuration names its target
}

// openEnd says whether the configuration states that the run ends here.
func (b branch) openEnd() bool { return b.Given && (b.Value == nil || b.Value == "") }

// target is the node that the configuration names, empty for none.
func (b branch) target() NodeID {
	name, _ := b.Value.(string)
	return NodeID(name)
}

// branchesOf lists the branches of a node with the targets that editors write into
// its configuration (execution rules, "The graph").
func branchesOf(about subject, s step) []branch {
	var branches []branch
	for _, target := range node.BranchTargets(s.kind.Type, s.config) {
		branches = append(branches, branch{target, about.member(target.Member)})
	}
	return branches
}

// checkBranches reports branches that lead nowhere, targets that no edge leads to
// and cases that can never be chosen.
func (c *checker) checkBranches(about subject, i int) {
	s := c.steps[i]
	if s.branches == nil {
		return
	}
	branches := branchesOf(about, s)
	targets := map[NodeID]bool{}
	for _, b := range branches {
		targets[b.target()] = true
	}
	keyed := map[string]bool{} // the keys that edges have
	always := false            // an edge is taken whatever branch is chosen
	for _, e := range c.g.outgoing[i] {
		edge := c.g.edges[e]
		keyed[edge.OutputKey()] = true
		always = always || edge.OutputKey() == OnSuccess || edge.OutputKey() == "" && !targets[edge.TargetNodeID]
	}
	for _, b := range branches {
		switch {
		case b.target() != "":
			c.checkTarget(b, i)
		case !always && !keyed[b.Branch] && !b.openEnd():
			c.found.add(b.about, MissingBranch,
				"must say where branch %q leads: add an edge whose sourceOutputKey is %q, or write \"\" here if the run is meant to end",
				b.Branch, b.Branch)
		}
	}
	c.checkCases(about, s)
}

// checkTarget reports a branch target that is no node, or that no edge of the
// branch leads to.
func (c *checker) checkTarget(b branch, i int) {
	target, exists := c.g.index[b.target()]
	if !exists {
		c.found.add(b.about, UnknownNode, "must be the id of a node of this version; there is no %s", quote(b.target()))
		return
	}
	other := ""
	for _, e := range c.g.outgoing[i] {
		edge := c.g.edges[e]
		if c.g.index[edge.TargetNodeID] != target {
			continue
		}
		if key := edge.OutputKey(); key == "" || key == b.Branch {
			return
		}
		other = "; the one that is there bears the sourceOutputKey " + quote(edge.OutputKey())
	}
	c.found.add(b.about, MissingEdge, "names %s, so there must be an edge from %s to it for branch %q%s",
		quote(b.target()), quote(c.g.nodes[i].ID), b.Branch, other)
}

// checkCases reports cases whose value an earlier case has: the first one that
// equals is taken.
func (c *checker) checkCases(about subject, s step) {
	cases, _ := s.config["cases"].([]any)
	first := map[string]int{}
	for i := range cases {
		one, _ := cases[i].(map[string]any)
		value, given := one["value"]
		if !given {
			continue
		}
		text := spelled(value)
		if earlier, repeats := first[text]; repeats {
			c.found.add(about.member("cases").item(i).member("value"), domain.Duplicate,
				"must differ from that of cases[%d], which is chosen first", earlier)
			continue
		}
		first[text] = i
	}
}

// spelled writes a JSON value so that equal values are written alike: 1 and 1.0
// are one number.
func spelled(value any) string {
	if number, ok := value.(json.Number); ok {
		if f, err := number.Float64(); err == nil {
			return strconv.FormatFloat(f, 'g', -1, 64)
		}
	}
	text, err := json.Marshal(value)
	if err != nil {
		return "" // cannot be: the value was read from JSON
	}
	return string(text)
}
