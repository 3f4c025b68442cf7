package language

import (
	"strings"
)

// jsonStringify is JSON.stringify(value, null, space).
func jsonStringify(m *Machine, args []any) any {
	if replacer := argumentAt(args, 1); replacer != undefined && replacer != nil {
		panic(m.fault(CodeBadArgument, "JSON.stringify takes no replacer; write null, and choose the members in an object literal"))
	}
	w := &jsonWriter{t: TextBuilder{m: m}}
	switch space := argumentAt(args, 2).(type) {
	case float64:
		w.indent = strings.Repeat(" ", int(max(0, min(m.integer(space), 10))))
	case string:
		w.indent = m.substring(space, 0, min(10, m.unitLen(space)))
	}
	if !w.value(argumentAt(args, 0)) {
		return undefined
	}
	return w.t.String()
}

// toJSON renders a value as JSON.stringify does, undefined as "undefined".
func (m *Machine) toJSON(v any) string {
	w := &jsonWriter{t: TextBuilder{m: m}}
	if !w.value(v) {
		return "undefined"
	}
	return w.t.String()
}

type jsonWriter struct {
	t      TextBuilder
	indent string
	level  int
}

// value writes v; it writes nothing and returns false for undefined.
func (w *jsonWriter) value(v any) bool {
	m := w.t.m
	m.step()
	switch v := v.(type) {
	case undefinedType:
		return false
	case nil:
		w.t.Add("null")
	case bool:
		w.t.Add(m.text(v))
	case float64:
		if !finite(v) {
			w.t.Add("null")
		} else {
			w.t.Add(formatNumber(v))
		}
	case string:
		w.quote(v)
	default:
		m.enter()
		w.level++
		if elems, ok := elements(v); ok {
			w.array(elems)
		} else {
			w.object(v)
		}
		w.level--
		m.depth++
	}
	return true
}

func (w *jsonWriter) array(elems []any) {
	w.t.Add("[")
	for i, e := range elems {
		w.separate(i == 0)
		if !w.value(w.t.m.read(e)) {
			w.t.Add("null")
		}
	}
	w.close(len(elems) == 0, "]")
}

func (w *jsonWriter) object(v any) {
	w.t.Add("{")
	empty := true
	for _, key := range w.t.m.ownKeys(v) {
		member := w.t.m.member(v, key)
		if member == undefined {
			continue
		}
		w.separate(empty)
		empty = false
		w.quote(key)
		w.t.Add(":")
		if w.indent != "" {
			w.t.Add(" ")
		}
		w.value(member)
	}
	w.close(empty, "}")
}

func (w *jsonWriter) separate(first bool) {
	if !first {
		w.t.Add(",")
	}
	w.newLine(w.level)
}

func (w *jsonWriter) close(empty bool, bracket string) {
	if !empty {
		w.newLine(w.level - 1)
	}
	w.t.Add(bracket)
}

func (w *jsonWriter) newLine(level int) {
	if w.indent == "" {
		return
	}
	w.t.m.pass(level)
	w.t.Add("\n")
	for range level {
		w.t.Add(w.indent)
	}
}

// jsonParse is JSON.parse(text).
func jsonParse(m *Machine, args []any) any {
	r := &jsonReader{m: m, s: m.text(argumentAt(args, 0))}
	m.work(2 * len(r.s))
	v := r.value()
	r.space()
	if r.at < len(r.s) {
		r.fail()
	}
	return v
}

// jsonReader reads the grammar of JSON (RFC 8259) and nothing more.
type jsonReader struct {
	m  *Machine
	s  string
	at int
}

func (r *jsonReader) fail() {
	if r.at >= len(r.s) {
		panic(r.m.fault(CodeBadJSON, "JSON.parse takes the text of one JSON value, but the text ends too early"))
	}
	found, _ := decode(r.s[r.at:])
	panic(r.m.fault(CodeBadJSON, "JSON.parse takes the text of one JSON value, but finds %q at %d", found, unitLen(r.s[:r.at])))
}

