package run

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/workflow"
)

// Sample is data that expressions are tried with.
type Sample struct {
	Payload json.RawMessage                     // nil where it is not known
	Nodes   map[workflow.NodeID]json.RawMessage // what nodes gave, of those of which it is known
}

// Check reports what is wrong with a sample for a graph, below a path.
func (s Sample) Check(field string, g workflow.Graph) error {
	var r domain.Rules
	checkJSON(&r, s.Payload, domain.Member(field, "payload"))
	known := map[workflow.NodeID]bool{}
	for _, n := range g.Nodes() {
		known[n.ID] = true
	}
	for _, id := range slices.Sorted(maps.Keys(s.Nodes)) {
		at := domain.Member(domain.Member(field, "nodes"), string(id))
		r.Check(known[id], at, domain.Unknown, "must be for a node of this version; there is no %q", id)
		checkJSON(&r, s.Nodes[id], at)
	}
	return r.Err("completion_invalid", "What is to be completed is not valid.")
}

// Size is how long the sample is, in bytes of JSON.
func (s Sample) Size() int64 {
	size := int64(len(s.Payload))
	for _, output := range s.Nodes {
		size += int64(len(output))
	}
	return size
}

// Over is the sample with the pins of a version: what these say of a node goes before what a run
// told, and behind what somebody sent.
func (s Sample) Over(pins map[workflow.NodeID]json.RawMessage, sent bool) *Sample {
	nodes := maps.Clone(pins)
	for id, output := range s.Nodes {
		if _, pinned := nodes[id]; sent || !pinned {
			nodes[id] = output
		}
	}
	return &Sample{Payload: s.Payload, Nodes: nodes}
}

// SampleOf is what a run was started with and what its nodes gave.
func SampleOf(r *Run) Sample {
	s := Sample{Payload: r.Payload(), Nodes: map[workflow.NodeID]json.RawMessage{}}
	for _, id := range r.state.Executed {
		if output, ok := r.Output(id); ok {
			s.Nodes[id] = output
		}
	}
	return s
}

// Trial computes expressions where they stand in a version, with sample data. Which edges
// would be taken is not looked at: what a node gave flows along all of them.
type Trial struct {
	view
	nodes    []workflow.Node
	place    int
	onEdge   bool
	compiler Compiler
	payload  bool // it is known
	now      time.Time
}

// NewTrial computes in a node of a graph, or on its edges; plan is its [NewOutline]. When that has cost [MaxSimulatedSteps], nothing more is computed.
func NewTrial(p *Plan, g workflow.Graph, compiler Compiler, at workflow.NodeID, onEdge bool, s Sample, now time.Time, budget Budget) *Trial {
	t := &Trial{
		view:  view{plan: p, budget: budget.orDefaults(), meter: &Meter{}, charged: newNodeSet(len(p.nodes) + 1)},
		nodes: g.Nodes(), place: p.index[at], onEdge: onEdge, compiler: compiler, payload: len(s.Payload) > 0, now: now,
	}
	t.run = New("", Start{Payload: s.Payload}, now)
	t.run.state.Nodes = make([]NodeState, len(p.nodes))
	for i, n := range p.nodes {
		t.run.state.Nodes[i] = NodeState{ID: n.id, Status: NodePending}
	}
	for _, id := range p.graph.TopologicalOrder() {
		t.fill(p.index[id], s.Nodes[id])
	}
	return t
}

// NewOutline is a plan of which nothing is compiled, so that nothing of it can run. It knows what
// flows where, in bodies as well: what a body begins with stands behind the node that it is of.
func NewOutline(id workflow.VersionID, g workflow.Graph, types Types) *Plan {
	nodes, edges := g.Nodes(), g.Edges()
	reached := map[workflow.NodeID]bool{}
	for _, e := range edges {
		reached[e.TargetNodeID] = true
	}
	for i, n := range nodes {
		if n.Parent != "" && !reached[n.ID] {
			edges = append(edges, workflow.Edge{SourceNodeID: n.Parent, TargetNodeID: n.ID})
		}
		nodes[i].Parent = ""
	}
	return newPlan(id, workflow.RestoreGraph(nodes, edges), "", uncompiled{}, func(_ *weighing, n workflow.Node) (action, map[string]any) {
		if node.Branches(node.Type(n.Type), nil) == nil {
			return nil, nil
		}
		config := configOf(n)
		if kind, known := (planner{types: types}).lookup(n); known {
			config = kind.ReadConfig(config)
		}
		return nil, config
	})
}

// configOf is what the author of a node wrote; nil where that is no JSON object.
func configOf(n workflow.Node) map[string]any {
	tree, _ := parse(json.RawMessage(n.Config.String()))
	config, _ := tree.(map[string]any)
	return config
}

// uncompiled compiles nothing.
type uncompiled struct{}

var errUncompiled = domain.Fail(domain.Internal, "not_compiled", "The expression was not compiled.")

// Compile compiles nothing.
func (uncompiled) Compile(string, ...string) (Expression, error) { return nil, errUncompiled }

// CheckFunction checks nothing.
func (uncompiled) CheckFunction(string, ...string) (bool, error) { return false, nil }

// CompileTemplates compiles nothing.
func (uncompiled) CompileTemplates(any, ...string) (Expression, error) { return nil, errUncompiled }

