package workflow

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
)

// Expressions compiles what nodes and edges compute with. It runs nothing. Each method
// returns what the source names of the roots, in its order, or an error that says what is
// wrong and where in the source; then nothing is named.
type Expressions interface {
	// CheckExpression reports whether source is an expression that uses no free name but the
	// roots and what the language itself defines.
	CheckExpression(source string, roots ...string) (named []Named, err error)

	// CheckFunction reports whether source is an arrow function, such as (item, index) =>
	// item.price * index. It may use its parameters besides the roots; the error says what
	// is wrong with it. For any other source isFunction is false, and the error nil.
	CheckFunction(source string, roots ...string) (isFunction bool, named []Named, err error)

	// CheckTemplate does the same as CheckExpression for every expression that stands
	// between {{ and }} in the text. A {{ without its }} is an error.
	CheckTemplate(text string, roots ...string) (named []Named, err error)

	// CheckURLTemplate does the same as CheckTemplate for a text that gives a URL. An
	// expression whose value would change what is written out of the scheme, the host
	// and the port is an error, as in https://api.example.com{{ input.path }}.
	CheckURLTemplate(text string, roots ...string) (named []Named, err error)
}

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
	Called      map[ID]bool       // those of [Graph.Calls] that nodes of the version may call

	// CompileCode says what is wrong with the source of a code node, and where; empty where
	// nothing is. Nil leaves sources unread.
	CompileCode func(source string) (problem string)
}

// Report is what a check has found.
type Report struct {
	Details  []Finding // what stands against publishing
	Warnings []Finding // what does not, and is hardly meant
}

// Check reports everything that keeps a graph from being published, the way a
// compiler does: all at once, nodes first, then edges, each in the client's order.
//
//   - No node has the id under which the context of a run holds its payload
//     (execution rules, "The graph"), where it would hide what the node gave.
//   - Nodes have a type and version of the registry and a configuration that fits
//     its schema; where a type has templates, a text of the configuration that
//     holds {{ is checked as one and fits any type.
//   - Expressions and templates compile, and the nodes that they name exist and can have
//     run before.
//   - Branch targets in the configuration are nodes that an edge leads to.
//   - Nodes that call a workflow name one that there is.
//   - Trigger nodes name triggers of the version that have their type.
//   - Every node is reached from where some run starts.
//   - Edges name outputs, branches and inputs that exist, what they carry fits
//     where it arrives, and required inputs are provided. The schemas written into
//     a node narrow those of its type; a document that is no map of field schemas
//     is a note of its author's and says nothing.
//
// What no draft may have either, such as a cycle, is reported as well.
//
// It warns of triggers that are fired by the same: each of them starts a run.
func Check(g Graph, env Environment) Report {
	c := &checker{
		g: g, env: env, names: namesOf(env.Registry),
		triggerNodes: g.triggerNodes(), steps: make([]step, len(g.nodes)),
	}
	c.warnOfAlikeTriggers()
	c.check()
	return Report{Details: c.found.list, Warnings: c.warned.list}
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
	for i, n := range g.nodes {
		about := nodeSubject(i, n)
		if n.ID == RootInput {
			c.found.add(about.member("id"), domain.NotAllowed, "must be another one: the context of a run holds its payload under %q", RootInput)
		}
		c.steps[i] = c.prepare(about, n)
		c.checkNode(about, i)
		if !reached[n.ID] {
			c.found.add(about, UnreachableNode, "is never reached: no edge leads to it from %s", c.whereRunsStart())
		}
	}
	c.flow()
	for i, e := range g.edges {
		c.checkEdge(edgeSubject(i, e), i)
	}
}

// checker is one check of one graph.
type checker struct {
	g            Graph
	env          Environment
	names        typeNames
	triggerNodes []triggerNode
	found        findings
	warned       findings
	steps        []step         // by place of the node
	leads        map[int][]bool // by place of a node, which nodes edges lead to from it
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
	c.checkTriggerNode(config, i)
	c.checkInputs(about, i)
	c.checkCall(config, s)
}

// checkCall reports a workflow that is called and is not there. What is no text is reported by
// the schema, and a template by the type.
func (c *checker) checkCall(config subject, s step) {
	id, isText := s.config[node.CalledMember].(string)
	if s.kind.StartsRun && isText && !strings.Contains(id, "{{") && !c.env.Called[ID(id)] {
		c.found.add(config.member(node.CalledMember), domain.Unknown, "must be the id of a workflow of the same sub-tenant; there is no %s", quote(NodeID(id)))
	}
}

// Calls lists the workflows that nodes call, each once.
func (g Graph) Calls() (called []ID) {
	for _, n := range g.nodes {
		if kind, known := node.BuiltIn(node.Type(n.Type)); known && kind.StartsRun {
			config, _ := object(n.Config)
			if id, isText := config[node.CalledMember].(string); isText && !slices.Contains(called, ID(id)) {
				called = append(called, ID(id))
			}
		}
	}
	return called
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
