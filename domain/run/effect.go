package run

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/workflow"
)

// effectAction is a node that attempts are made at, since it has an effect outside or
// computes there.
type effectAction struct {
	kind    node.NodeType
	own     node.Schema    // the node's own inputSchema, which narrows that of the type
	config  map[string]any // with defaults in place; nil when it has templates
	resolve *evaluator     // of the templates; nil when there are none
	limit   *time.Duration // how long an attempt may take, where the node itself says
	matches int            // size of the patterns that the input is matched with
	sees    uses           // the roots that it gets where it computes
}

func (p planner) effect(n workflow.Node, kind node.NodeType, config map[string]any) action {
	e := &effectAction{kind: kind, own: ownSchema(n.InputSchema), limit: n.Timeout}
	e.matches = kind.Input.PatternSize() + e.own.PatternSize()
	if kind.Computes {
		e.sees.addRootsWithin(config)
	}
	if !holdsTemplate(kind.Templated(config)) {
		e.config = kind.Config.ApplyDefaults(config)
		return e
	}
	e.resolve = &evaluator{field: "config"}
	e.resolve.uses.addRootsWithin(config)
	e.resolve.expression, e.resolve.fault = p.compiler.CompileTemplates(withURL(kind.URLMember, config), p.scope...)
	e.resolve.uses.narrow(e.resolve.expression, e.resolve.fault)
	return e
}

// withURL marks the template that gives a URL.
func withURL(member string, config map[string]any) map[string]any {
	text, isText := config[member].(string)
	if member == "" || !isText {
		return config
	}
	config = maps.Clone(config)
	config[member] = URLTemplate(text)
	return config
}

// addRootsWithin adds the roots of every string within a tree.
func (u *uses) addRootsWithin(value any) { eachText(value, u.addRoots) }

// eachText visits every string within a tree.
func eachText(value any, visit func(text string)) {
	switch v := value.(type) {
	case string:
		visit(v)
	case []any:
		for _, e := range v {
			eachText(e, visit)
		}
	case map[string]any:
		for _, member := range v {
			eachText(member, visit)
		}
	}
}

// ownSchema reads the schema of the node itself. A document that is no map of field
// schemas is a note of its author's and says nothing.
func ownSchema(d domain.Document) node.Schema {
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(d.String()), &members); err != nil {
		return node.Schema{}
	}
	for _, m := range members {
		if m[0] != '{' {
			return node.Schema{}
		}
	}
	var r domain.Rules
	schema := node.ParseSchema(&r, "inputSchema", node.ReadDeclarations(&r, "inputSchema", []byte(d.String())))
	if len(r.Violations()) > 0 {
		return node.Schema{}
	}
	return schema
}

func (e *effectAction) begin(m *machine, i int) { m.attempt(i) }

// request makes everything of an attempt but its number and the end of the run's
// time. It depends on the node's predecessors and on when the node was reached, so
// every attempt gets the same.
func (v view) request(i int) (*Execute, *Failure) {
	e, isEffect := v.plan.nodes[i].action.(*effectAction)
	if !isEffect {
		return nil, &Failure{Code: CodeTypeUnavailable, Message: "The node's type is not available any more."}
	}
	input, failure := e.given(v, i)
	if failure != nil {
		return nil, failure
	}
	config, failure := e.configFor(v, i)
	if failure != nil {
		return nil, failure
	}
	n, o := v.node(i), &v.run.state.Origin
	_, id := e.kind.Connection(config)
	return &Execute{
		Run: o.ID, Tenant: o.Tenant, SubTenant: o.SubTenant, Entity: o.Entity, Node: n.ID,
		Type: e.kind.Type, Version: e.kind.Version.String(), BuiltIn: e.kind.BuiltIn, StartsRun: e.kind.StartsRun, CanPause: e.kind.CanPause, Computes: e.kind.Computes,
		ReachedAt: *n.StartedAt, Input: input, Config: config, IdempotencyKey: string(o.ID) + ":" + string(n.ID),
		Connection: connection.ID(id), Timeout: e.timeout(config), Weight: v.weigh(input) + v.weigh(config),
	}, nil
}

// given is what an attempt gets: the checked input, or the roots that the node computes with.
func (e *effectAction) given(v view, i int) (any, *Failure) {
	if e.kind.Computes {
		if failure := v.ready(i, e.sees); failure != nil {
			return nil, failure
		}
		return v.values(i, e.sees, nil), nil
	}
	if failure := v.ready(i, uses{input: true}); failure != nil {
		return nil, failure
	}
	value := v.input(i)
	v.chargeMatches(e.matches, i)
	return e.input(value)
}

