package language

import (
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"

	"github.com/sluicehq/sluice/domain/typing"
)

// narrower collects what is known when a condition is true, or false.
type narrower struct {
	x      *inference
	facts  []typing.Fact
	visits int
}

// narrow returns what is known where the condition came out so.
func (x *inference) narrow(n ast.Expression, truth bool) []typing.Fact {
	w := narrower{x: x}
	w.condition(n, truth)
	return w.facts
}

func (w *narrower) add(n ast.Expression, kinds typing.Kind) {
	if path := w.x.path(n); path != "" && len(w.facts) < maxFacts {
		w.facts = append(w.facts, typing.Fact{Path: path, Kinds: kinds})
	}
}

// holders notes that what a chain reads out of is there, for it gave something.
func (w *narrower) holders(n ast.Expression) {
	for {
		switch t := n.(type) {
		case *ast.OptionalChain:
			n = t.Expression
			continue
		case *ast.Optional:
			n = t.Expression
			continue
		case *ast.DotExpression:
			n = t.Left
		case *ast.BracketExpression:
			n = t.Left
		case *ast.CallExpression:
			n = t.Callee
			continue
		default:
			return
		}
		w.add(n, typing.All&^typing.Nullish)
	}
}

func (w *narrower) condition(n ast.Expression, truth bool) {
	if w.visits++; w.visits > 4*maxFacts {
		return
	}
	switch n := n.(type) {
	case *ast.UnaryExpression:
		if n.Operator == token.NOT {
			w.condition(n.Operand, !truth)
		}
		return
	case *ast.BinaryExpression:
		w.binary(n, truth)
		return
	case *ast.CallExpression:
		if w.call(n, truth) {
			return
		}
	}
	if truth {
		w.add(n, typing.All&^typing.Nullish)
		w.holders(n)
		return
	}
	w.add(n, typing.All&^(typing.Array|typing.Object))
}

func (w *narrower) binary(n *ast.BinaryExpression, truth bool) {
	switch n.Operator {
	case token.LOGICAL_AND, token.LOGICAL_OR:
		if truth == (n.Operator == token.LOGICAL_AND) {
			w.condition(n.Left, truth)
			w.condition(n.Right, truth)
		}
	case token.STRICT_EQUAL, token.EQUAL:
		w.equal(n, truth, n.Operator == token.EQUAL)
	case token.STRICT_NOT_EQUAL, token.NOT_EQUAL:
		w.equal(n, !truth, n.Operator == token.NOT_EQUAL)
	case token.LESS, token.GREATER, token.LESS_OR_EQUAL, token.GREATER_OR_EQUAL:
		for _, side := range []ast.Expression{n.Left, n.Right} {
			if truth {
				w.add(side, typing.All&^typing.Undefined)
				w.holders(side)
			}
		}
	case token.IN:
		if name, plain := w.x.c.plainKey(n.Left); plain && truth {
			w.member(n.Right, name)
		}
	}
}

// member notes that an object has a member.
func (w *narrower) member(of ast.Expression, name string) {
	if path := typing.MemberPath(w.x.path(of), name); path != "" && len(w.facts) < maxFacts {
		w.facts = append(w.facts, typing.Fact{Path: path, Kinds: typing.All &^ typing.Undefined})
	}
}

// equal notes what a comparison with a constant says of the other side.
func (w *narrower) equal(n *ast.BinaryExpression, truth, loose bool) {
	side, with := n.Left, n.Right
	kinds, constant := kindsOfConstant(with)
	if !constant {
		side, with = n.Right, n.Left
		if kinds, constant = kindsOfConstant(with); !constant {
			return
		}
	}
	if t, isTypeOf := side.(*ast.UnaryExpression); isTypeOf && t.Operator == token.TYPEOF {
		if literal, isText := with.(*ast.StringLiteral); isText {
			w.is(t.Operand, typeOfKinds[literal.Value.String()], truth)
		}
		return
	}
	missing := kinds&typing.Nullish != 0
	switch {
	case missing && loose:
		w.is(side, typing.Nullish, truth)
	case missing:
		w.is(side, kinds, truth)
	case truth && loose:
		w.is(side, typing.All&^typing.Nullish, true)
	case truth:
		w.is(side, kinds, true)
	}
}

// is notes that a value is of the kinds, or not.
func (w *narrower) is(n ast.Expression, kinds typing.Kind, truth bool) {
	if !truth {
		kinds = typing.All &^ kinds
	}
	if w.add(n, kinds); kinds&typing.Undefined == 0 {
		w.holders(n)
	}
}

func kindsOfConstant(n ast.Expression) (kinds typing.Kind, constant bool) {
	switch n := n.(type) {
	case *ast.NullLiteral:
		return typing.Null, true
	case *ast.BooleanLiteral:
		return typing.Boolean, true
	case *ast.NumberLiteral:
		return typing.Number, true
	case *ast.StringLiteral:
		return typing.String, true
	case *ast.Identifier:
		return typing.Undefined, n.Name.String() == "undefined"
	}
	return 0, false
}

// call notes what the calls say of their argument that test it.
func (w *narrower) call(n *ast.CallExpression, truth bool) (known bool) {
	if len(n.ArgumentList) == 0 {
		return false
	}
	first := n.ArgumentList[0]
	switch callee := n.Callee.(type) {
	case *ast.Identifier:
		if callee.Name.String() == "Boolean" {
			w.condition(first, truth)
			return true
		}
	case *ast.DotExpression:
		space, _ := callee.Left.(*ast.Identifier)
		switch name := callee.Identifier.Name.String(); {
		case space != nil && space.Name.String() == "Array" && name == "isArray":
			w.is(first, typing.Array, truth)
			return true
		case space != nil && space.Name.String() == "Object" && name == "hasOwn":
			if key, plain := plainArgument(w.x.c, n, 1); plain && truth {
				w.member(first, key)
			}
			return true
		case name == "hasOwnProperty":
			if key, plain := plainArgument(w.x.c, n, 0); plain && truth {
				w.member(callee.Left, key)
				w.holders(n)
			}
			return true
		}
	}
	return false
}

func plainArgument(c *compiler, n *ast.CallExpression, at int) (string, bool) {
	if at >= len(n.ArgumentList) {
		return "", false
	}
	return c.plainKey(n.ArgumentList[at])
}
