package workflow

import (
	"encoding/json"
	"slices"

	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/typing"
)

// checkConstant warns of a condition that always comes out alike because of what it is of.
func (c *checker) checkConstant(about subject, test Checked) {
	always := ""
	switch {
	case test.Constant:
	case test.Type.Within(typing.Array | typing.Object):
		always = "always"
	case test.Type.Within(typing.Nullish):
		always = "never"
	}
	if always != "" {
		c.warned.add(about, ConstantComparison, "is %s true, for it gives %s; compare what is in it, such as a member", always, test.Type)
	}
}

// checkCaseTypes warns of cases that a switch never chooses because of what its expression gives.
func (c *checker) checkCaseTypes(about subject, s *step, gives typing.Type) {
	if gives.IsAny() {
		return
	}
	cases, _ := s.config["cases"].([]any)
	for i := range cases {
		one, _ := cases[i].(map[string]any)
		if value, given := one["value"]; given && !mayMatch(gives, value) {
			c.warned.add(about.member("cases").item(i).member("value"), ConstantComparison,
				"is never chosen: the expression gives %s, and the value is %s", gives, spelled(value))
		}
	}
}

// mayMatch says whether a value of the type may be that of a case. Text matches a number or
// boolean that is spelled so.
func mayMatch(gives typing.Type, value any) bool {
	wanted := typeOfJSON(value)
	switch v := value.(type) {
	case bool:
		wanted = typing.Value(v)
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			return true
		}
		wanted = typing.Value(f)
	case string:
		if gives.Kinds()&(typing.Number|typing.Boolean) != 0 {
			return true
		}
		wanted = typing.Value(v)
	}
	return !typing.NeverEqual(gives.Stored(), wanted)
}

// checkBranchEnds warns of branches that lead nowhere, unless the configuration has the member
// that would name where they lead.
func (c *checker) checkBranchEnds(about subject, i int) {
	s := c.steps[i]
	written, _ := object(c.g.nodes[i].Config)
	leads := map[string]bool{}
	for _, e := range c.g.outgoing[i] {
		edge := c.g.edges[e]
		switch key := edge.OutputKey(); key {
		case OnError:
		case OnSuccess:
			return
		case "":
			branch := c.branchOf(edge, &s)
			if branch == "" {
				return // several lead there, or all
			}
			leads[branch] = true
		default:
			leads[key] = true
		}
	}
	for _, b := range node.BranchTargets(s.kind.Type, s.config) {
		if !leads[b.Branch] && b.Node == "" && !isWritten(written, s.kind.Type, b) {
			c.warned.add(about.member(b.Member), BranchEnds, "leads nowhere: a run that takes branch %q ends there. "+
				"Add an edge with the sourceOutputKey %q, or say that it is meant with \"\" here", b.Branch, b.Branch)
		}
	}
}

// isWritten says whether the configuration has the member that names where a branch leads,
// blank or not.
func isWritten(config map[string]any, t node.Type, b node.BranchTarget) bool {
	place := slices.Index(node.Branches(t, config), b.Branch)
	member := map[string]string{node.BranchTrue: "trueBranch", node.BranchFalse: "falseBranch", node.BranchDefault: "defaultNode"}[b.Branch]
	if member == "" {
		cases, _ := config["cases"].([]any)
		if place < 0 || place >= len(cases) {
			return false
		}
		config, _ = cases[place].(map[string]any)
		member = "nodeId"
	}
	_, written := config[member]
	return written
}

// noteUses notes what an expression of a node, or of an edge that leaves it, looks at.
func (c *checker) noteUses(place int, checked Checked) {
	if place < 0 {
		return
	}
	c.steps[place].readsInput = c.steps[place].readsInput || checked.Uses[RootInput] > 0
	byName := 0
	for _, n := range checked.Named {
		if n.Root == RootNodes {
			byName++
			c.readNodes[NodeID(n.Name)] = true
		}
	}
	c.readsAnyNode = c.readsAnyNode || checked.Uses[RootNodes] > byName
}

// checkAnswers warns of questions to people whose answer nothing looks at: no condition of an
// edge, no expression, and no node that it flows into.
func (c *checker) checkAnswers() {
	for i, n := range c.g.nodes {
		s := c.steps[i]
		if !s.known || s.kind.Type != node.Input || len(c.g.outgoing[i]) == 0 || c.readsAnyNode || c.readNodes[n.ID] {
			continue
		}
		if !c.looksAt(i, map[int]bool{}) {
			c.warned.add(nodeSubject(i, n), UnusedAnswer, "asks a question, and nothing looks at the answer: "+
				"give an edge that leaves it a condition, such as result.value === true, or read nodes.%s.value", n.ID)
		}
	}
}

// looksAt says whether something looks at what leaves a node. What gives its input on and leads
// nowhere gives it as the output of the run.
func (c *checker) looksAt(i int, seen map[int]bool) bool {
	return slices.ContainsFunc(c.g.outgoing[i], func(at int) bool {
		e := c.g.edges[at]
		target := c.g.index[e.TargetNodeID]
		t := &c.steps[target]
		switch {
		case e.OutputKey() == OnError:
			return false
		case e.Guard() != "" || !t.known || t.readsInput || t.callsWithInput():
			return true
		case t.kind.Type == node.Transform:
			kind, _ := t.config["transformType"].(string)
			source, _ := t.config["source"].(string)
			return len(TransformScope(kind)) > len(NodeScope()) && source == ""
		case t.givesInput():
			if seen[target] {
				return false
			}
			seen[target] = true
			return len(c.g.outgoing[target]) == 0 || c.looksAt(target, seen)
		}
		return !t.kind.BuiltIn
	})
}

// givesInput says whether what the node gives is what it gets.
func (s *step) givesInput() bool {
	_, returnsOther := s.config["value"]
	return s.kind.PassesInput || s.kind.BuiltIn && s.kind.Type == node.Return && !returnsOther
}

// callsWithInput says whether the node gives what it gets to the run that it starts.
func (s *step) callsWithInput() bool {
	_, givesOther := s.config["input"]
	return s.kind.StartsRun && !givesOther
}

// whereRunsBegin finds the nodes at which some runs begin, and those at which all do.
func (c *checker) whereRunsBegin() (some, all map[NodeID]bool) {
	some, all = map[NodeID]bool{}, map[NodeID]bool{}
	begins := [][]NodeID{c.g.Roots()} // by hand
	for _, n := range c.triggerNodes {
		begins = append(begins, []NodeID{n.id})
	}
	for _, trg := range c.env.Triggers {
		begins = append(begins, c.g.startsAt(c.triggerNodes, trg))
	}
	for _, ids := range begins {
		for _, id := range ids {
			some[id] = true
		}
	}
	for id := range some {
		all[id] = !slices.ContainsFunc(begins, func(ids []NodeID) bool { return !slices.Contains(ids, id) })
	}
	return some, all
}
