package workflow

import (
	"encoding/json"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
)

// checkBranches reports targets that no edge leads to and cases that can never be chosen.
// A branch that leads nowhere ends there.
func (c *checker) checkBranches(about subject, i int) {
	s := c.steps[i]
	for _, b := range node.BranchTargets(s.kind.Type, s.config) {
		if b.Node != "" {
			c.checkTarget(about.member(b.Member), b, i)
		}
	}
	c.checkCases(about, s)
}

// checkTarget reports a branch target that is no node, or that no edge of the
// branch leads to.
func (c *checker) checkTarget(about subject, b node.BranchTarget, i int) {
	target, exists := c.g.index[NodeID(b.Node)]
	if !exists {
		c.found.add(about, UnknownNode, "must be the id of a node of this version; there is no %s", quote(b.Node))
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
	c.found.add(about, MissingEdge, "names %s, so there must be an edge from %s to it for branch %q%s",
		quote(b.Node), quote(c.g.nodes[i].ID), b.Branch, other)
}

// checkCases reports cases that are never chosen because an earlier one is: it has the same
// value, or is text that spells the number or boolean.
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
		earlier, repeats := first[text]
		switch value.(type) {
		case json.Number, bool:
			if !repeats {
				earlier, repeats = first[spelled(text)]
			}
		}
		if repeats {
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
			value = f
		}
	}
	text, err := json.Marshal(value)
	if err != nil {
		return "" // cannot be: the value was read from JSON
	}
	return string(text)
}
