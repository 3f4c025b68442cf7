package jsonread

import (
	"encoding/json"
	"strconv"

	"github.com/sluicehq/sluice/domain"
)

// Value is one JSON value of a body. Its getters take it as one type; where it has
// another, they record a violation in r and return the zero value and false.
type Value struct {
	tree *tree
	at   uint32
	form bool
}

func (v Value) node() node { return v.tree.nodes[v.at] }

func (v Value) ask(as use) { v.tree.nodes[v.at].use = max(v.tree.nodes[v.at].use, as) }

// Path is where the value stands in the body, as the client would write it:
// "nodes[2].config". It is empty for the body itself.
func (v Value) Path() string { return v.tree.path(v.at) }

// IsNull says whether the value is null.
func (v Value) IsNull() bool { return v.node().kind == null }

// isBlank says whether the value is what a form has for a member that was left open.
func (v Value) isBlank() bool {
	switch n := v.node(); n.kind {
	case null:
		return true
	case text:
		return v.tree.str(v.at) == ""
	case object, array:
		return n.after == v.at+1
	case boolean, number:
	}
	return false
}

// numeral is the JSON text of a number.
func (v Value) numeral(r *domain.Rules) (raw string, ok bool) {
	if v.form && v.node().kind == text {
		n, isDecimal := domain.ReadDecimal(v.tree.str(v.at))
		if _, err := n.Float64(); isDecimal && err == nil {
			return string(n), true
		}
	}
	if !v.wanted(number, r) {
		return "", false
	}
	return v.tree.raw(v.at), true // Parse has checked syntax and range
}

// Text is the JSON text of the value as it was sent, without white space between
// its parts: the order of members, the spelling of numbers and the escapes are the
// client's.
func (v Value) Text() string { return v.tree.compact(v.at) }

// Any returns the value as encoding/json does with UseNumber: nil, bool, string,
// [json.Number], []any or map[string]any.
func (v Value) Any() any {
	n := v.node()
	switch n.kind {
	case null:
		return nil
	case boolean:
		return v.tree.text[n.start] == 't'
	case number:
		return json.Number(v.tree.owned(v.tree.raw(v.at)))
	case text:
		return v.tree.owned(v.tree.str(v.at))
	case array:
		all := make([]any, 0, 4)
		for _, e := range Array(v).All() {
			all = append(all, e.Any())
		}
		return all
	case object:
	}
	all := map[string]any{}
	for name, m := range Object(v).All() {
		all[name] = m.Any()
	}
	return all
}

// wanted says whether the value is of a kind, and records a violation otherwise.
func (v Value) wanted(k kind, r *domain.Rules) bool {
	got := v.node().kind
	if got == k {
		return true
	}
	if !r.Full() { // finding the path takes as long as there are siblings
		r.Check(false, v.Path(), domain.WrongType, "must be %s, not %s", k, got)
	}
	return false
}

// String takes the value as a string.
func (v Value) String(r *domain.Rules) (value string, ok bool) {
	if !v.wanted(text, r) {
		return "", false
	}
	return v.tree.owned(v.tree.str(v.at)), true
}

// Bool takes the value as a boolean.
func (v Value) Bool(r *domain.Rules) (value, ok bool) {
	if !v.wanted(boolean, r) {
		return false, false
	}
	return v.tree.text[v.node().start] == 't', true
}

// Number takes the value as a number.
func (v Value) Number(r *domain.Rules) (value float64, ok bool) {
	raw, ok := v.numeral(r)
	if !ok {
		return 0, false
	}
	value, _ = strconv.ParseFloat(raw, 64)
	return value, true
}

// maxInt is the greatest whole number that every JSON reader keeps exact (RFC 8259,
// §6); the least is its negation.
const maxInt = 1<<53 - 1

// Int takes the value as a whole number of at most 2⁵³-1 in size, which may be
// spelled 1000, 1000.0 or 1e3. A fraction is a violation not whole; one beyond is
// too large or too small.
func (v Value) Int(r *domain.Rules) (value int, ok bool) {
	raw, ok := v.numeral(r)
	if !ok {
		return 0, false
	}
	d := parseDecimal(raw)
	if !d.whole() {
		r.Check(false, v.Path(), domain.NotWhole, "must be a whole number, not %s", legible(raw))
		return 0, false
	}
	n, ok := d.int()
	switch {
	case ok:
	case raw[0] == '-':
		r.Check(false, v.Path(), domain.TooSmall, "must be at least -%d, not %s", maxInt, legible(raw))
	default:
		r.Check(false, v.Path(), domain.TooLarge, "must be at most %d, not %s", maxInt, legible(raw))
	}
	return n, ok
}

// Object takes the value as an object. The zero Object, which is empty, stands for
// one of another type.
func (v Value) Object(r *domain.Rules) (value Object, ok bool) {
	if !v.wanted(object, r) {
		return Object{}, false
	}
	v.ask(entered)
	return Object(v), true
}

// Array takes the value as an array. The zero Array, which is empty, stands for one
// of another type.
func (v Value) Array(r *domain.Rules) (value Array, ok bool) {
	if !v.wanted(array, r) {
		return Array{}, false
	}
	v.ask(entered)
	return Array(v), true
}

// Document takes the value as an object to be kept as it was sent.
func (v Value) Document(r *domain.Rules) (value domain.Document, ok bool) {
	if !v.wanted(object, r) {
		return domain.Document{}, false
	}
	return domain.RestoreDocument(v.Text()), true // the text was checked when it was read
}
