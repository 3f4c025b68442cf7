package language

import (
	"cmp"
	"slices"

	"github.com/dop251/goja/ast"

	"github.com/sluicehq/sluice/domain/typing"
	"github.com/sluicehq/sluice/domain/workflow"
)

// Analysis is what is known of a source that compiles.
type Analysis struct {
	Type                typing.Type
	Constant            bool // it is a constant that is written out
	Members             []Member
	Uses                map[string]int // how often each root is read, in any way
	Doubts              []Doubt        // in the order of the source
	WhenTrue, WhenFalse []typing.Fact
}

// Doubt is something wrong with a source that compiles.
type Doubt struct {
	Problem
	Warning bool // it may go well
}

func names(roots []workflow.Root) []string {
	list := make([]string, len(roots))
	for i, r := range roots {
		list[i] = r.Name
	}
	return list
}

// Analyse reads one expression as Compile does. The error is a *[CompileError].
func (l Limits) Analyse(source string, roots []workflow.Root, facts []typing.Fact) (Analysis, error) {
	c := l.compiler(source, names(roots))
	if f := c.precheck(); f != nil {
		return Analysis{}, compileError(source, f)
	}
	tree := c.tree(0, len(source))
	if tree != nil {
		c.expr(tree)
	}
	if len(c.faults) > 0 {
		return Analysis{}, compileError(source, c.faults...)
	}
	x := newInference(c, roots, facts)
	return x.analysis(x.whole(tree)), nil
}

// AnalyseFunction reads one arrow function that gets the arguments; isFunction is false for
// any other source. The type is that of what it gives. The error, a *[CompileError], says what
// is wrong with one.
func (l Limits) AnalyseFunction(source string, roots []workflow.Root, facts []typing.Fact, arguments []workflow.Root) (isFunction bool, found Analysis, err error) {
	c := l.compiler(source, names(roots))
	if c.precheck() != nil {
		return false, Analysis{}, nil
	}
	function, isFunction := c.tree(0, len(source)).(*ast.ArrowFunctionLiteral)
	if !isFunction {
		return false, Analysis{}, nil
	}
	if c.arrow(function); len(c.faults) > 0 {
		return true, Analysis{}, compileError(source, c.faults...)
	}
	x := newInference(c, roots, facts)
	return true, x.analysis(Analysis{Type: x.arrow(function, func(i int) typing.Type {
		if i < len(arguments) {
			return arguments[i].Type
		}
		return typing.Any
	})}), nil
}

// whole finds the type of an expression that stands for itself, and what is known when it is
// true, or false.
func (x *inference) whole(tree ast.Expression) Analysis {
	found := Analysis{Type: x.expr(tree), WhenTrue: x.narrow(tree, true), WhenFalse: x.narrow(tree, false)}
	_, found.Constant = kindsOfConstant(tree)
	return found
}

// analysis adds what was found on the way.
func (x *inference) analysis(found Analysis) Analysis {
	found.Members, found.Uses = x.c.members, x.c.uses
	slices.SortStableFunc(x.doubts, func(a, b doubt) int { return cmp.Compare(a.at, b.at) })
	for _, d := range x.doubts {
		found.Doubts = append(found.Doubts, Doubt{d.problem(x.c.text), d.warning})
	}
	return found
}
