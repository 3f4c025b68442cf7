package run

import (
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/domain/workflow"
)

// evaluator is a compiled expression with what it may look at.
type evaluator struct {
	expression Expression
	fault      error  // why it did not compile
	field      string // where it stands, for messages
	uses       uses
}

// uses says which roots an expression may look at, so that nothing else is made
// ready.
type uses struct {
	input, payload, nodes, run, item bool

	result bool              // of an edge, whose expression sees what its source gave
	named  []workflow.NodeID // the nodes that are looked at; nil where that may be any
}

// union is what either looks at.
func (u uses) union(other uses) uses {
	both := uses{
		input: u.input || other.input, payload: u.payload || other.payload, nodes: u.nodes || other.nodes, run: u.run || other.run, item: u.item || other.item,
		result: u.result || other.result,
	}
	if (u.named != nil || !u.nodes) && (other.named != nil || !other.nodes) {
		both.named = slices.Concat(u.named, other.named)
	}
	return both
}

// addRoots adds the roots whose names are in a source, and possibly others.
func (u *uses) addRoots(source string) {
	u.input = u.input || strings.Contains(source, workflow.RootInput)
	u.payload = u.payload || strings.Contains(source, workflow.RootPayload)
	u.nodes = u.nodes || strings.Contains(source, workflow.RootNodes)
	u.run = u.run || strings.Contains(source, workflow.RootRun)
	u.item = u.item || strings.Contains(source, workflow.RootItem)
}

func newEvaluator(compiler Compiler, field, source string, roots []string) *evaluator {
	e := &evaluator{field: field}
	e.uses.addRoots(source)
	e.expression, e.fault = compiler.Compile(source, roots...)
	e.uses.narrow(e.expression, e.fault)
	return e
}

// narrow notes which nodes an expression looks at, where that is certain.
func (u *uses) narrow(compiled Expression, fault error) {
	if fault != nil || !u.nodes {
		return
	}
	ids, all := compiled.NodesRead()
	if all {
		return
	}
	u.named = make([]workflow.NodeID, len(ids))
	for i, id := range ids {
		u.named[i] = workflow.NodeID(id)
	}
}

// evaluate computes the value. more holds further roots.
func (e *evaluator) evaluate(v view, i int, now time.Time, more map[string]any) (any, *Failure) {
	err := e.fault
	if err == nil {
		if failure := v.ready(i, e.uses); failure != nil {
			return nil, failure
		}
		var value any
		if value, err = e.expression.Evaluate(v.env(v.values(i, e.uses, more), now)); err == nil {
			return value, nil
		}
	}
	return nil, &Failure{Code: CodeExpression, Message: e.field + ": " + err.Error()}
}
