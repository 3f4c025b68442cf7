package workflow

// Named is a member of a root that an expression reads by a name that is written out,
// such as fetch in nodes.fetch.id and nodes["fetch"]. What nodes[input.id] reads is known
// to the run alone.
type Named struct {
	Root string // as [RootNodes]
	Name string
	At   string // where in the source the member is read: "line 1, column 7"
}

// checkNamed reports nodes that an expression names although there are none, or none
// that can have run: what it reads of them is never there. later says which those are.
func (c *checker) checkNamed(about subject, named []Named, later func(place int) bool) {
	for _, n := range named {
		if n.Root != RootNodes {
			continue
		}
		place, exists := c.g.index[NodeID(n.Name)]
		switch {
		case !exists:
			c.found.add(about, UnknownNode, "must name nodes of the version, as nodes.<id>: at %s, there is no node %s", n.At, quote(n.Name))
			return
		case later(place):
			c.found.add(about, NodeRunsLater, "must name nodes that run before: at %s, %s has never run yet when this is computed", n.At, quote(n.Name))
			return
		}
	}
}

// laterThan says of nodes whether they are the one at the place or come after it, so
// that none has run when that one begins.
func (c *checker) laterThan(place int) func(other int) bool {
	return func(other int) bool {
		if c.later == nil {
			c.later = make(map[int][]bool)
		}
		reached, known := c.later[place]
		if !known {
			reached = make([]bool, len(c.g.nodes))
			for _, id := range c.g.Reachable(c.g.nodes[place].ID) {
				reached[c.g.index[id]] = true
			}
			c.later[place] = reached
		}
		return reached[other]
	}
}

// laterThanEdgesOf does the same for the edges that lead away from the node, which has
// run when they are looked at.
func (c *checker) laterThanEdgesOf(place int) func(other int) bool {
	later := c.laterThan(place)
	return func(other int) bool { return other != place && later(other) }
}

// never says of no node that it comes later.
func never(int) bool { return false }
