package workflow

import (
	"slices"

	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/typing"
)

// maxEnds is how many nodes may be the last ones of runs for what these give to be known.
const maxEnds = 16

// resultType is what completed runs give that consist of the nodes: what the first return gave,
// else what the only node gave from which nothing went on, else what all such nodes gave, by their
// ids.
func (c *checker) resultType(of []int) typing.Type {
	var may []typing.Type
	var ends []int
	returns := false // always
	for _, i := range of {
		s := &c.steps[i]
		switch {
		case !s.known:
			return typing.Any
		case s.kind.Type == node.Return:
			may = append(may, s.out)
			returns = returns || c.alwaysCompletes(i)
		case !c.alwaysContinues(i):
			ends = append(ends, i)
		}
	}
	if !returns {
		if len(ends) > maxEnds {
			return typing.Any
		}
		may = append(may, c.endsTypes(ends)...)
	}
	return typing.Union(may...)
}

// alwaysCompletes says whether the node completes in each run that does.
func (c *checker) alwaysCompletes(i int) bool { return c.steps[i].always && !c.handlesFailure(i) }

// alwaysContinues says whether an edge is taken whenever the node completes.
func (c *checker) alwaysContinues(i int) bool {
	s := &c.steps[i]
	left := slices.Clone(s.branches)
	for _, at := range c.g.outgoing[i] {
		e := c.g.edges[at]
		key := e.OutputKey()
		if e.Guard() != "" || key == OnError {
			continue
		}
		if s.branches == nil || key == OnSuccess {
			return true
		}
		leading := []string{key}
		if key == "" {
			if leading = c.branchesTo(e, s); leading == nil {
				return true
			}
		}
		left = slices.DeleteFunc(left, func(b string) bool { return slices.Contains(leading, b) })
	}
	return s.branches != nil && len(left) == 0
}

// endsTypes are what runs give that end with one or several of the nodes.
func (c *checker) endsTypes(ends []int) (may []typing.Type) {
	together := typing.NewObject()
	for _, i := range ends {
		alone, single := true, true
		for _, j := range ends {
			if j != i && !c.exclude(i, j) {
				single = false
				alone = alone && !c.isEnd(j)
			}
		}
		if alone {
			may = append(may, c.steps[i].out)
		}
		if !single {
			t := c.steps[i].out
			if !c.isEnd(i) {
				t = t.Or(typing.Of(typing.Undefined))
			}
			together.Set(string(c.g.nodes[i].ID), t)
		}
	}
	if t := together.Type(); len(t.MemberNames()) > 0 {
		may = append(may, t)
	}
	return may
}

// isEnd says whether each run that completes has completed the node, and nothing went on from it.
func (c *checker) isEnd(i int) bool { return c.alwaysCompletes(i) && len(c.g.outgoing[i]) == 0 }

// exclude says whether no run ends with both nodes: it went on from one of them to come to the
// other, or came to them on ways that part.
func (c *checker) exclude(i, j int) bool {
	a, b := &c.steps[i].before, &c.steps[j].before
	if a.has(a.completed, j) || a.has(a.failed, j) || b.has(b.completed, i) || b.has(b.failed, i) {
		return true
	}
	for at := range c.g.nodes {
		if a.has(a.completed, at) && b.has(b.failed, at) || a.has(a.failed, at) && b.has(b.completed, at) {
			return true
		}
	}
	return slices.ContainsFunc(a.chosen, func(one choice) bool {
		return slices.ContainsFunc(b.chosen, func(other choice) bool { return one.place == other.place && one.branch != other.branch })
	})
}
