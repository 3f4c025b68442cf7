package run

import (
	"fmt"

	"github.com/sluicehq/sluice/domain"
)

// attemptCompleted completes a node with what its attempt gave, unless that breaks what
// the node's type promises of its output: who builds on the promise would fail later,
// and at another node. Another attempt is not worth it, since the node has had its effect.
func (m *machine) attemptCompleted(i int, output any) {
	if e, ok := m.plan.nodes[i].action.(*effectAction); ok && e.promises() {
		tree, err := asTree(output)
		if err != nil {
			m.fail(i, Failure{Code: CodeOutputInvalid, Message: fmt.Sprintf("The output must be a JSON value, but %v.", err)})
			return
		}
		fitted, found := e.fit("output", tree)
		if failure := invalid(CodeOutputInvalid, found); failure != nil {
			m.fail(i, *failure)
			return
		}
		output = fitted
	}
	m.give(i, output, "")
}

// mostOutput bounds what the node gives, in bytes of JSON.
func (p *plannedNode) mostOutput() int {
	if e, ok := p.action.(*effectAction); ok && e.kind.LimitsOutput {
		return MaxAnswer
	}
	return MaxOutput
}

// promises says whether the type declares an output that another service gives. The
// gateway keeps its own promises.
func (e *effectAction) promises() bool { return !e.kind.BuiltIn && e.kind.Output.Len() > 0 }

// fit checks an output of the node, under path, and puts defaults in place. null counts
// as the empty object, which is what a node without a result gives.
func (e *effectAction) fit(path string, output any) (any, []domain.Violation) {
	if output == nil {
		output = map[string]any{}
	}
	var r domain.Rules
	object, isObject := output.(map[string]any)
	r.Check(isObject, path, domain.WrongType, "must be an object, not %s", kindOf(output))
	if !isObject {
		return nil, r.Violations()
	}
	e.kind.Output.Check(&r, path, object)
	if found := r.Violations(); len(found) > 0 {
		return nil, found
	}
	return e.kind.Output.ApplyDefaults(object), nil
}

// asTree is the value with every json.RawMessage within it read.
func asTree(value any) (any, error) {
	text, err := appendValue(nil, value)
	if err != nil {
		return nil, err
	}
	return parse(text)
}
