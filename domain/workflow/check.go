package workflow

import (
	"encoding/json"
	"strings"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/typing"
)

// AttachedTrigger is what a graph needs to know of a trigger of its version.
type AttachedTrigger struct {
	ID      string
	Name    string
	Type    string // "webhook" or "schedule"
	FiredBy string // what it shares with triggers like it: an event, or times; empty for one that nothing fires but calls of its own
}

// Environment is what a graph is checked against. Every member but Triggers, Called and
// CompileCode is needed.
type Environment struct {
	Registry    node.Registry     // what the tenant sees
	Expressions Expressions       // the expression language
	Triggers    []AttachedTrigger // all triggers of the version once it is published, active or not
	Called      map[ID]Callee     // those of [Graph.Calls] that nodes of the version may call
	Payload     typing.Type       // what they start runs with

	// Connections are those of [Graph.Connections] that serve the version's sub-tenant, active or not.
	Connections map[connection.ID]*connection.Connection

	// CompileCode says what is wrong with the source of a code node, and where; empty where
	// nothing is. Nil leaves sources unread.
	CompileCode func(source string) (problem string, at Place)
}

// Report is what a check has found.
type Report struct {
	Details  []Finding // what stands against publishing
	Warnings []Finding // what does not, and is hardly meant
}

// Check reports everything that keeps a graph from being published, the way a
// compiler does: all at once, nodes first, then edges, each in the client's order.
//
//   - No node has the id under which the context of a run holds its payload,
//     where it would hide what the node gave.
//   - Nodes have a type and version of the registry and a configuration that fits
//     its schema; where a type has templates, a text of the configuration that
//     holds {{ is checked as one and fits any type.
//   - Expressions and templates compile, and the nodes that they name exist and can have
//     run before.
//   - Nodes whose body others are run others, and have one; no run starts in it.
//   - Branch targets in the configuration are nodes that an edge leads to.
//   - Nodes that call a workflow name one that there is, and call it with what its triggers
//     declare.
//   - Members that may only name a connection name one that is active and serves the sub-tenant.
//   - What expressions compute can be right: they read no member that a closed object
//     does not have, call no method that the value does not have, and give no operation
//     what it always refuses. Types are gradual: what nothing is known of is right.
//   - Trigger nodes name triggers of the version that have their type.
//   - Every node is reached from where some run starts.
//   - Edges name outputs, branches and inputs that exist, what they carry fits
//     where it arrives, and required inputs are provided. The schemas written into
//     a node narrow those of its type; a document that is no map of field schemas
//     is a note of its author's and says nothing.
//
// What no draft may have either, such as a cycle, is reported as well.
//
// It warns of what is hardly meant: triggers that are fired by the same, comparisons that
// always come out alike, values that may be missing where that fails, answers that nothing
// looks at, texts that look like secrets and branches that lead nowhere.
func Check(g Graph, env Environment) Report {
	c := newChecker(g, env)
	c.warned.eachPlace = true
	c.warnOfAlikeTriggers()
	c.check()
	return Report{Details: c.found.list, Warnings: c.warned.list}
}

func newChecker(g Graph, env Environment) *checker {
	c := &checker{
		g: g, env: env, payload: env.Payload,
		triggerNodes: g.triggerNodes(), steps: make([]step, len(g.nodes)), guards: make(map[int]Checked, len(g.edges)), readNodes: map[NodeID]bool{}, results: map[ID]typing.Type{},
	}
	c.starts, c.alwaysStarts = c.whereRunsBegin()
	return c
}

func (c *checker) check() {
	g := c.g
	if len(g.nodes) == 0 {
		c.found.add(subject{path: "nodes"}, domain.Required, "must hold at least one node")
		return
	}
	c.found = collected(g.defects(true))
	if len(g.nodes) > MaxNodes || len(g.edges) > MaxEdges {
		return
	}
	reached := c.reached()
	found := len(c.found.list)
	for i, n := range g.nodes {
		about := nodeSubject(i, n)
		if n.ID == RootInput {
			c.found.add(about.member("id"), domain.NotAllowed, "must be another one: the context of a run holds its payload under %q", RootInput)
		}
		c.steps[i] = c.prepare(about, n)
	}
	c.checkBodies()
	c.visitAll(nil, func(i int) {
		about := nodeSubject(i, g.nodes[i])
		c.checkNode(about, i)
		if !reached[g.nodes[i].ID] {
			c.found.add(about, UnreachableNode, "is never reached: no edge leads to it from %s", c.whereRunsStart())
		}
	})
	for i, e := range g.edges {
		c.checkEdge(edgeSubject(i, e), i)
	}
	c.checkAnswers()
	c.found.inOrder(found, g)
	c.warned.inOrder(0, g)
}