// fill notes what a node gave. One that passes on what it receives need not be in the sample.
func (t *Trial) fill(i int, output json.RawMessage) {
	n := t.node(i)
	kind, _ := node.BuiltIn(node.Type(t.nodes[i].Type))
	gets := t.merges(i) || len(t.plan.nodes[i].in) == 0 && t.payload
	passes := gets && (kind.PassesInput || kind.Type.IsTrigger())
	if len(output) == 0 && !passes {
		return
	}
	n.Status = NodeCompleted
	for _, e := range t.plan.nodes[i].out {
		if w := &t.plan.edges[e]; w.onError {
			n.Dead = append(n.Dead, w.place)
		}
	}
	switch w := t.sole(i); {
	case len(output) > 0:
		n.Output = output
	case w == nil && !t.merges(i):
		n.OutputIsInput = true
	case w != nil && w.member == "":
		n.OutputIsInput, n.OutputOf = t.node(w.source).OutputIsInput, t.node(w.source).OutputOf
		if !n.OutputIsInput && n.OutputOf == "" {
			n.OutputOf = t.node(w.source).ID
		}
	default:
		if t.ready(i, uses{input: true}) == nil {
			n.Output, _ = appendValue(nil, t.input(i)) // it was read from JSON
		}
		if len(n.Output) == 0 {
			n.Status = NodePending
		}
	}
}

// Evaluate computes an expression or a template. problem says why it has no value.
func (t *Trial) Evaluate(s workflow.Source) (value any, problem string) {
	if t.meter.Steps > MaxSimulatedSteps {
		return nil, "the sample data are too large to be computed with"
	}
	e := t.evaluator(s)
	if e.fault != nil {
		return nil, e.fault.Error()
	}
	more := t.each(s)
	if failure := t.ready(t.place, e.uses); failure != nil {
		return nil, failure.Message
	}
	values := t.values(t.place, e.uses, more)
	if t.beginsBody() {
		values[workflow.RootInput] = more[workflow.RootItem]
	} else if !t.payload {
		if !t.merges(t.place) {
			delete(values, workflow.RootInput)
		}
	}
	if !t.payload {
		delete(values, workflow.RootPayload)
	}
	value, err := e.expression.Evaluate(Env{Values: values, Now: t.now, Meter: t.meter})
	if err == nil {
		return value, ""
	}
	problem = err.Error()
	if s.Form == workflow.EachItem { // it may have been wrapped
		_, problem, _ = strings.Cut(problem, ": ")
	}
	return nil, problem
}

// evaluator compiles a source. What is computed for each element is computed for the first.
func (t *Trial) evaluator(s workflow.Source) *evaluator {
	names := func(roots []workflow.Root) (all []string) {
		for _, r := range roots {
			all = append(all, r.Name)
		}
		return all
	}
	e := &evaluator{}
	e.uses.addRoots(s.Text)
	e.uses.result = t.onEdge && t.gave(t.place)
	roots := names(s.Roots)
	switch s.Form {
	case workflow.Template:
		e.expression, e.fault = t.compiler.CompileTemplates(s.Text, roots...)
	case workflow.URLTemplate:
		e.expression, e.fault = t.compiler.CompileTemplates(URLTemplate(s.Text), roots...)
	case workflow.EachItem:
		text, each := s.Text, names(s.Each)
		if isFunction, _ := t.compiler.CheckFunction(text, roots...); isFunction {
			text = "(" + text + "\n)(" + strings.Join(each, ", ") + ")"
		}
		e.expression, e.fault = t.compiler.Compile(text, slices.Concat(roots, each)...)
	default:
		e.expression, e.fault = t.compiler.Compile(s.Text, slices.Concat(roots, names(s.Each))...)
	}
	e.uses.narrow(e.expression, e.fault)
	return e
}

// beginsBody says whether the node gets an item.
func (t *Trial) beginsBody() bool {
	parent, in := t.nodes[t.place].Parent, t.plan.nodes[t.place].in
	return parent != "" && len(in) == 1 && t.plan.nodes[t.plan.edges[in[0]].source].id == parent
}

// each are the roots that a source has besides: on an edge what its source gave, in a body and in
// a transform the first of what these go over.
func (t *Trial) each(s workflow.Source) (more map[string]any) {
	more = map[string]any{}
	if t.onEdge && t.gave(t.place) {
		more[workflow.RootResult] = t.output(t.place)
	}
	n := t.nodes[t.place]
	if loop, nested := t.plan.index[n.Parent]; nested {
		outer := *t
		outer.place, outer.onEdge = loop, false
		outer.first(configOf(t.nodes[loop])["items"], append(workflow.NodeScope(), workflow.BodyScope()...), more)
	}
	isEach := slices.ContainsFunc(slices.Concat(s.Roots, s.Each), func(r workflow.Root) bool { return r.Name == workflow.RootItem })
	config := configOf(n)
	kind, _ := config["transformType"].(string)
	if isEach && n.Type == string(node.Transform) && len(workflow.TransformScope(kind)) > len(workflow.NodeScope()) {
		source := config["source"]
		if source == nil || source == "" {
			source = workflow.RootInput
		}
		t.first(source, workflow.NodeScope(), more)
		if initial, given := config["initial"]; given {
			more[workflow.RootAcc] = initial
		}
	}
	return more
}

// first adds the first element of the array that a text gives, where that is known.
func (t *Trial) first(text any, scope []string, more map[string]any) {
	var list workflow.Source
	list.Text, _ = text.(string)
	for _, name := range scope {
		list.Roots = append(list.Roots, workflow.Root{Name: name})
	}
	value, _ := t.Evaluate(list)
	if items, _ := value.([]any); len(items) > 0 {
		more[workflow.RootItem], more[workflow.RootIndex] = items[0], 0.0
	}
}

// WriteValue writes what [Trial.Evaluate] gave as JSON; nil for nothing and for what cannot be
// written.
func (t *Trial) WriteValue(value any) json.RawMessage {
	text, err := appendValue(nil, value)
	if err != nil {
		return nil
	}
	t.charge(len(text) / writeForStep)
	return text
}
