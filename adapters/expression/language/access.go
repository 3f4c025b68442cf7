package language

import (
	"strings"

	"github.com/dop251/goja/ast"

	"github.com/sluicehq/sluice/domain/workflow"
)

// access compiles what reads out of a value: members, calls and the chains of
// them that ?. may end early.
func (c *compiler) access(n ast.Expression) Eval {
	switch n := n.(type) {
	case *ast.DotExpression:
		return c.dot(n)
	case *ast.BracketExpression:
		return c.bracket(n)
	case *ast.CallExpression:
		return c.call(n)
	case *ast.Optional:
		value := c.expr(n.Expression)
		return func(m *Machine) any {
			if v := value(m); v != nil && v != undefined {
				return v
			}
			return broken
		}
	case *ast.OptionalChain:
		value := c.expr(n.Expression)
		return func(m *Machine) any {
			if v := value(m); v != broken {
				return v
			}
			return undefined
		}
	}
	return c.rejectNode(n)
}

// dot compiles left.name.
func (c *compiler) dot(n *ast.DotExpression) Eval {
	name := n.Identifier.Name.String()
	if space, ok := n.Left.(*ast.Identifier); ok && c.builtIn(space.Name.String()) {
		if members, isSpace := namespaces[space.Name.String()]; isSpace {
			return c.namespaceMember(n, space.Name.String(), name, members)
		}
	}
	left, at, source := c.expr(n.Left), c.offset(n.Identifier.Idx), c.source(n.Left)
	c.readMember(n.Left, name, at)
	return func(m *Machine) any {
		m.step()
		m.work(len(name))
		v := left(m)
		m.at = at
		if object, ok := v.(map[string]any); ok {
			if found, present := object[name]; present {
				return m.read(found)
			}
			return undefined
		}
		if v == nil || v == undefined {
			panic(m.noValue(source, v, "read", name))
		}
		if v == broken {
			return broken
		}
		return m.member(v, name)
	}
}

func (c *compiler) namespaceMember(n *ast.DotExpression, space, name string, members namespace) Eval {
	if v, ok := members.constants[name]; ok {
		return constant(v)
	}
	if _, ok := members.functions[name]; ok {
		return c.reject(n.Idx0(), CodeNotAllowed, "%s.%s is a function and no value; call it, or give it to a method such as map", space, name)
	}
	return c.reject(n.Idx0(), CodeUnknownName, "%s.%s is not known; %s has %s", space, name, space, members.list())
}

// noValue is the fault of reading out of undefined or null.
func (m *Machine) noValue(source string, v any, verb, name string) *fault {
	return m.fault(CodeNoValue, "%s is %s; cannot %s %q; write ?. before it where it may be missing", source, describe(v), verb, shortened(name))
}

// shortened is a name for messages.
func shortened(name string) string {
	const most = 200
	if len(name) <= most {
		return name
	}
	return strings.ToValidUTF8(name[:most], "") + "…"
}

// bracket compiles left[member].
func (c *compiler) bracket(n *ast.BracketExpression) Eval {
	left, member := c.expr(n.Left), c.expr(n.Member)
	at, source := c.offset(n.LeftBracket), c.source(n.Left)
	if name, plain := c.plainKey(n.Member); plain {
		c.readMember(n.Left, name, c.offset(n.Member.Idx0()))
	}
	return func(m *Machine) any {
		m.step()
		v := left(m)
		if v == broken {
			return broken
		}
		key := member(m)
		m.at = at
		if v == nil || v == undefined {
			panic(m.noValue(source, v, "read", m.key(key)))
		}
		return m.index(v, key)
	}
}

// call compiles a call: of a built-in function, of a method, or of an arrow
// function on the spot. Functions are no values, so nothing else can be called,
// nothing can call itself, and every evaluation ends.
func (c *compiler) call(n *ast.CallExpression) Eval {
	switch callee := n.Callee.(type) {
	case *ast.ArrowFunctionLiteral:
		return c.callArrow(n, callee)
	case *ast.Identifier:
		name := callee.Name.String()
		if f, ok := functions[name]; ok && c.builtIn(name) {
			c.noteLink(name, n)
			return c.callFunction(n, f)
		}
		if _, absent := absentNames[name]; absent && c.builtIn(name) {
			return c.identifier(callee)
		}
		if c.builtIn(name) {
			return c.reject(callee.Idx, CodeUnknownName, "%s is no function; there are %s, and methods such as input.list.map(x => x.id)", name, strings.Join(sortedNames(functions), ", "))
		}
		return c.reject(callee.Idx, CodeNotAllowed, "%s is a value and cannot be called", name)
	case *ast.DotExpression:
		if space, ok := callee.Left.(*ast.Identifier); ok && c.builtIn(space.Name.String()) {
			if members, isSpace := namespaces[space.Name.String()]; isSpace {
				name := callee.Identifier.Name.String()
				if f, isFunction := members.functions[name]; isFunction {
					return c.callFunction(n, f)
				}
				return c.reject(callee.Idx0(), CodeUnknownName, "%s.%s is no function; %s has %s", space.Name, name, space.Name, members.list())
			}
		}
		return c.callMethod(n, callee)
	case *ast.Optional:
		return c.reject(n.Idx0(), CodeNotAllowed, "?.( is not permitted; methods are known by their names, call them with .name( )")
	}
	return c.reject(n.Idx0(), CodeNotAllowed, "only methods by their name, built-in functions and arrow functions can be called")
}