func (r *jsonReader) space() {
	for r.at < len(r.s) && (r.s[r.at] == ' ' || r.s[r.at] == '\n' || r.s[r.at] == '\t' || r.s[r.at] == '\r') {
		r.at++
	}
}

// take reads the byte c after white space, if it is there.
func (r *jsonReader) take(c byte) bool {
	r.space()
	if r.at < len(r.s) && r.s[r.at] == c {
		r.at++
		return true
	}
	return false
}

func (r *jsonReader) need(c byte) {
	if !r.take(c) {
		r.fail()
	}
}

func (r *jsonReader) word(word string, v any) any {
	for i := range len(word) {
		if r.at >= len(r.s) || r.s[r.at] != word[i] {
			r.fail()
		}
		r.at++
	}
	return v
}

func (r *jsonReader) value() any {
	r.m.spend(1, 16)
	r.m.enter()
	defer func() { r.m.depth++ }()
	r.space()
	if r.at >= len(r.s) {
		r.fail()
	}
	switch r.s[r.at] {
	case '{':
		return r.object()
	case '[':
		return r.array()
	case '"':
		return r.quoted()
	case 't':
		return r.word("true", true)
	case 'f':
		return r.word("false", false)
	case 'n':
		return r.word("null", nil)
	}
	return r.number()
}

func (r *jsonReader) object() any {
	r.need('{')
	r.m.alloc(64)
	created := &object{}
	if r.take('}') {
		return created
	}
	for {
		if r.space(); r.at >= len(r.s) || r.s[r.at] != '"' {
			r.fail()
		}
		key := r.quoted()
		r.need(':')
		r.m.set(created, key, r.value())
		if !r.take(',') {
			r.need('}')
			return created
		}
	}
}

func (r *jsonReader) array() any {
	r.need('[')
	r.m.alloc(40)
	created := &array{}
	if r.take(']') {
		return created
	}
	for {
		r.m.alloc(32)
		created.elems = append(created.elems, r.value())
		if !r.take(',') {
			r.need(']')
			return created
		}
	}
}

func (r *jsonReader) number() any {
	start := r.at
	if r.at < len(r.s) && r.s[r.at] == '-' {
		r.at++
	}
	n := countDigits(r.s[r.at:])
	if n == 0 || n > 1 && r.s[r.at] == '0' {
		r.at += min(n, 1)
		r.fail()
	}
	r.at += n
	if r.at < len(r.s) && r.s[r.at] == '.' {
		r.at++
		r.digits()
	}
	if r.at < len(r.s) && (r.s[r.at] == 'e' || r.s[r.at] == 'E') {
		r.at++
		if r.at < len(r.s) && (r.s[r.at] == '+' || r.s[r.at] == '-') {
			r.at++
		}
		r.digits()
	}
	return r.m.parseDecimal(r.s[start:r.at])
}

func (r *jsonReader) digits() {
	n := countDigits(r.s[r.at:])
	if n == 0 {
		r.fail()
	}
	r.at += n
}

func (r *jsonReader) quoted() string {
	r.at++
	t := TextBuilder{m: r.m}
	start := r.at
	for ; r.at < len(r.s); r.at++ {
		switch c := r.s[r.at]; {
		case c == '"':
			t.Add(r.s[start:r.at])
			r.at++
			return t.String()
		case c < ' ':
			r.fail()
		case c == '\\':
			r.m.step()
			t.Add(r.s[start:r.at])
			r.at++
			t.Add(r.escape())
			start = r.at + 1
		}
	}
	r.fail()
	return ""
}

// escape reads what follows a backslash, and stays on its last byte.
func (r *jsonReader) escape() string {
	if r.at >= len(r.s) {
		r.fail()
	}
	c := r.s[r.at]
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
		return "\"\\/\b\f\n\r\t"[i : i+1]
	}
	if c != 'u' {
		r.fail()
	}
	unit := 0
	for range 4 {
		r.at++
		if r.at >= len(r.s) || digit(r.s[r.at]) >= 16 {
			r.fail()
		}
		unit = unit*16 + digit(r.s[r.at])
	}
	return r.m.fromUnits([]uint16{uint16(unit)})
}