// chargeMatches counts matching what flows into a node with patterns.
func (v view) chargeMatches(size, i int) {
	length := 0
	for _, place := range v.sources(i, uses{input: true}) {
		length += len(v.text(place))
	}
	v.charge(min(size*length, node.MaxMatch) / matchesForStep)
}

// matchesForStep is how many operations of matching cost one step.
const matchesForStep = 8

// weigh is the weight of a tree, which it charges for.
func (v view) weigh(tree any) int64 {
	weight := weightOfTree(tree)
	v.charge(int(weight / weighedForStep))
	return weight
}

// weighedForStep is how many bytes of values one step goes over.
const weighedForStep = 128

// maxPrepared bounds the memory of the inputs and configurations of one step's attempts, in
// bytes.
const maxPrepared = 256 << 10

// leaveOut leaves out the input and the configuration where maxPrepared would be exceeded.
func (e *Execute) leaveOut(prepared *int64) {
	if *prepared+e.Weight > maxPrepared {
		e.Input, e.Config, e.Deferred = nil, nil, true
		return
	}
	*prepared += e.Weight
}

// Prepare computes the input and the configuration of an attempt that were left out.
func (r *Run) Prepare(p *Plan, e Execute) (Execute, error) {
	if err := r.check(p); err != nil || !e.Deferred {
		return e, err
	}
	i, known := p.index[e.Node]
	if !known || i >= len(r.state.Nodes) {
		return e, cannotRepeat(r.state.ID, e.Node, "There is no such node.")
	}
	wanted, failure := r.look(p).request(i)
	if failure != nil {
		return e, cannotRepeat(r.state.ID, e.Node, failure.Message)
	}
	e.Input, e.Config, e.Deferred = wanted.Input, wanted.Config, false
	return e, nil
}

func cannotRepeat(id ID, at workflow.NodeID, reason string) error {
	return domain.Fail(domain.Internal, "run_plan_mismatch", "Run %s began an attempt at node %q that cannot be repeated: %s", id, at, reason)
}

// timeout is how long an attempt may take; 0 where neither the node nor its configuration says.
func (e *effectAction) timeout(config map[string]any) time.Duration {
	if e.limit != nil {
		return *e.limit
	}
	if e.kind.TimeoutMember == "" {
		return 0
	}
	return milliseconds(config[e.kind.TimeoutMember])
}

// input checks what flows into the node and puts defaults in place. A node that
// declares no inputs takes any value.
func (e *effectAction) input(value any) (any, *Failure) {
	if e.kind.Input.Len() == 0 && e.own.Len() == 0 {
		return value, nil
	}
	var r domain.Rules
	object, isObject := value.(map[string]any)
	r.Check(isObject, "input", domain.WrongType, "must be an object, not %s", kindOf(value))
	if isObject {
		e.kind.Input.Check(&r, "input", object)
		e.own.Check(&r, "input", object)
	}
	if failure := invalid(CodeInputInvalid, r.Violations()); failure != nil {
		return nil, failure
	}
	return e.own.ApplyDefaults(e.kind.Input.ApplyDefaults(object)), nil
}

// configFor is the configuration with its templates resolved and checked.
func (e *effectAction) configFor(v view, i int) (map[string]any, *Failure) {
	if e.resolve == nil {
		return e.config, nil
	}
	tree, failure := e.resolve.evaluate(v, i, *v.node(i).StartedAt, nil)
	if failure != nil {
		return nil, failure
	}
	given, _ := tree.(map[string]any)
	config := e.kind.ReadConfig(given)
	var r domain.Rules
	e.kind.CheckConfig(&r, "config", config)
	if failure = invalid(CodeConfigInvalid, r.Violations()); failure != nil {
		return nil, failure
	}
	return e.kind.Config.ApplyDefaults(config), nil
}

// Outstanding returns the attempts that were begun and have no result yet, for a
// process that takes the run over. They are the same as when a step asked for them.
func (r *Run) Outstanding(p *Plan) ([]Execute, error) {
	if err := r.check(p); err != nil {
		return nil, err
	}
	v := r.look(p)
	deadline, _ := r.deadline()
	var open []Execute
	prepared := int64(0)
	for i := range r.state.Nodes {
		n := v.node(i)
		if n.Status != NodeRunning || n.RetryAt != nil {
			continue
		}
		wanted, failure := v.request(i)
		if failure != nil {
			return nil, cannotRepeat(r.state.ID, n.ID, failure.Message)
		}
		wanted.Attempt, wanted.Deadline = n.Attempts, deadline
		wanted.leaveOut(&prepared)
		open = append(open, *wanted)
	}
	return slices.Clip(open), nil
}
