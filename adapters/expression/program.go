package expression

import (
	"slices"

	"github.com/dop251/goja/ast"
)

// Program is a compiled expression. It may be evaluated by many goroutines at once.
type Program struct {
	text   string
	limits Limits
	slots  int
	run    eval
	named  []named
	nodes  nodesRead
}

// Compile reads one expression that may begin with the roots, such as input or
// payload, and with what is built in; a root hides what is built in under the same
// name. The error is a *[CompileError] that lists all that is wrong.
func Compile(source string, roots ...string) (*Program, error) {
	return Limits{}.Compile(source, roots...)
}

// Compile is the function [Compile] with other limits, for the source and for every
// evaluation of the program.
func (l Limits) Compile(source string, roots ...string) (*Program, error) {
	return compileWith(source, l.settings(roots))
}

func compileWith(source string, s settings) (*Program, error) {
	if f := checkLength(source, s.limits); f != nil {
		return nil, compileError(source, f)
	}
	if _, f := scan(source, 0, len(source), s.limits.Depth, false); f != nil {
		return nil, compileError(source, f)
	}
	c := &compiler{settings: s, text: source}
	run := c.compile(0, len(source))
	if len(c.faults) > 0 {
		return nil, compileError(source, c.faults...)
	}
	return &Program{text: source, limits: s.limits, slots: c.slots, run: run, named: c.named, nodes: c.nodesRead()}, nil
}

// checkFunction tells whether the source is one arrow function. The error, a
// *[CompileError], says what is wrong with one.
func checkFunction(source string, s settings) (isFunction bool, names []named, err error) {
	if checkLength(source, s.limits) != nil {
		return false, nil, nil
	}
	if _, f := scan(source, 0, len(source), s.limits.Depth, false); f != nil {
		return false, nil, nil
	}
	c := &compiler{settings: s, text: source}
	function, isFunction := c.tree(0, len(source)).(*ast.ArrowFunctionLiteral)
	if !isFunction {
		return false, nil, nil
	}
	c.arrow(function)
	if len(c.faults) > 0 {
		return true, nil, compileError(source, c.faults...)
	}
	return true, c.named, nil
}

func checkLength(source string, limits Limits) *fault {
	if len(source) > limits.Source {
		return faultf(0, CodeTooLong, "must be at most %d bytes long, not %d", limits.Source, len(source))
	}
	return nil
}

func compileError(text string, faults ...*fault) *CompileError {
	slices.SortStableFunc(faults, func(a, b *fault) int { return a.at - b.at })
	e := &CompileError{Problems: make([]Problem, len(faults))}
	for i, f := range faults {
		e.Problems[i] = f.problem(text)
	}
	return e
}

// Evaluate computes the value as a JSON tree: what JSON.stringify would keep of
// it. So undefined is nil, as a member it is left out, NaN and the infinities are
// nil, -0 is 0, and half of a surrogate pair is U+FFFD. Parts of the environment
// come as they are, shared with it. The error is an *[EvaluationError] or a
// *[BudgetError].
func (p *Program) Evaluate(env Env) (any, error) {
	return execute(p.text, p.limits, p.slots, &env, func(m *machine) any { return m.output(p.run(m)) })
}

// Test computes whether the value is true as JavaScript's conditions see it: not
// false, null, undefined, 0, NaN or "". The errors are those of Evaluate.
func (p *Program) Test(env Env) (bool, error) {
	v, err := execute(p.text, p.limits, p.slots, &env, func(m *machine) any { return truthy(p.run(m)) })
	holds, _ := v.(bool)
	return holds, err
}
