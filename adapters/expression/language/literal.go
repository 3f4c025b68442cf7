package language

import (
	"slices"
	"strconv"

	"github.com/dop251/goja/ast"
)

func (c *compiler) numberLiteral(n *ast.NumberLiteral) Eval {
	if v, ok := plainNumber(n); ok {
		return constant(v)
	}
	return c.reject(n.Idx, CodeNotAllowed, "%s must be a plain number: big integers are not permitted", n.Literal)
}

// plainNumber is the value of a literal that is no big integer.
func plainNumber(n *ast.NumberLiteral) (float64, bool) {
	switch v := n.Value.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// templateString compiles `a ${b} c`.
func (c *compiler) templateString(n *ast.TemplateLiteral) Eval {
	if n.Tag != nil {
		return c.reject(n.Tag.Idx0(), CodeNotAllowed, "a template string must not have a tag")
	}
	texts := make([]string, len(n.Elements))
	for i, e := range n.Elements {
		texts[i] = fromParser(e.Parsed)
	}
	parts := make([]Eval, len(n.Expressions))
	for i, e := range n.Expressions {
		parts[i] = c.expr(e)
	}
	at, cost := c.offset(n.OpenQuote), 1+len(parts)>>2
	return func(m *Machine) any {
		m.spend(cost, 0)
		t := TextBuilder{m: m}
		t.Add(texts[0])
		for i, part := range parts {
			v := part(m)
			m.at = at
			t.Add(m.text(v))
			t.Add(texts[i+1])
		}
		return t.String()
	}
}

// argument is an element of an array literal or of a list of arguments.
type argument struct {
	value  Eval
	spread bool
	at     int
}

func (c *compiler) argument(n ast.Expression) argument {
	if spread, ok := n.(*ast.SpreadElement); ok {
		return argument{value: c.expr(spread.Expression), spread: true, at: c.offset(spread.Idx0())}
	}
	return argument{value: c.expr(n), at: c.offset(n.Idx0())}
}

// push evaluates the arguments onto the machine's stack and returns them; the
// caller takes them off with pop.
func (m *Machine) push(arguments []argument) []any {
	base := len(m.stack)
	m.pass(len(arguments))
	if deepest := base + len(arguments); deepest > m.deepest {
		m.alloc(16 * (deepest - m.deepest))
		m.deepest = deepest
	}
	m.growStack(len(arguments))
	for _, a := range arguments {
		v := a.value(m)
		if !a.spread {
			m.stack = append(m.stack, v)
			continue
		}
		m.at = a.at
		items := m.iterate(v)
		m.spend(len(items), 16*len(items))
		m.growStack(len(items))
		m.deepest = max(m.deepest, len(m.stack)+len(items))
		for _, item := range items {
			m.stack = append(m.stack, m.read(item))
		}
	}
	return m.stack[base:len(m.stack):len(m.stack)]
}

// growStack makes room for n more arguments.
func (m *Machine) growStack(n int) {
	if cap(m.stack)-len(m.stack) < n {
		m.stack = slices.Grow(m.stack, max(n, len(m.stack), freeSlots))
	}
}

func (m *Machine) pop(args []any) { m.stack = m.stack[:len(m.stack)-len(args)] }

// iterate lists what spreading a value or taking it apart as an array gives.
func (m *Machine) iterate(v any) []any {
	if elems, ok := elements(v); ok {
		return elems
	}
	if s, ok := v.(string); ok {
		return m.codePoints(s)
	}
	panic(m.fault(CodeBadArgument, "only arrays and strings can be spread or taken apart, not %s", describe(v)))
}

// list creates an array of a copy of elems.
func (m *Machine) list(elems []any) *array {
	m.pass(len(elems))
	m.alloc(40 + 16*len(elems))
	return &array{elems: append(make([]any, 0, len(elems)), elems...)}
}

func (c *compiler) arrayLiteral(n *ast.ArrayLiteral) Eval {
	items := make([]argument, 0, len(n.Value))
	for _, e := range n.Value {
		if e == nil {
			c.reject(n.LeftBracket, CodeNotAllowed, "an array must not have holes; write undefined or null")
			continue
		}
		items = append(items, c.argument(e))
	}
	return func(m *Machine) any {
		m.step()
		args := m.push(items)
		created := m.list(args)
		m.pop(args)
		return created
	}
}

// property is a member of an object literal: a name, or a computed key, and its
// value; with neither, the value is spread.
type property struct {
	name  string
	key   Eval
	value Eval
	whole bool
	at    int
}

func (c *compiler) objectLiteral(n *ast.ObjectLiteral) Eval {
	properties := make([]property, 0, len(n.Value))
	for _, p := range n.Value {
		switch p := p.(type) {
		case *ast.SpreadElement:
			properties = append(properties, property{value: c.expr(p.Expression), whole: true, at: c.offset(p.Idx0())})
		case *ast.PropertyShort:
			if p.Initializer != nil {
				c.reject(p.Idx0(), CodeSyntax, "= is not permitted in an object literal; write name: value")
				continue
			}
			properties = append(properties, property{name: p.Name.Name.String(), value: c.identifier(&p.Name), at: c.offset(p.Idx0())})
		case *ast.PropertyKeyed:
			properties = append(properties, c.property(p))
		}
	}
	more := max(0, len(properties)-maxScannedKeys)
	return func(m *Machine) any {
		m.spend(1+more, 64)
		created := &object{}
		created.grow(len(properties))
		for i := range properties {
			properties[i].define(m, created)
		}
		return created
	}
}

func (c *compiler) property(p *ast.PropertyKeyed) property {
	if p.Kind != ast.PropertyKindValue {
		c.reject(p.Idx0(), CodeNotAllowed, "methods, getters and setters are not permitted in an object literal; write name: value")
		return property{value: constant(undefined)}
	}
	made := property{at: c.offset(p.Key.Idx0())}
	if p.Computed {
		made.key = c.expr(p.Key)
	} else if name, ok := c.plainKey(p.Key); !ok {
		c.reject(p.Key.Idx0(), CodeSyntax, "a key must be a name, a string, a number or an expression in [ ]")
	} else if made.name = name; name == "__proto__" {
		c.reject(p.Key.Idx0(), CodeNotAllowed, `__proto__ is not permitted as a key; write ["__proto__"] for a member of that name`)
	}
	made.value = c.expr(p.Value)
	return made
}

// plainKey reads a key that is not computed.
func (c *compiler) plainKey(n ast.Expression) (string, bool) {
	switch k := n.(type) {
	case *ast.StringLiteral:
		return fromParser(k.Value), true
	case *ast.NumberLiteral:
		if v, ok := plainNumber(k); ok {
			return formatNumber(v), true
		}
	}
	return "", false
}

func (p *property) define(m *Machine, o *object) {
	if p.whole {
		v := p.value(m)
		m.at = p.at
		m.assign(o, v, nil)
		return
	}
	name := p.name
	if p.key != nil {
		v := p.key(m)
		m.at = p.at
		name = m.key(v)
	} else {
		m.work(len(name))
	}
	v := p.value(m)
	m.at = p.at
	m.set(o, name, v)
}

// assign copies the members of v that are not left out; what has none adds none.
func (m *Machine) assign(o *object, v any, without []string) {
	switch v.(type) {
	case nil, undefinedType, bool, float64:
		return
	}
	var chars []any
	if s, ok := v.(string); ok {
		chars = m.characters(s)
	}
	keys := m.ownKeys(v)
	if len(o.keys) == 0 {
		o.grow(len(keys))
	}
	many := m.setOf(without)
	for i, key := range keys {
		m.work(len(key))
		if _, leftOut := many[key]; leftOut || many == nil && slices.Contains(without, key) {
			continue
		}
		if chars != nil {
			m.set(o, strconv.Itoa(i), chars[i])
		} else {
			m.set(o, key, m.member(v, key))
		}
	}
}

// setOf makes a set of names that are too many to look through for each member; nil of
// fewer.
func (m *Machine) setOf(names []string) map[string]struct{} {
	if len(names) <= maxScannedKeys {
		return nil
	}
	m.spend(len(names), 80*len(names))
	set := make(map[string]struct{}, len(names))
	for _, name := range names {
		set[name] = struct{}{}
	}
	return set
}

// characters lists the code units of s, each as a string.
func (m *Machine) characters(s string) []any {
	m.spend(len(s), 18*len(s))
	if isASCII(s) {
		chars := make([]any, len(s))
		for i := range chars {
			chars[i] = s[i : i+1]
		}
		return chars
	}
	units := m.units(s)
	chars := make([]any, len(units))
	for i := range units {
		chars[i] = m.fromUnits(units[i : i+1])
	}
	return chars
}
