package workflow

import (
	"slices"

	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/typing"
)

// before is what is certain where a run has come to a node or an edge.
type before struct {
	completed []bool // by place, the nodes that have completed
	failed    []bool // those that have failed, whose failure was dealt with
	chosen    []choice
	facts     []typing.Fact
}

// choice is a branch that a node chose.
type choice struct {
	place  int
	branch string
}

func (b before) has(set []bool, place int) bool { return place < len(set) && set[place] }

// runType is what the root run holds.
var runType = func() typing.Type {
	o := typing.NewObject()
	for _, name := range []string{"id", "tenantId", "workflowId", "workflowVersionId", "entityId", "dedupeKey"} {
		o.Set(name, typing.Of(typing.String))
	}
	for _, name := range []string{"subTenantId", "triggerId"} {
		o.Set(name, typing.Of(typing.String|typing.Undefined))
	}
	return o.Type()
}()

// failureType is what an edge for failures carries.
var failureType = typing.NewObject().Set("error", typing.NewObject().
	Set("code", typing.Of(typing.String)).Set("message", typing.Of(typing.String)).
	Set("nodeId", typing.Of(typing.String)).Set("attempts", typing.Of(typing.Number)).Type()).Type()

// arrive finds what flows into a node, and what is certain there. What leads to it has been
// looked at before.
func (c *checker) arrive(i int) {
	s := &c.steps[i]
	if parent, nested := c.g.parent(i); nested && len(c.g.incoming[i]) == 0 {
		s.before, s.in, s.inPath = c.within(parent), c.steps[parent].item, RootItem
		return
	}
	if len(c.g.incoming[i]) == 0 {
		s.in, s.inPath = c.payload, RootPayload
		return
	}
	if c.starts[c.g.nodes[i].ID] {
		return // with the payload, or with what edges bring
	}
	for k, e := range c.g.incoming[i] {
		way := c.along(e)
		if k == 0 {
			s.before = way
			continue
		}
		for j := range s.completed {
			s.completed[j] = s.completed[j] && way.has(way.completed, j)
			s.failed[j] = s.failed[j] && way.has(way.failed, j)
		}
		s.chosen = slices.DeleteFunc(s.chosen, func(one choice) bool { return !slices.Contains(way.chosen, one) })
		s.facts = typing.Either(s.facts, way.facts)
	}
	s.in, s.inPath = c.merged(i)
}

// along is what is certain where an edge is taken.
func (c *checker) along(i int) before {
	e := c.g.edges[i]
	source := c.g.index[e.SourceNodeID]
	s := &c.steps[source]
	way := before{completed: c.grown(s.completed), failed: c.grown(s.failed), chosen: slices.Clone(s.chosen)}
	if e.OutputKey() == OnError {
		way.failed[source] = true
	} else {
		way.completed[source] = true
	}
	if branch := c.branchOf(e, s); s.branches != nil && slices.Contains(s.branches, branch) {
		way.chosen = append(way.chosen, choice{source, branch})
	}
	way.facts = typing.Both(s.facts, c.guard(i).WhenTrue)
	if s.known && s.kind.Type == node.Condition {
		switch c.branchOf(e, s) {
		case node.BranchTrue:
			way.facts = typing.Both(way.facts, s.test.WhenTrue)
		case node.BranchFalse:
			way.facts = typing.Both(way.facts, s.test.WhenFalse)
		}
	}
	return way
}

func (c *checker) grown(set []bool) []bool {
	all := make([]bool, len(c.g.nodes))
	copy(all, set)
	return all
}

// branchOf is the only branch that an edge is taken for; empty where it may be another.
func (c *checker) branchOf(e Edge, s *step) string {
	key := e.OutputKey()
	if key != "" {
		return key
	}
	if leading := c.branchesTo(e, s); len(leading) == 1 {
		return leading[0]
	}
	return ""
}

// branchesTo lists the branches whose target in the configuration is that of the edge; nil where
// it names none, so that every branch leads there.
func (c *checker) branchesTo(e Edge, s *step) (leading []string) {
	for _, t := range node.BranchTargets(s.kind.Type, s.config) {
		if t.Node == string(e.TargetNodeID) {
			leading = append(leading, t.Branch)
		}
	}
	return leading
}

// carriedType is what an edge brings, and the path to it.
func (c *checker) carriedType(e Edge) (t typing.Type, path string) {
	s := &c.steps[c.g.index[e.SourceNodeID]]
	switch key := e.OutputKey(); {
	case key == OnError:
		return failureType, typing.MemberPath(RootNodes, string(e.SourceNodeID))
	case key == "" || key == OnSuccess || slices.Contains(s.branches, key):
		return s.out, s.outPath
	default:
		if !s.out.Within(typing.Object) {
			return typing.Any, ""
		}
		member, _ := s.out.Member(key)
		return member, typing.MemberPath(s.outPath, key)
	}
}

// maxMerged is how many members of what one edge brings are told apart where others bring more.
const maxMerged = 100

