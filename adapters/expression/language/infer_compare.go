package language

import (
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"

	"github.com/sluicehq/sluice/domain/typing"
)

func (x *inference) binary(n *ast.BinaryExpression) typing.Type {
	left := x.expr(n.Left)
	switch n.Operator {
	case token.LOGICAL_AND:
		right := x.given(x.narrow(n.Left, true), n.Right)
		if falsy, some := left.Without(typing.Array | typing.Object); some {
			return falsy.Or(right)
		}
		return right
	case token.LOGICAL_OR:
		right := x.given(x.narrow(n.Left, false), n.Right)
		if left.Within(typing.Array | typing.Object) {
			return left
		}
		return x.unlessMissing(left, right)
	case token.COALESCE:
		right := x.expr(n.Right)
		if !left.IsAny() && left.Kinds()&typing.Nullish == 0 {
			return left
		}
		return x.unlessMissing(left, right)
	}
	right := x.expr(n.Right)
	switch n.Operator {
	case token.STRICT_EQUAL, token.STRICT_NOT_EQUAL, token.EQUAL, token.NOT_EQUAL, token.LESS, token.GREATER, token.LESS_OR_EQUAL, token.GREATER_OR_EQUAL:
		x.compared(n.Left, right)
		x.compared(n.Right, left)
		x.compare(n, left, right)
		return typing.Of(typing.Boolean)
	case token.IN:
		x.need(n.Right, right, typing.Array|typing.Object, "the right side of in must be an object or an array")
		return typing.Of(typing.Boolean)
	case token.PLUS:
		return sum(left, right)
	}
	return typing.Of(typing.Number)
}

// unlessMissing is what a value gives, or what stands for one that is undefined or null.
func (x *inference) unlessMissing(value, instead typing.Type) typing.Type {
	if present, some := value.Without(typing.Nullish); some {
		return present.Or(instead)
	}
	return instead
}

// sum is what + gives: it joins when one side is text, which arrays and objects become.
func sum(a, b typing.Type) typing.Type {
	const numeric = typing.Number | typing.Boolean | typing.Nullish
	switch {
	case a.Within(numeric) && b.Within(numeric):
		return typing.Of(typing.Number)
	case a.Within(typing.All&^numeric) || b.Within(typing.All&^numeric):
		return typing.Of(typing.String)
	}
	return typing.Of(typing.Number | typing.String)
}

// compare finds comparisons that always come out alike.
func (x *inference) compare(n *ast.BinaryExpression, a, b typing.Type) {
	always := "never"
	var constant bool
	switch n.Operator {
	case token.STRICT_EQUAL, token.STRICT_NOT_EQUAL:
		constant = typing.NeverEqual(a, b)
	case token.EQUAL, token.NOT_EQUAL:
		constant = neverLooselyEqual(a, b) || neverLooselyEqual(b, a)
	default:
		constant = neverOrdered(a, b) || neverOrdered(b, a)
	}
	if !constant {
		return
	}
	if n.Operator == token.STRICT_NOT_EQUAL || n.Operator == token.NOT_EQUAL {
		always = "always"
	}
	x.found(x.c.offset(n.Idx0()), true, CodeConstant, "%s is %s true: %s is %s, and %s is %s%s",
		x.c.source(n), always, x.c.source(n.Left), a, x.c.source(n.Right), b, x.memberMeant(n, a, b))
}

// neverLooselyEqual says that == of the two is never true.
func neverLooselyEqual(a, b typing.Type) bool {
	return a.Within(typing.Nullish) && !b.IsAny() && b.Kinds()&typing.Nullish == 0 ||
		a.Within(typing.Object) && b.Within(typing.Boolean|typing.Number)
}

// neverOrdered says that no comparison by < and > of the two is true: one side is no number.
func neverOrdered(a, b typing.Type) bool {
	return a.Within(typing.Undefined) || a.Within(typing.Object) && b.Within(typing.Boolean|typing.Number|typing.Nullish)
}

// memberMeant offers the only member of an object that is compared with something else.
func (x *inference) memberMeant(n *ast.BinaryExpression, a, b typing.Type) string {
	side, other := n.Left, b
	if !a.Within(typing.Object) {
		side, a, other = n.Right, b, a
	}
	if names := a.MemberNames(); a.Within(typing.Object) && len(names) == 1 && x.path(side) != "" {
		if member, _ := a.Member(names[0]); !typing.NeverEqual(member, other) {
			return "; did you mean " + x.c.source(side) + "." + names[0] + "?"
		}
	}
	return ""
}
