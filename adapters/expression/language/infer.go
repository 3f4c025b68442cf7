package language

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"

	"github.com/sluicehq/sluice/domain/typing"
	"github.com/sluicehq/sluice/domain/workflow"
)

// The codes of what inference finds. The first three can only go wrong, or read what is never
// there; the others may go well.
const (
	CodeUnknownMember = "unknown_member"
	CodeNoFunction    = "not_a_function"
	CodeNeverFits     = "argument_type"
	CodeConstant      = "constant_comparison"
	CodeMaybeMissing  = "maybe_missing"
	CodeMaybeMisfit   = "maybe_wrong_type"
)

// inference finds the types of expressions. It visits each part of a syntax tree once.
type inference struct {
	c      *compiler
	roots  map[string]workflow.Root
	params []map[string]param
	facts  []typing.Fact
	count  int             // of parameters, each of which has a path of its own
	broken bool            // a ?. may have met undefined or null in the chain at hand
	copied int             // members that were spread
	blind  bool            // something is done to a value of which nothing is known
	seen   map[string]bool // paths that were found to be missing, and are not reported again
	cursor *cursor
	firsts []string // of the parameters of the function that comes next; see param
	doubts []doubt
}

type param struct {
	path  string
	kind  typing.Type
	first string // an expression that gives what it is first; empty where that is not known
}

type doubt struct {
	fault
	warning bool
}

// maxFacts bounds how many facts are kept at a time, and found in one condition.
const maxFacts = 64

func newInference(c *compiler, roots []workflow.Root, facts []typing.Fact) *inference {
	x := &inference{c: c, roots: make(map[string]workflow.Root, len(roots)), facts: slices.Clone(facts[:min(len(facts), maxFacts)]), seen: map[string]bool{}}
	for _, r := range roots {
		x.roots[r.Name] = r
	}
	return x
}

// found notes a doubt. What is known because somebody claims it is nothing to refuse an
// expression for.
func (x *inference) found(at int, warning bool, code, format string, args ...any) {
	if len(x.doubts) < maxProblems {
		x.doubts = append(x.doubts, doubt{fault{at: at, code: code, message: fmt.Sprintf(format, args...)}, warning})
	}
}

// expr finds the type of any expression.
func (x *inference) expr(n ast.Expression) typing.Type {
	switch n := n.(type) {
	case *ast.NullLiteral:
		return typing.Of(typing.Null)
	case *ast.BooleanLiteral:
		return typing.Value(n.Value)
	case *ast.StringLiteral:
		return typing.Value(fromParser(n.Value))
	case *ast.NumberLiteral:
		if v, ok := plainNumber(n); ok {
			return typing.Value(v)
		}
		return typing.Of(typing.Number)
	case *ast.TemplateLiteral:
		for _, e := range n.Expressions {
			x.expr(e)
		}
		return typing.Of(typing.String)
	case *ast.ArrayLiteral:
		return x.arrayLiteral(n)
	case *ast.ObjectLiteral:
		return x.objectLiteral(n)
	case *ast.Identifier:
		return x.identifier(n)
	case *ast.DotExpression, *ast.BracketExpression, *ast.OptionalChain, *ast.Optional, *ast.CallExpression:
		return x.access(n)
	case *ast.UnaryExpression:
		return x.unary(n)
	case *ast.BinaryExpression:
		return x.binary(n)
	case *ast.ConditionalExpression:
		x.expr(n.Test)
		yes := x.given(x.narrow(n.Test, true), n.Consequent)
		return yes.Or(x.given(x.narrow(n.Test, false), n.Alternate))
	}
	return typing.Any
}

// given finds the type of an expression where facts hold.
func (x *inference) given(facts []typing.Fact, n ast.Expression) typing.Type {
	before := len(x.facts)
	x.facts = append(x.facts, facts...)
	if len(x.facts) > maxFacts {
		x.facts = x.facts[:max(before, maxFacts)]
	}
	t := x.expr(n)
	x.facts = x.facts[:before]
	return t
}

// known is a type with what the facts say of its path.
func (x *inference) known(n ast.Expression, t typing.Type) typing.Type {
	if len(x.facts) == 0 {
		return t
	}
	path := x.path(n)
	if path == "" {
		return t
	}
	for _, f := range x.facts {
		if f.Path == path {
			left, some := t.Only(f.Kinds)
			if !some {
				return typing.Any // never comes here
			}
			t = left
		}
	}
	return t
}

func (x *inference) identifier(n *ast.Identifier) typing.Type {
	name := n.Name.String()
	if x.cursor.at(name) {
		x.reachName()
		return typing.Any
	}
	if p, ok := x.param(name); ok {
		return x.known(n, p.kind)
	}
	if r, ok := x.roots[name]; ok {
		return x.known(n, r.Type)
	}
	if v, ok := constants[name]; ok {
		if v == undefined {
			return typing.Of(typing.Undefined)
		}
		return typing.Of(typing.Number)
	}
	return typing.Any
}

