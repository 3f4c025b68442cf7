package run

import (
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
type uses struct{ input, payload, nodes, run bool }

// mention finds the names of roots in a source, at least those that are there.
func (u *uses) mention(source string) {
	u.input = u.input || strings.Contains(source, workflow.RootInput)
	u.payload = u.payload || strings.Contains(source, workflow.RootPayload)
	u.nodes = u.nodes || strings.Contains(source, workflow.RootNodes)
	u.run = u.run || strings.Contains(source, workflow.RootRun)
}

func newEvaluator(compiler Compiler, field, source string, roots []string) *evaluator {
	e := &evaluator{field: field}
	e.uses.mention(source)
	e.expression, e.fault = compiler.Compile(source, roots...)
	return e
}

// evaluate computes the value. more holds roots beside those of every node.
func (e *evaluator) evaluate(v view, i int, now time.Time, more map[string]any) (any, *Failure) {
	err := e.fault
	if err == nil {
		var value any
		if value, err = e.expression.Evaluate(Env{Values: v.values(i, e.uses, more), Now: now}); err == nil {
			return value, nil
		}
	}
	return nil, &Failure{Code: CodeExpression, Message: e.field + ": " + err.Error()}
}
