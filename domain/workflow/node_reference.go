package workflow

import (
	"slices"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
)

// Named is a member of a root that an expression reads by a name that is written out,
// such as fetch in nodes.fetch.id and nodes["fetch"]. What nodes[input.id] reads is known
// to the run alone.
type Named struct {
	Root string // as [RootNodes]
	Name string
	At   Place // where in the source the member is read
}

// checkNamed reports nodes that an expression names although there are none, or none
// that lead to it: a run shows an expression what the nodes before it gave, and nothing of
// the others, so what it reads of them is never there.
func (c *checker) checkNamed(about subject, named []Named, at site) {
	for _, n := range named {
		if n.Root == LinkFunction {
			c.checkLinked(about, n, at)
		}
		if n.Root != RootNodes {
			continue
		}
		place, exists := c.g.index[NodeID(n.Name)]
		switch {
		case !exists:
			c.found.addAt(about, n.At, UnknownNode, "must name nodes of the version, as nodes.<id>: at %s, there is no node %s", n.At, quote(n.Name))
			return
		case at.unseen(place):
			if parent, nested := c.g.parent(place); nested && at.place >= 0 && !slices.Contains(c.g.around(at.place), parent) {
				of := c.g.nodes[parent].ID
				c.found.addAt(about, n.At, NodeNotBefore, "must name nodes that lead here: at %s, %s is in the body of %s; what its runs gave is in nodes.%s.results",
					n.At, quote(n.Name), quote(of), clip(string(of)))
				return
			}
			c.found.addAt(about, n.At, NodeNotBefore, "must name nodes that lead here: at %s, %s does not, so it is never there", n.At, quote(n.Name))
			return
		}
	}
}

// checkLinked reports what link() names that asks nobody.
func (c *checker) checkLinked(about subject, n Named, at site) {
	place, exists := c.g.index[NodeID(n.Name)]
	switch {
	case !exists:
		c.found.addAt(about, n.At, UnknownNode, "must link to a node of the version: at %s, there is no node %s", n.At, quote(n.Name))
		return
	case c.g.nodes[place].Type != string(node.Input):
		c.found.addAt(about, n.At, domain.NotAllowed, "must link to a node of the type %q: at %s, %s asks nobody", node.Input, n.At, quote(n.Name))
		return
	}
	if at.place >= 0 && c.g.nodes[place].Parent != c.g.nodes[at.place].Parent {
		c.found.addAt(about, n.At, domain.NotAllowed, "must link to a node of the same body: at %s, the runs of the items of another body ask %s", n.At, quote(n.Name))
	}
}

// unseenBy says of nodes whether the one at the place sees nothing of them: all but those
// from which edges lead to it, or to one in whose body it is.
func (c *checker) unseenBy(place int) func(other int) bool {
	return func(other int) bool {
		return other == place || !c.leadingTo(place)[other] || slices.Contains(c.g.around(place), other)
	}
}

// leadingTo says of nodes whether runs come from them to the one at the place, which is true of
// those in whose bodies it is.
func (c *checker) leadingTo(place int) []bool {
	if c.leading == nil {
		c.leading = make(map[int][]bool)
	}
	leading, known := c.leading[place]
	if !known {
		leading = c.g.leadingTo(place)
		c.leading[place] = leading
	}
	return leading
}

// unseenByEdgesOf does the same for the edges that lead away from the node, which see what
// it gave.
func (c *checker) unseenByEdgesOf(place int) func(other int) bool {
	unseen := c.unseenBy(place)
	return func(other int) bool { return other != place && unseen(other) }
}

// never says of no node that it is not seen.
func never(int) bool { return false }
