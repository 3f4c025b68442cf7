package language

import "math"

// strictEquals is ===.
func (m *Machine) strictEquals(a, b any) bool {
	switch x := a.(type) {
	case string:
		y, ok := b.(string)
		if ok && len(x) == len(y) && len(x) > 64 {
			m.work(len(x))
		}
		return ok && x == y
	case float64:
		y, ok := b.(float64)
		return ok && x == y
	case bool:
		y, ok := b.(bool)
		return ok && x == y
	case nil:
		return b == nil
	case undefinedType:
		return b == undefined
	}
	return sameObject(a, b)
}

// sameValueZero is what includes compares by: NaN equals itself.
func (m *Machine) sameValueZero(a, b any) bool {
	if x, ok := a.(float64); ok && x != x {
		y, isNumber := b.(float64)
		return isNumber && y != y
	}
	return m.strictEquals(a, b)
}

// looseEquals is ==.
func (m *Machine) looseEquals(a, b any) bool {
	noA, noB := a == nil || a == undefined, b == nil || b == undefined
	if noA || noB {
		return noA && noB
	}
	if isObject(a) {
		if isObject(b) {
			return sameObject(a, b)
		}
		a = m.text(a)
	} else if isObject(b) {
		b = m.text(b)
	}
	x, isTextA := a.(string)
	y, isTextB := b.(string)
	if isTextA && isTextB {
		return m.strictEquals(x, y)
	}
	return m.number(a) == m.number(b)
}

// less is a < b; unordered says that one of them is NaN.
func (m *Machine) less(a, b any) (less, unordered bool) {
	x, isNumberA := a.(float64)
	y, isNumberB := b.(float64)
	if !isNumberA || !isNumberB {
		a, b = m.primitive(a), m.primitive(b)
		s, isTextA := a.(string)
		t, isTextB := b.(string)
		if isTextA && isTextB {
			return m.compareText(s, t) < 0, false
		}
		x, y = m.number(a), m.number(b)
	}
	return x < y, x != x || y != y
}

// add is +: it joins when one side is text.
func (m *Machine) add(a, b any) any {
	if x, ok := a.(float64); ok {
		if y, isNumber := b.(float64); isNumber {
			return x + y
		}
	}
	a, b = m.primitive(a), m.primitive(b)
	_, isTextA := a.(string)
	_, isTextB := b.(string)
	if isTextA || isTextB {
		return m.concat(m.text(a), m.text(b))
	}
	return m.number(a) + m.number(b)
}

// has is key in v.
func (m *Machine) has(key, v any) bool {
	if !isObject(v) {
		panic(m.fault(CodeBadArgument, "the right side of in must be an object or an array, not %s", describe(v)))
	}
	name := m.key(key)
	switch v := v.(type) {
	case map[string]any:
		_, ok := v[name]
		return ok
	case *object:
		_, ok := v.find(name)
		return ok
	}
	elems, _ := elements(v)
	i, ok := arrayIndex(name)
	return name == "length" || ok && int(i) < len(elems)
}

// member reads a member of anything but null and undefined: an own one, an index
// or a length, else undefined.
func (m *Machine) member(v any, name string) any {
	switch v := v.(type) {
	case map[string]any:
		if found, ok := v[name]; ok {
			return m.read(found)
		}
		return undefined
	case *object:
		found, _ := v.get(name)
		return m.read(found)
	case string:
		if name == "length" {
			return float64(m.unitLen(v))
		}
		if i, ok := arrayIndex(name); ok {
			return m.charAt(v, float64(i), undefined)
		}
		return undefined
	}
	if elems, ok := elements(v); ok {
		if name == "length" {
			return float64(len(elems))
		}
		if i, isIndex := arrayIndex(name); isIndex && int(i) < len(elems) {
			return m.read(elems[i])
		}
	}
	return undefined
}

// index reads v[key].
func (m *Machine) index(v, key any) any {
	i, isNumber := key.(float64)
	if !isNumber || i < 0 || i != math.Trunc(i) {
		return m.member(v, m.key(key))
	}
	if elems, ok := elements(v); ok {
		if i < float64(len(elems)) {
			return m.read(elems[int(i)])
		}
		return undefined
	}
	if s, ok := v.(string); ok {
		return m.charAt(s, i, undefined)
	}
	return m.member(v, m.key(key))
}

// charAt returns the code unit at i as a string, else what outside is.
func (m *Machine) charAt(s string, i float64, outside any) any {
	if i < 0 || i >= float64(len(s)) {
		return outside
	}
	m.work(len(s))
	if isASCII(s) {
		return s[int(i) : int(i)+1]
	}
	units := m.units(s)
	if i >= float64(len(units)) {
		return outside
	}
	return m.fromUnits(units[int(i) : int(i)+1])
}
