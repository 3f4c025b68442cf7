package language

import (
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
)

func (c *compiler) unary(n *ast.UnaryExpression) Eval {
	operate, ok := unaryOperators[n.Operator]
	if !ok {
		return c.reject(n.Idx0(), CodeNotAllowed, "%s is not permitted: an expression changes nothing", n.Operator)
	}
	operand, at := c.expr(n.Operand), c.offset(n.Idx)
	if literal, isNumber := n.Operand.(*ast.NumberLiteral); isNumber && n.Operator == token.MINUS {
		if f, plain := plainNumber(literal); plain {
			return constant(-f)
		}
	}
	return func(m *Machine) any {
		m.step()
		v := operand(m)
		m.at = at
		return operate(m, v)
	}
}

var unaryOperators = map[token.Token]func(*Machine, any) any{
	token.NOT:         func(_ *Machine, v any) any { return !truthy(v) },
	token.MINUS:       func(m *Machine, v any) any { return -m.number(v) },
	token.PLUS:        func(m *Machine, v any) any { return m.number(v) },
	token.BITWISE_NOT: func(m *Machine, v any) any { return float64(^toInt32(m.number(v))) },
	token.TYPEOF:      func(_ *Machine, v any) any { return typeOf(v) },
}

func typeOf(v any) string {
	switch v.(type) {
	case undefinedType:
		return "undefined"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		return "string"
	}
	return "object"
}

// binaryOperators are those that evaluate both sides.
var binaryOperators = map[token.Token]func(*Machine, any, any) any{
	token.STRICT_EQUAL:         func(m *Machine, a, b any) any { return m.strictEquals(a, b) },
	token.STRICT_NOT_EQUAL:     func(m *Machine, a, b any) any { return !m.strictEquals(a, b) },
	token.EQUAL:                func(m *Machine, a, b any) any { return m.looseEquals(a, b) },
	token.NOT_EQUAL:            func(m *Machine, a, b any) any { return !m.looseEquals(a, b) },
	token.LESS:                 func(m *Machine, a, b any) any { return lessThan(m, a, b) },
	token.GREATER:              func(m *Machine, a, b any) any { return greaterThan(m, a, b) },
	token.LESS_OR_EQUAL:        func(m *Machine, a, b any) any { return atMost(m, a, b) },
	token.GREATER_OR_EQUAL:     func(m *Machine, a, b any) any { return atLeast(m, a, b) },
	token.IN:                   func(m *Machine, a, b any) any { return m.has(a, b) },
	token.PLUS:                 func(m *Machine, a, b any) any { return m.add(a, b) },
	token.MINUS:                arithmetic(func(x, y float64) float64 { return x - y }),
	token.MULTIPLY:             arithmetic(func(x, y float64) float64 { return x * y }),
	token.SLASH:                arithmetic(func(x, y float64) float64 { return x / y }),
	token.REMAINDER:            func(m *Machine, a, b any) any { x := m.number(a); return m.remainder(x, m.number(b)) },
	token.EXPONENT:             arithmetic(power),
	token.AND:                  arithmetic(func(x, y float64) float64 { return float64(toInt32(x) & toInt32(y)) }),
	token.OR:                   arithmetic(func(x, y float64) float64 { return float64(toInt32(x) | toInt32(y)) }),
	token.EXCLUSIVE_OR:         arithmetic(func(x, y float64) float64 { return float64(toInt32(x) ^ toInt32(y)) }),
	token.SHIFT_LEFT:           arithmetic(func(x, y float64) float64 { return float64(toInt32(x) << (toUint32(y) & 31)) }),
	token.SHIFT_RIGHT:          arithmetic(func(x, y float64) float64 { return float64(toInt32(x) >> (toUint32(y) & 31)) }),
	token.UNSIGNED_SHIFT_RIGHT: arithmetic(func(x, y float64) float64 { return float64(toUint32(x) >> (toUint32(y) & 31)) }),
}

func arithmetic(operate func(x, y float64) float64) func(*Machine, any, any) any {
	return func(m *Machine, a, b any) any {
		x := m.number(a)
		return operate(x, m.number(b))
	}
}

func lessThan(m *Machine, a, b any) bool {
	less, _ := m.less(a, b)
	return less
}

func greaterThan(m *Machine, a, b any) bool {
	less, _ := m.less(b, a)
	return less
}

func atMost(m *Machine, a, b any) bool {
	less, unordered := m.less(b, a)
	return !less && !unordered
}

func atLeast(m *Machine, a, b any) bool {
	less, unordered := m.less(a, b)
	return !less && !unordered
}

func (c *compiler) binary(n *ast.BinaryExpression) Eval {
	if isRelational(n) && (isRelational(n.Left) || isRelational(n.Right)) {
		return c.reject(n.Idx0(), CodeNotAllowed, "a comparison must not be compared with < > <= >= or in; write a < b && b < c")
	}
	left, right := c.expr(n.Left), c.expr(n.Right)
	switch n.Operator {
	case token.LOGICAL_AND:
		return func(m *Machine) any {
			m.step()
			if v := left(m); !truthy(v) {
				return v
			}
			return right(m)
		}
	case token.LOGICAL_OR:
		return func(m *Machine) any {
			m.step()
			if v := left(m); truthy(v) {
				return v
			}
			return right(m)
		}
	case token.COALESCE:
		return func(m *Machine) any {
			m.step()
			if v := left(m); v != nil && v != undefined {
				return v
			}
			return right(m)
		}
	}
	operate, ok := binaryOperators[n.Operator]
	if !ok {
		return c.reject(n.Idx0(), CodeNotAllowed, "the operator %s is not permitted", n.Operator)
	}
	at := c.offset(n.Idx0())
	return func(m *Machine) any {
		m.step()
		a := left(m)
		b := right(m)
		m.at = at
		return operate(m, a, b)
	}
}

// isRelational reports whether n compares with < > <= >= or in. The parser nests a
// chain of them to the right, where JavaScript nests it to the left; as such a
// chain is hardly ever meant, it is refused.
func isRelational(n ast.Expression) bool {
	b, ok := n.(*ast.BinaryExpression)
	if !ok {
		return false
	}
	switch b.Operator {
	case token.LESS, token.GREATER, token.LESS_OR_EQUAL, token.GREATER_OR_EQUAL, token.IN:
		return true
	}
	return false
}
