package workflow

import (
	"slices"
	"strings"

	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/typing"
)

// give determines what a node gives by its schemas, after the nodes that lead to it.
func (c *checker) give(i int) {
	s := &c.steps[i]
	switch {
	case !s.known:
	case s.kind.PassesInput && s.output.Len() == 0:
		s.gives = c.arriving(i)
	default:
		s.gives = s.output.Whole()
	}
}

// arriving is what a node receives where that is one edge's whole value, and any
// value otherwise: several are merged, or which of them come is not known.
func (c *checker) arriving(i int) node.FieldSchema {
	if len(c.g.incoming[i]) != 1 {
		return node.FieldSchema{}
	}
	e := c.g.edges[c.g.incoming[i][0]]
	if e.InputKey() != "" {
		return node.FieldSchema{}
	}
	value, _ := c.carried(e, c.g.index[e.SourceNodeID])
	return value
}

// carried returns what an edge takes from its source. When the source has no such
// output, problem says what it has.
func (c *checker) carried(e Edge, source int) (value node.FieldSchema, problem string) {
	s, key := c.steps[source], e.OutputKey()
	switch {
	case key == "" || key == OnSuccess || slices.Contains(s.branches, key):
		return s.gives, ""
	case key == OnError || !s.known:
		return node.FieldSchema{}, ""
	case s.branches != nil:
		return node.FieldSchema{}, "must be a branch of " + quote(e.SourceNodeID) + ": " + listOutputs(s.branches)
	case s.gives.Type() == node.Any:
		return node.FieldSchema{}, ""
	case s.gives.Type() != node.Object:
		return node.FieldSchema{}, "must be left out or \"" + OnSuccess + "\" or \"" + OnError + "\": " +
			quote(e.SourceNodeID) + " gives one value without members"
	}
	members := s.gives.Properties()
	if value, declared := members.Field(key); declared {
		return value, ""
	}
	if s.kind.PassesInput || members.Len() == 0 { // what passes may hold more than was declared
		return node.FieldSchema{}, ""
	}
	return node.FieldSchema{}, "must be an output of " + quote(e.SourceNodeID) + ": " + listOutputs(fieldNames(members))
}

// listOutputs lists outputs for a message, with the outcomes that every node has.
func listOutputs(outputs []string) string {
	const most = 20
	if len(outputs) > most {
		outputs = append(outputs[:most:most], "…")
	}
	names := make([]string, 0, len(outputs)+2)
	for _, o := range append(slices.Clip(outputs), OnSuccess) {
		names = append(names, quote(o))
	}
	return strings.Join(names, ", ") + " or " + quote(OnError)
}

func fieldNames(s node.Schema) []string {
	names := make([]string, 0, s.Len())
	for name := range s.All() {
		names = append(names, name)
	}
	return names
}

// checkCarried checks that the edge names an output and an input that exist and
// that the one fits the other.
func (c *checker) checkCarried(about subject, e Edge, source, target int) {
	value, problem := c.carried(e, source)
	if problem != "" {
		c.found.add(about.member("sourceOutputKey"), UnknownOutput, "%s, not %s", problem, quote(e.OutputKey()))
	}
	t := c.steps[target]
	if !t.known || t.input.Len() == 0 {
		return
	}
	wanted, into := t.takes, "the input of "+quote(e.TargetNodeID)
	if key := e.InputKey(); key != "" {
		field, declared := t.input.Field(key)
		if !declared {
			c.found.add(about.member("targetInputKey"), UnknownInput, "must be an input of %s: %s, not %s",
				quote(e.TargetNodeID), oneOf(fieldNames(t.input)), quote(key))
			return
		}
		wanted, into = field, "input "+quote(key)+" of "+quote(e.TargetNodeID)
	} else if len(c.g.incoming[target]) > 1 && value.Type() == node.Object {
		value = value.Properties().Whole() // what one lacks may come from another
	}
	if fits, reason := node.Fits(value, wanted); !fits {
		c.found.add(clashAt(about, e), TypeClash, "must lead from what fits: %s %s (%s)", c.outputOf(e, source), reason, into)
		return
	}
	c.checkCarriedType(about, e, wanted, into)
}

// checkCarriedType does so with what a node was found to give.
func (c *checker) checkCarriedType(about subject, e Edge, wanted node.FieldSchema, into string) {
	source, target := c.g.index[e.SourceNodeID], c.g.index[e.TargetNodeID]
	carried, _ := c.carriedType(e)
	clash := func(reason string) {
		if reason != "" {
			c.found.add(clashAt(about, e), TypeClash, "must lead from what fits: %s %s (%s)", c.outputOf(e, source), reason, into)
		}
	}
	switch {
	case e.InputKey() != "" || len(c.g.incoming[target]) == 1 && !carried.Within(typing.Object):
		clash(carried.Stored().Misfit(wanted))
	case len(c.g.incoming[target]) == 1: // more than one put their members over each other's
		for name, field := range wanted.Properties().All() {
			if c.provides(e, name) { // what it lacks is reported at the node
				clash(carried.MemberMisfit(name, field))
			}
		}
	}
}

// clashAt is the member of the edge at which a clash is reported.
func clashAt(about subject, e Edge) subject {
	switch {
	case e.InputKey() != "":
		return about.member("targetInputKey")
	case e.OutputKey() != "":
		return about.member("sourceOutputKey")
	}
	return about
}

// outputOf says in a message what an edge takes.
func (c *checker) outputOf(e Edge, source int) string {
	switch key := e.OutputKey(); {
	case key == "" || key == OnSuccess:
		return quote(e.SourceNodeID)
	case slices.Contains(c.steps[source].branches, key):
		return "branch " + quote(key) + " of " + quote(e.SourceNodeID)
	default:
		return "output " + quote(key) + " of " + quote(e.SourceNodeID)
	}
}

func oneOf(names []string) string {
	const most = 20
	if len(names) > most {
		names = append(names[:most:most], "…")
	}
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = quote(name)
	}
	return strings.Join(quoted, ", ")
}

// checkInputs reports required inputs that no edge provides, whichever of them are taken.
func (c *checker) checkInputs(about subject, i int) {
	s := &c.steps[i]
	if len(c.g.incoming[i]) == 0 || c.starts[c.g.nodes[i].ID] {
		return
	}
	if e := c.g.edges[c.g.incoming[i][0]]; len(c.g.incoming[i]) == 1 && e.InputKey() == "" {
		value, _ := c.carried(e, c.g.index[e.SourceNodeID])
		if fits, _ := node.Fits(value, s.takes); !fits {
			return // which is reported at the edge
		}
	}
	var missing []string
	for name, field := range s.input.All() {
		_, hasDefault := field.Default()
		if field.Required() && !hasDefault && !slices.ContainsFunc(c.g.incoming[i], func(e int) bool { return c.provides(c.g.edges[e], name) }) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		c.found.add(about, MissingInput, "requires %s, which nothing that leads there gives: add an edge with that targetInputKey, or let a node before it give that member", oneOf(missing))
	}
}

// provides says whether an edge may bring the input of that name.
func (c *checker) provides(e Edge, name string) bool {
	if key := e.InputKey(); key != "" {
		return key == name
	}
	carried, _ := c.carriedType(e)
	if carried.IsClaimed() || !carried.Within(typing.Object) {
		return true // as a whole, or under the id of its node
	}
	_, rest := carried.Member(name)
	return rest == typing.Open
}