func (x *inference) param(name string) (param, bool) {
	for _, scope := range slices.Backward(x.params) {
		if p, ok := scope[name]; ok {
			return p, true
		}
	}
	return param{}, false
}

// path spells what a name or a chain of members leads to; empty for anything else.
func (x *inference) path(n ast.Expression) string {
	switch n := n.(type) {
	case *ast.Identifier:
		name := n.Name.String()
		if p, ok := x.param(name); ok {
			return p.path
		}
		if r, ok := x.roots[name]; ok {
			return cmp.Or(r.Path, name)
		}
	case *ast.DotExpression:
		return typing.MemberPath(x.path(n.Left), n.Identifier.Name.String())
	case *ast.BracketExpression:
		if name, plain := x.c.plainKey(n.Member); plain {
			return typing.MemberPath(x.path(n.Left), name)
		}
	case *ast.Optional:
		return x.path(n.Expression)
	case *ast.OptionalChain:
		return x.path(n.Expression)
	}
	return ""
}

func (x *inference) arrayLiteral(n *ast.ArrayLiteral) typing.Type {
	var items []typing.Type
	for _, e := range n.Value {
		if e != nil {
			items = append(items, x.element(e))
		}
	}
	return typing.List(typing.Union(items...))
}

// element finds the type of what an element of an array literal, or an argument, adds.
func (x *inference) element(e ast.Expression) typing.Type {
	spread, ok := e.(*ast.SpreadElement)
	if !ok {
		return x.expr(e)
	}
	t := x.expr(spread.Expression)
	return x.iterated(spread.Expression, t)
}

// iterated is what spreading a value or taking it apart as an array gives.
func (x *inference) iterated(n ast.Expression, t typing.Type) typing.Type {
	x.need(n, t, typing.Array|typing.String, "only arrays and strings can be spread or taken apart")
	switch {
	case t.Within(typing.Array | typing.Nullish):
		return t.Items()
	case t.Within(typing.String):
		return typing.Of(typing.String)
	}
	return typing.Any
}

// need finds a value of a kind that an operation refuses.
func (x *inference) need(n ast.Expression, t typing.Type, kinds typing.Kind, wanted string) {
	at := x.c.offset(n.Idx0())
	x.blind = x.blind || t.IsAny()
	switch {
	case t.IsAny() || t.Within(kinds):
	case t.Kinds()&kinds == 0:
		x.found(at, t.IsClaimed(), CodeNeverFits, "%s is %s; %s", x.c.source(n), t, wanted)
	case t.Within(kinds | typing.Nullish):
		x.found(at, true, CodeMaybeMissing, "%s may be missing, for it is %s; %s: write ?? and what stands for it behind it", x.c.source(n), t, wanted)
	default:
		x.found(at, true, CodeMaybeMisfit, "%s is %s; %s", x.c.source(n), t, wanted)
	}
}

func (x *inference) objectLiteral(n *ast.ObjectLiteral) typing.Type {
	made := typing.NewObject()
	for _, p := range n.Value {
		switch p := p.(type) {
		case *ast.SpreadElement:
			x.spread(made, x.expr(p.Expression))
		case *ast.PropertyShort:
			made.Set(p.Name.Name.String(), x.identifier(&p.Name))
		case *ast.PropertyKeyed:
			name, plain := x.c.plainKey(p.Key)
			if p.Computed || !plain {
				x.expr(p.Key)
				made.Blur()
				x.expr(p.Value)
				continue
			}
			made.Set(name, x.expr(p.Value))
		}
	}
	return made.Type()
}

// maxCopied bounds how many members the spreads of a source copy.
const maxCopied = 2000

func (x *inference) spread(made *typing.Fields, t typing.Type) {
	x.copied += made.Spread(t, maxCopied-x.copied)
}

func (x *inference) unary(n *ast.UnaryExpression) typing.Type {
	t := x.expr(n.Operand)
	switch n.Operator {
	case token.NOT:
		return typing.Of(typing.Boolean)
	case token.TYPEOF:
		return typeOfType(t)
	case token.MINUS:
		if literal, ok := n.Operand.(*ast.NumberLiteral); ok {
			if v, plain := plainNumber(literal); plain {
				return typing.Value(-v)
			}
		}
	}
	return typing.Of(typing.Number)
}

// typeOfKinds are the kinds of which typeof gives each text.
var typeOfKinds = map[string]typing.Kind{
	"undefined": typing.Undefined, "boolean": typing.Boolean, "number": typing.Number, "string": typing.String,
	"object": typing.Null | typing.Array | typing.Object,
}

func typeOfType(t typing.Type) typing.Type {
	var possible []typing.Type
	for _, name := range sortedNames(typeOfKinds) {
		if t.Kinds()&typeOfKinds[name] != 0 {
			possible = append(possible, typing.Value(name))
		}
	}
	return typing.Union(possible...)
}
