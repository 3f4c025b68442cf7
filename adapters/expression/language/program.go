package language

import (
	"slices"

	"github.com/dop251/goja/ast"

	"github.com/sluicehq/sluice/domain/run"
)

// Program is a compiled expression, or several that share one budget. It may be
// evaluated by many goroutines at once.
type Program struct {
	text    string
	limits  Limits
	slots   int
	run     Eval
	members []Member
	nodes   nodesRead
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
	c := l.compiler(source, roots)
	if f := c.precheck(); f != nil {
		return nil, compileError(source, f)
	}
	return c.program(c.compile(0, len(source)))
}

// CheckFunction reports whether the source is one arrow function, and which members of roots
// that reads. The error, a *[CompileError], says what is wrong with one.
func (l Limits) CheckFunction(source string, roots ...string) (isFunction bool, members []Member, err error) {
	c := l.compiler(source, roots)
	if c.precheck() != nil {
		return false, nil, nil
	}
	function, isFunction := c.tree(0, len(source)).(*ast.ArrowFunctionLiteral)
	if !isFunction {
		return false, nil, nil
	}
	c.arrow(function)
	if len(c.faults) > 0 {
		return true, nil, compileError(source, c.faults...)
	}
	return true, c.members, nil
}

// precheck bounds the source before goja's parser, which recurses without limit, sees it.
func (c *compiler) precheck() *fault {
	if f := c.checkLength(); f != nil {
		return f
	}
	_, f := scan(c.text, 0, len(c.text), c.limits.Depth, false)
	return f
}

func (c *compiler) checkLength() *fault {
	if len(c.text) > c.limits.Source {
		return faultf(0, CodeTooLong, "must be at most %d bytes long, not %d", c.limits.Source, len(c.text))
	}
	return nil
}

func (c *compiler) program(eval Eval) (*Program, error) {
	if len(c.faults) > 0 {
		return nil, compileError(c.text, c.faults...)
	}
	return &Program{text: c.text, limits: c.limits, slots: c.slots, run: eval, members: c.members, nodes: c.nodesRead()}, nil
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
// nil, -0 is 0, and half of a surrogate pair is U+FFFD. Besides JSON trees, the
// environment may hold numbers of any Go type; parts of it come as they are, shared
// with it. With the zero time, now() is an evaluation error. The error is an
// *[EvaluationError] or a *[BudgetError].
func (p *Program) Evaluate(env run.Env) (any, error) {
	return execute(p.text, p.limits, p.slots, &env, func(m *Machine) any { return m.output(p.run(m)) })
}