// visitAll looks at the nodes as runs come to them: a node after what leads to it, with its body
// before what it gives. Nodes that lead back to themselves come last. Those that are not wanted
// are passed over; nil wants all.
func (c *checker) visitAll(wanted []bool, look func(i int)) {
	visited := make([]bool, len(c.g.nodes))
	order := c.order()
	var visit func(i int)
	visit = func(i int) {
		if visited[i] || wanted != nil && !wanted[i] {
			return
		}
		visited[i] = true
		c.arrive(i)
		look(i)
		for _, inner := range order {
			if parent, nested := c.g.parent(inner); nested && parent == i {
				visit(inner)
			}
		}
		c.give(i)
		c.leave(i)
	}
	for _, i := range order {
		if _, nested := c.g.parent(i); !nested {
			visit(i)
		}
	}
	for _, i := range order {
		visit(i)
	}
}

// order is that in which runs come to the nodes; nodes that lead back to themselves come last.
func (c *checker) order() []int {
	order := make([]int, 0, len(c.g.nodes))
	placed := make([]bool, len(c.g.nodes))
	for _, id := range c.g.TopologicalOrder() {
		i := c.g.index[id]
		if !placed[i] {
			order, placed[i] = append(order, i), true
		}
	}
	for i := range placed {
		if !placed[i] {
			order = append(order, i)
		}
	}
	return order
}

// checker is one check of one graph.
type checker struct {
	g            Graph
	env          Environment
	names        *typeNames // of the registry; nil before they are needed
	triggerNodes []triggerNode
	found        findings
	warned       findings
	steps        []step          // by place of the node
	guards       map[int]Checked // by place of the edge, its condition
	leading      map[int][]bool  // by place of a node, which nodes lead to it
	starts       map[NodeID]bool // where some runs begin
	alwaysStarts map[NodeID]bool // where all runs begin
	payload      typing.Type
	readNodes    map[NodeID]bool    // what nodes gave that something reads by its name
	readsAnyNode bool               // something reads what nodes gave whose names are not written out
	asked        *askedSource       // nil where nothing is asked for
	quiet        bool               // only types are wanted, and no findings
	results      map[ID]typing.Type // of the workflows that are called, as far as they were needed
}

// step is what is known of a node.
type step struct {
	known    bool // the registry has its type and version; else nothing below is set
	kind     node.NodeType
	config   map[string]any // as [node.NodeType.ReadConfig] reads it
	input    node.Schema    // of the type, narrowed by the node's own
	output   node.Schema
	branches []string         // nil when the node chooses none
	takes    node.FieldSchema // what its whole input must be
	gives    node.FieldSchema // what edges carry away from it

	before                      // what is certain where a run comes to it
	always          bool        // every run comes to it that does not end before
	in, out         typing.Type // what flows into it, and what it gives when it completes
	inPath, outPath string      // what these are the same as, which facts are about; empty for nothing else
	test            Checked     // of a condition
	computes        typing.Type // of a transform and a return
	calls           typing.Type // of what a run is started with by one that does that
	readsInput      bool
	item            typing.Type // of one that runs a body, what that is run for
}

func (c *checker) prepare(about subject, n Node) step {
	kind, known := c.lookup(about, n)
	written, readable := object(n.Config)
	if !readable {
		c.found.add(about.member("config"), domain.BadFormat, "must be a JSON object")
	}
	if !known || !readable {
		return step{}
	}
	config := kind.ReadConfig(written)
	s := step{
		known: true, kind: kind, config: config,
		input:    c.narrow(about.member("inputSchema"), n.InputSchema, kind.Input),
		output:   c.narrow(about.member("outputSchema"), n.OutputSchema, kind.Outputs(config)),
		branches: node.Branches(kind.Type, config),
	}
	s.takes = s.input.Whole()
	return s
}

func (c *checker) checkNode(about subject, i int) {
	s := c.steps[i]
	if !s.known {
		return
	}
	config := about.member("config")
	c.checkConfig(config, s)
	c.checkExpressions(config, i)
	c.checkBranches(config, i)
	c.checkBranchEnds(config, i)
	c.checkSecrets(config, s)
	c.checkTriggerNode(config, i)
	c.checkInputs(about, i)
	c.checkCall(config, i)
	c.checkConnection(config, &s)
}

// checkConfig applies the schema of the type. What a template gives is left to the run.
func (c *checker) checkConfig(about subject, s step) {
	templates := map[string]bool{}
	for _, t := range c.templates(about, s) {
		templates[t.about.path] = true
	}
	var r domain.Rules
	s.kind.CheckUnresolved(&r, about.path, s.config, func(path string) bool { return templates[path] })
	for _, v := range r.Violations() {
		c.found.add(subject{path: v.Field, node: about.node}, v.Code, "%s", v.Message)
	}
}

// object reads a document into a JSON tree with its numbers as they are spelled.
func object(d domain.Document) (tree map[string]any, ok bool) {
	dec := json.NewDecoder(strings.NewReader(d.String()))
	dec.UseNumber()
	err := dec.Decode(&tree)
	return tree, err == nil && tree != nil
}
