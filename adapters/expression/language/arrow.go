package language

import (
	"slices"

	"github.com/dop251/goja/ast"
)

// manyArguments is the arity of a function that may look at every argument.
const manyArguments = 4

// function is what a method calls for each element. Arguments beyond arity are
// not looked at, so that the caller need not make them.
type function struct {
	arity  int
	invoke func(m *Machine, args []any) any
}

// binder gives the parts of a value to parameters.
type binder func(m *Machine, v any)

// arrow compiles (parameters) => expression. As nothing can call itself, each
// parameter has one place of its own in the machine.
func (c *compiler) arrow(n *ast.ArrowFunctionLiteral) *function {
	body, ok := n.Body.(*ast.ExpressionBody)
	if !ok || n.Async {
		c.reject(n.Idx0(), CodeNotAllowed, "an arrow function must have one expression as its body: x => x.id")
		return &function{invoke: func(*Machine, []any) any { return undefined }}
	}
	c.scopes = append(c.scopes, map[string]int{})
	defer func() { c.scopes = c.scopes[:len(c.scopes)-1] }()
	list := n.ParameterList.List
	before := c.binders
	binders := make([]binder, len(list))
	for i, p := range list {
		binders[i] = c.bind(p.Target, p.Initializer)
	}
	f := &function{arity: len(list)}
	var rest binder
	if n.ParameterList.Rest != nil {
		rest = c.bind(n.ParameterList.Rest, nil)
		f.arity = manyArguments
	}
	bound := c.binders - before
	result := c.expr(body.Expression)
	f.invoke = func(m *Machine, args []any) any {
		m.step()
		m.pass(bound)
		for i, b := range binders {
			b(m, argumentAt(args, i))
		}
		if rest != nil {
			rest(m, m.list(args[min(len(binders), len(args)):]))
		}
		return result(m)
	}
	return f
}

// argumentAt returns undefined for an argument that was not given.
func argumentAt(args []any, i int) any {
	if i < len(args) {
		return args[i]
	}
	return undefined
}

// bind compiles a parameter: a name or a pattern, with what stands for undefined.
func (c *compiler) bind(target, initializer ast.Expression) binder {
	var standard Eval
	if initializer != nil {
		standard = c.expr(initializer)
	}
	bindTo := c.bindTarget(target)
	if standard == nil {
		return bindTo
	}
	return func(m *Machine, v any) {
		if v == undefined {
			v = standard(m)
		}
		bindTo(m, v)
	}
}

func (c *compiler) bindTarget(target ast.Expression) binder {
	if c.depth >= c.limits.Depth {
		c.reject(target.Idx0(), CodeTooDeep, "must be nested at most %d deep", c.limits.Depth)
		return func(*Machine, any) {}
	}
	c.depth++
	c.binders++
	defer func() { c.depth-- }()
	switch t := target.(type) {
	case *ast.Identifier:
		slot := c.declare(t)
		return func(m *Machine, v any) { m.slots[slot] = v }
	case *ast.AssignExpression: // within a pattern: target = value for undefined
		return c.bind(t.Left, t.Right)
	case *ast.ArrayPattern:
		return c.bindArray(t)
	case *ast.ObjectPattern:
		return c.bindObject(t)
	}
	c.reject(target.Idx0(), CodeNotAllowed, "a parameter must be a name or a pattern of names, such as { id } or [key, value]")
	return func(*Machine, any) {}
}

// declare gives a parameter its place.
func (c *compiler) declare(n *ast.Identifier) int {
	name := n.Name.String()
	scope := c.scopes[len(c.scopes)-1]
	if _, taken := scope[name]; taken {
		c.reject(n.Idx, CodeSyntax, "the parameter %s must be named once", name)
	}
	slot := c.slots
	scope[name] = slot
	c.slots++
	return slot
}

func (c *compiler) bindArray(p *ast.ArrayPattern) binder {
	at := c.offset(p.LeftBracket)
	binders := make([]binder, len(p.Elements))
	for i, e := range p.Elements {
		if e != nil {
			binders[i] = c.bindTarget(e)
		}
	}
	var rest binder
	if p.Rest != nil {
		rest = c.bindTarget(p.Rest)
	}
	return func(m *Machine, v any) {
		m.at = at
		items := m.iterate(v)
		for i, b := range binders {
			if b != nil {
				b(m, m.read(argumentAt(items, i)))
			}
		}
		if rest != nil {
			rest(m, m.list(items[min(len(binders), len(items)):]))
		}
	}
}

// part is one member that an object pattern takes out.
type part struct {
	key  Eval
	bind binder
}

func (c *compiler) bindObject(p *ast.ObjectPattern) binder {
	at := c.offset(p.LeftBrace)
	var parts []part
	for _, property := range p.Properties {
		switch property := property.(type) {
		case *ast.PropertyShort:
			key := constant(property.Name.Name.String())
			parts = append(parts, part{key, c.bind(&property.Name, property.Initializer)})
		case *ast.PropertyKeyed:
			var key Eval
			if name, plain := c.plainKey(property.Key); plain && !property.Computed {
				key = constant(name)
			} else {
				key = c.expr(property.Key)
			}
			parts = append(parts, part{key, c.bindTarget(property.Value)})
		}
	}
	var rest binder
	if p.Rest != nil {
		rest = c.bindTarget(p.Rest)
	}
	more := 2 * max(0, len(parts)-maxScannedKeys) // each is looked up
	return func(m *Machine, v any) {
		m.at = at
		if v == nil || v == undefined {
			panic(m.fault(CodeNoValue, "the argument is %s; cannot take members out of it", describe(v)))
		}
		m.pass(more)
		var taken []string
		for _, part := range parts {
			name := m.key(part.key(m))
			if part.bind(m, m.member(v, name)); rest != nil {
				taken = append(taken, name)
			}
		}
		if rest != nil {
			m.alloc(64)
			others := &object{}
			m.assign(others, v, slices.Clip(taken))
			rest(m, others)
		}
	}
}