// merged is what a node gets from its edges: what one brings, or an object of what several
// bring, as many of them as are taken.
func (c *checker) merged(i int) (t typing.Type, path string) {
	incoming := c.g.incoming[i]
	all := typing.NewObject()
	var alone []typing.Type
	for _, at := range incoming {
		e := c.g.edges[at]
		carried, from := c.carriedType(e)
		if key := e.InputKey(); key != "" {
			if len(incoming) > 1 && !c.certain(at) {
				carried = carried.Or(typing.Of(typing.Undefined))
			}
			addOver(all, key, carried)
			continue
		}
		if len(incoming) == 1 {
			return carried.Stored(), from
		}
		if !carried.Within(typing.Object) {
			return typing.Any, ""
		}
		alone = append(alone, carried)
		if carried.MayHoldMore() {
			all.MayHoldMore()
		}
		names := carried.MemberNames()
		if len(names) > maxMerged {
			all.Blur()
			continue
		}
		for _, name := range names {
			member, _ := carried.Member(name)
			addOver(all, name, member.Or(typing.Of(typing.Undefined)))
		}
	}
	return typing.Union(append(alone, all.Type())...), ""
}

// addOver adds a member that may come from elsewhere, too.
func addOver(all *typing.Fields, name string, t typing.Type) {
	if other, rest := all.Type().Member(name); rest == typing.Open {
		t = t.Or(other)
	}
	all.Set(name, t)
}

// certain says whether an edge is taken in each run that comes to its target.
func (c *checker) certain(i int) bool {
	e := c.g.edges[i]
	source := c.g.index[e.SourceNodeID]
	s := &c.steps[source]
	if e.Guard() != "" || e.OutputKey() == OnError || slices.Contains(s.branches, e.OutputKey()) || s.branches != nil {
		return false
	}
	return s.always && !c.handlesFailure(source)
}

// handlesFailure says whether a run may go on where the node has failed.
func (c *checker) handlesFailure(i int) bool {
	return slices.ContainsFunc(c.g.outgoing[i], func(e int) bool { return c.g.edges[e].OutputKey() == OnError })
}

// leave finds what a node gives.
func (c *checker) leave(i int) {
	s := &c.steps[i]
	n := c.g.nodes[i]
	s.outPath = typing.MemberPath(RootNodes, string(n.ID))
	_, nested := c.g.parent(i)
	s.always = c.alwaysStarts[n.ID] || nested && c.g.beginsBody(i) || slices.ContainsFunc(c.g.incoming[i], c.certain)
	switch {
	case !s.known:
	case s.kind.PassesInput || s.kind.Type.IsTrigger():
		s.out, s.outPath = s.in, s.inPath
	case s.kind.BuiltIn && s.kind.Type == node.Input:
		s.out = answerType(s)
	case s.kind.RunsBody:
		s.out = c.resultsType(i)
	case s.kind.StartsRun:
		s.out = c.calledType(s)
	case s.kind.BuiltIn && (s.kind.Type == node.Transform || s.kind.Type == node.Return):
		s.out = s.computes.Stored()
	case s.output.Len() > 0:
		rest := typing.Open
		if s.kind.BuiltIn {
			rest = typing.Exact
		}
		s.out = typing.FromSchema(s.output, rest)
	}
	if s.out.IsAny() && s.output.Len() > 0 {
		s.out = typing.FromSchema(s.output, typing.Open).Claimed()
	}
	if isFieldMap(n.OutputSchema) && s.out.Within(typing.Object) && !s.kind.PassesInput {
		s.out = s.out.Claimed()
	}
}

// answerType is what an input node gives: null where no answer was needed.
func answerType(s *step) typing.Type {
	field, _ := s.output.Field("value")
	value := typing.FromItem(field)
	if !field.Required() {
		value = value.Or(typing.Of(typing.Null))
	}
	return typing.NewObject().Set("value", value).Type()
}

// inside is the site of a node's configuration.
func (c *checker) inside(i int) site {
	s := &c.steps[i]
	at := site{place: i, facts: s.facts, unseen: c.unseenBy(i), roots: []Root{
		{Name: RootInput, Type: s.in, Path: s.inPath}, {Name: RootPayload, Type: c.payload},
		{Name: RootNodes, Type: c.nodesType(s.before)}, {Name: RootRun, Type: runType},
	}}
	if parent, nested := c.g.parent(i); nested {
		at.roots = append(at.roots, Root{Name: RootItem, Type: c.steps[parent].item}, Root{Name: RootIndex, Type: typing.Of(typing.Number)})
	}
	return at
}

// behind is the site of the condition of an edge that leaves a node.
func (c *checker) behind(source int, e Edge) site {
	at := c.inside(source)
	s := &c.steps[source]
	way := before{completed: c.grown(s.completed), failed: c.grown(s.failed)}
	result := Root{Name: RootResult, Type: s.out, Path: s.outPath}
	if e.OutputKey() == OnError {
		way.failed[source] = true
		result.Type, result.Path = failureType, typing.MemberPath(RootNodes, string(e.SourceNodeID))
	} else {
		way.completed[source] = true
	}
	at.roots[slices.IndexFunc(at.roots, func(r Root) bool { return r.Name == RootNodes })].Type = c.nodesType(way)
	at.roots, at.unseen = append(at.roots, result), c.unseenByEdgesOf(source)
	return at
}

// nodesType is what the root nodes holds: what the nodes gave that lead there.
func (c *checker) nodesType(b before) typing.Type {
	return typing.Lookup(nil, func(name string) (typing.Type, bool) {
		place, exists := c.g.index[NodeID(name)]
		if !exists {
			return typing.Any, false
		}
		return c.gave(place, b), true
	})
}

// gave is what a node gave, as far as is certain there.
func (c *checker) gave(place int, b before) typing.Type {
	s := &c.steps[place]
	switch {
	case b.has(b.completed, place):
		return s.out
	case b.has(b.failed, place):
		return failureType
	}
	t := s.out.Or(typing.Of(typing.Undefined))
	if c.handlesFailure(place) {
		t = t.Or(failureType)
	}
	return t
}
