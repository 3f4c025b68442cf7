package language

import "math"

// truthy is ToBoolean of ECMA-262.
func truthy(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case nil, undefinedType:
		return false
	case float64:
		return v != 0 && v == v
	case string:
		return v != ""
	}
	return true
}

// number is ToNumber of ECMA-262.
func (m *Machine) number(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case bool:
		if v {
			return 1
		}
		return 0
	case nil:
		return 0
	case undefinedType:
		return math.NaN()
	case string:
		return m.parseNumber(v)
	}
	return m.parseNumber(m.text(v))
}

// integer is ToIntegerOrInfinity of ECMA-262.
func (m *Machine) integer(v any) float64 {
	f := m.number(v)
	if f != f {
		return 0
	}
	return math.Trunc(f) + 0
}

// text is ToString of ECMA-262. An array is its elements joined by commas.
func (m *Machine) text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		m.alloc(16)
		if v != 0 && math.Abs(v) < leastNormal {
			m.spend(8, 0) // takes ten times as long
		}
		return formatNumber(v)
	case bool:
		if v {
			return "true"
		}
		return "false"
	case nil:
		return "null"
	case undefinedType:
		return "undefined"
	}
	if elems, ok := elements(v); ok {
		return m.join(elems, ",")
	}
	return "[object Object]"
}

// join is Array.prototype.join: null and undefined are empty.
func (m *Machine) join(elems []any, separator string) string {
	m.enter()
	defer func() { m.depth++ }()
	t := TextBuilder{m: m}
	for i, e := range elems {
		m.step()
		if i > 0 {
			t.Add(separator)
		}
		if e = m.read(e); e != nil && e != undefined {
			t.Add(m.text(e))
		}
	}
	return t.String()
}

// primitive is ToPrimitive of ECMA-262. Objects of the language have no methods
// of their own that it would call.
func (m *Machine) primitive(v any) any {
	if isObject(v) {
		return m.text(v)
	}
	return v
}

// key is ToPropertyKey of ECMA-262, without symbols.
func (m *Machine) key(v any) string {
	name := m.text(v)
	m.work(len(name))
	return name
}