// noteLink notes the node that a link leads to, where that is written out.
func (c *compiler) noteLink(function string, n *ast.CallExpression) {
	if function != workflow.LinkFunction || len(n.ArgumentList) == 0 {
		return
	}
	if id, written := n.ArgumentList[0].(*ast.StringLiteral); written {
		c.members = append(c.members, Member{function, id.Value.String(), c.offset(id.Idx)})
	}
}

func (c *compiler) arguments(list []ast.Expression) []argument {
	arguments := make([]argument, len(list))
	for i, a := range list {
		arguments[i] = c.argument(a)
	}
	return arguments
}

func (c *compiler) callFunction(n *ast.CallExpression, f builtin) Eval {
	arguments, at := c.arguments(n.ArgumentList), c.offset(n.Idx0())
	return func(m *Machine) any {
		m.step()
		args := m.push(arguments)
		m.at = at
		v := f(m, args)
		m.pop(args)
		return v
	}
}

func (c *compiler) callArrow(n *ast.CallExpression, callee *ast.ArrowFunctionLiteral) Eval {
	arguments := c.arguments(n.ArgumentList)
	f := c.arrow(callee)
	return func(m *Machine) any {
		m.step()
		args := m.push(arguments)
		v := f.invoke(m, args)
		m.pop(args)
		return v
	}
}

// callMethod compiles receiver.name(arguments).
func (c *compiler) callMethod(n *ast.CallExpression, callee *ast.DotExpression) Eval {
	name := callee.Identifier.Name.String()
	known, ok := methods[name]
	if !ok {
		if receiver, isName := callee.Left.(*ast.Identifier); isName && c.isNoValue(receiver.Name.String()) {
			return c.identifier(receiver) // which says what is wrong with the name, before its method
		}
		if hint, refused := refusedMethods[name]; refused {
			return c.reject(callee.Identifier.Idx, CodeNotAllowed, "the method %s is not permitted; %s", name, hint)
		}
		return c.reject(callee.Identifier.Idx, CodeUnknownName, "the method %s is not known; there are %s", name, strings.Join(sortedNames(methods), ", "))
	}
	receiver, list := c.expr(callee.Left), n.ArgumentList
	var f *function
	if known.each != nil {
		f, list = c.callback(n, name, known.optional)
	}
	arguments := c.arguments(list)
	at, source := c.offset(callee.Identifier.Idx), c.source(callee.Left)
	return func(m *Machine) any {
		m.step()
		v := receiver(m)
		if v == broken {
			return broken
		}
		if v == nil || v == undefined {
			m.at = at
			panic(m.noValue(source, v, "call", name))
		}
		args := m.push(arguments)
		m.at = at
		result, can := known.apply(m, v, f, args)
		if !can {
			panic(m.fault(CodeNoMethod, "%s is %s, which has no method %s", source, describe(v), name))
		}
		m.pop(args)
		return result
	}
}

// callback compiles the function that a method takes first, and returns the other
// arguments. The function is nil when there is none and none is needed.
func (c *compiler) callback(n *ast.CallExpression, name string, optional bool) (*function, []ast.Expression) {
	if len(n.ArgumentList) == 0 && optional {
		return nil, nil
	}
	if len(n.ArgumentList) > 0 {
		first := n.ArgumentList[0]
		if literal, ok := first.(*ast.ArrowFunctionLiteral); ok {
			return c.arrow(literal), n.ArgumentList[1:]
		}
		if f, ok := c.builtinReference(first); ok {
			return &function{arity: manyArguments, invoke: f}, n.ArgumentList[1:]
		}
	}
	c.reject(n.Idx0(), CodeBadArgument, "%s needs a function first, such as x => x.id or Number", name)
	return nil, nil
}

// builtinReference reads the name of a built-in function, such as Number or
// Math.abs, in the place of a function.
func (c *compiler) builtinReference(n ast.Expression) (builtin, bool) {
	switch n := n.(type) {
	case *ast.Identifier:
		f, ok := functions[n.Name.String()]
		return f, ok && c.builtIn(n.Name.String())
	case *ast.DotExpression:
		if space, ok := n.Left.(*ast.Identifier); ok && c.builtIn(space.Name.String()) {
			f, isFunction := namespaces[space.Name.String()].functions[n.Identifier.Name.String()]
			return f, isFunction
		}
	}
	return nil, false
}
