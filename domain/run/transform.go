package run

import (
	"fmt"
	"slices"

	"github.com/sluicehq/sluice/domain/workflow"
)

// The names under which a composed source finds what it works on.
const (
	rootItems   = "items"
	rootInitial = "initial"
)

// transformAction computes. An expression gives its value, a mapping an object (or
// whatever its shape is) in which every string is an expression. map, filter and
// reduce go over source, without one over the node's input, which must be an array;
// they are one evaluation with one budget. What they compute for each element is an
// expression over item, index and, for reduce, acc, or an arrow function of them. A
// reduce without initial begins with the first element, and gives null when there is
// none.
type transformAction struct {
	kind     string
	whole    *composed
	source   *evaluator // nil for the input
	initial  any
	hasStart bool
}

func (p planner) transform(config map[string]any) action {
	t := transformAction{kind: workflow.TransformExpression}
	if kind, ok := config["transformType"].(string); ok {
		t.kind = kind
	}
	t.initial, t.hasStart = config["initial"]
	if source, ok := config["source"].(string); ok && source != "" && t.kind != workflow.TransformExpression {
		t.source = newEvaluator(p.compiler, "config.source", source, p.scope)
	}
	c := composer{compiler: p.compiler, roots: slices.Concat(p.scope, workflow.TransformScope(t.kind)[len(workflow.NodeScope()):])}
	method, parameters, after := "", "", ")"
	switch t.kind {
	case workflow.TransformMap:
		method, parameters = "items.map(", "(item, index)"
	case workflow.TransformFilter:
		method, parameters = "items.filter(", "(item, index)"
	case workflow.TransformReduce:
		method, parameters = "items.reduce(", "(acc, item, index)"
		if t.hasStart {
			after = ", initial)"
		}
	default:
		after = ""
	}
	c.write(method)
	switch expression, _ := config["expression"].(string); {
	case expression != "" && method != "":
		c.function("config.expression", expression, parameters, p.scope)
	case expression != "":
		c.expression("config.expression", expression)
	default:
		if method != "" {
			c.write(parameters + " => ")
		}
		c.tree("config.mapping", config["mapping"])
	}
	c.write(after)
	t.whole = c.compile(slices.Concat(p.scope, []string{rootItems, rootInitial}))
	return t
}

func (t transformAction) begin(m *machine, i int) {
	var more map[string]any
	if failure := m.ready(i, t.uses()); failure != nil {
		m.fail(i, *failure)
		return
	}
	if t.kind != workflow.TransformExpression {
		items, failure := t.items(m, i)
		if failure != nil {
			m.fail(i, *failure)
			return
		}
		if t.kind == workflow.TransformReduce && !t.hasStart && len(items) == 0 {
			m.give(i, nil, "")
			return
		}
		more = map[string]any{rootItems: items, rootInitial: t.initial}
	}
	value, failure := t.whole.evaluate(m.view, i, m.at, more)
	if failure != nil {
		m.fail(i, *failure)
		return
	}
	m.give(i, value, "")
}

// uses is what any of its expressions looks at. It is read at once, so that what two of them
// see of an object is the same object.
func (t transformAction) uses() uses {
	u := t.whole.uses
	switch {
	case t.kind == workflow.TransformExpression:
	case t.source == nil:
		u.input = true
	default:
		u = u.union(t.source.uses)
	}
	return u
}

// items is what a map, filter or reduce goes over.
func (t transformAction) items(m *machine, i int) ([]any, *Failure) {
	var value any
	from := "the node's input"
	if t.source == nil {
		value = m.input(i)
	} else {
		var failure *Failure
		if value, failure = t.source.evaluate(m.view, i, m.at, nil); failure != nil {
			return nil, failure
		}
		from = t.source.field
	}
	items, isArray := value.([]any)
	if !isArray {
		return nil, &Failure{Code: CodeNotArray, Message: fmt.Sprintf("A %s goes over an array, but %s is %s.", t.kind, from, kindOf(value))}
	}
	return items, nil
}
