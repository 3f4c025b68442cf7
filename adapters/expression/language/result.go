package language

import "strings"

// output makes the JSON tree that an evaluation gives: what JSON.stringify would
// keep. A part of the environment is given as it is; what the expression created
// is copied into maps and slices. The copy is counted in full, because a value in many
// places costs the tree's readers as often.
func (m *Machine) output(v any) any {
	switch v := v.(type) {
	case map[string]any, []any, nil, bool:
		return v
	}
	out, present := m.outputPart(v)
	if !present {
		return nil
	}
	return out
}

// outputPart returns false for undefined.
func (m *Machine) outputPart(v any) (any, bool) {
	m.spend(1, 16)
	switch v := v.(type) {
	case undefinedType:
		return nil, false
	case float64:
		if !finite(v) {
			return nil, true
		}
		return v + 0, true
	case string:
		m.work(len(v))
		m.alloc(len(v))
		return m.whole(v), true
	case *array:
		return m.outputArray(v), true
	case *object:
		return m.outputObject(v), true
	case map[string]any, []any:
		m.measure(v)
	}
	return v, true
}

func (m *Machine) outputArray(a *array) any {
	m.enter()
	defer func() { m.depth++ }()
	out := make([]any, len(a.elems))
	for i, e := range a.elems {
		out[i], _ = m.outputPart(e)
	}
	return out
}

func (m *Machine) outputObject(o *object) any {
	m.enter()
	defer func() { m.depth++ }()
	out := make(map[string]any, len(o.keys))
	for i, key := range o.keys {
		m.work(len(key))
		m.alloc(32 + len(key))
		if part, present := m.outputPart(o.vals[i]); present {
			out[m.whole(key)] = part
		}
	}
	return out
}

// measure counts a part of the environment within a created value.
func (m *Machine) measure(v any) {
	m.enter()
	defer func() { m.depth++ }()
	m.alloc(16)
	switch v := v.(type) {
	case string:
		m.alloc(len(v))
	case map[string]any:
		m.spend(len(v)>>2, 0)
		for key, member := range v {
			m.alloc(16 + len(key))
			m.measure(member)
		}
	case []any:
		m.pass(len(v))
		for _, e := range v {
			m.measure(e)
		}
	}
}

// whole replaces lone surrogates by U+FFFD, which UTF-8 cannot write.
func (m *Machine) whole(s string) string {
	if wellFormed(s) {
		return s
	}
	m.alloc(len(s))
	var b strings.Builder
	for len(s) > 0 {
		_, size := decode(s)
		if isHalf(s) {
			b.WriteRune('\ufffd')
		} else {
			b.WriteString(s[:size])
		}
		s = s[size:]
	}
	return b.String()
}
