package jsonread

import (
	"iter"

	"github.com/sluicehq/sluice/domain"
)

// Object is a JSON object of a body. The zero value is empty.
//
// A getter takes a member as one type. Another type, null included, is recorded in
// r as a violation and counts as absent. The plain getters of strings, booleans and
// numbers say nothing about an absent member: whether it may be is the domain's to
// say. Those of arrays and objects record it as required. The Optional ones permit
// absence, the Nullable ones permit null besides.
type Object struct {
	tree *tree
	at   uint32
	form bool
}

// OfForm is the object as one that somebody filled in: the typed getters of what is in it take
// null, "", {} and [] for what was left blank, which is absent, and text that spells a number in
// decimal for the number.
func (o Object) OfForm() Object {
	o.form = true
	return o
}

// Get returns a member, whatever its type; ok is false when it is absent.
func (o Object) Get(name string) (v Value, ok bool) {
	if o.tree == nil {
		return Value{}, false
	}
	at := o.tree.member(o.at, name)
	if at == 0 {
		return Value{}, false
	}
	v = Value{o.tree, at, o.form}
	v.ask(asked)
	return v, true
}

// Has says whether a member is there, null included; in a form, and not blank.
func (o Object) Has(name string) bool {
	_, ok := o.given(name)
	return ok
}

// given is a member that was not left blank in a form.
func (o Object) given(name string) (v Value, ok bool) {
	v, ok = o.Get(name)
	return v, ok && (!o.form || !v.isBlank())
}

// IsNull says whether a member is there and null.
func (o Object) IsNull(name string) bool {
	v, ok := o.Get(name)
	return ok && v.IsNull()
}

// Empty says whether there is no member.
func (o Object) Empty() bool { return o.tree == nil || o.tree.nodes[o.at].after == o.at+1 }

// All yields the members in the order of the text. Each counts as asked for.
func (o Object) All() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if o.tree == nil {
			return
		}
		nodes := o.tree.nodes
		for i := o.at + 1; i < nodes[o.at].after; i = nodes[i+1].after {
			v := Value{o.tree, i + 1, o.form}
			v.ask(asked)
			if !yield(o.tree.owned(o.tree.str(i)), v) {
				return
			}
		}
	}
}

// Path is where the object stands in the body, empty for the body itself.
func (o Object) Path() string {
	if o.tree == nil {
		return ""
	}
	return o.tree.path(o.at)
}

// get takes a member by one of Value's getters. It answers with the zero value and
// false when the member is absent or of another type.
func get[T any](o Object, name string, r *domain.Rules, as func(Value, *domain.Rules) (T, bool)) (value T, ok bool) {
	if v, found := o.given(name); found {
		return as(v, r)
	}
	return value, false
}

// optional is get with nil for false.
func optional[T any](o Object, name string, r *domain.Rules, as func(Value, *domain.Rules) (T, bool)) *T {
	if value, ok := get(o, name, r, as); ok {
		return &value
	}
	return nil
}

// nullable is optional that permits null.
func nullable[T any](o Object, name string, r *domain.Rules, as func(Value, *domain.Rules) (T, bool)) (value *T, present bool) {
	if o.IsNull(name) {
		return nil, true
	}
	value = optional(o, name, r, as)
	return value, value != nil
}

// String returns a string, empty when absent.
func (o Object) String(name string, r *domain.Rules) (value string, present bool) {
	return get(o, name, r, Value.String)
}

// OptionalString returns a string, nil when absent.
func (o Object) OptionalString(name string, r *domain.Rules) *string {
	return optional(o, name, r, Value.String)
}

// NullableString returns a string, nil and present when the client wrote null, as
// it does to clear a member.
func (o Object) NullableString(name string, r *domain.Rules) (value *string, present bool) {
	return nullable(o, name, r, Value.String)
}

// Bool returns a boolean, false when absent.
func (o Object) Bool(name string, r *domain.Rules) (value, present bool) {
	return get(o, name, r, Value.Bool)
}

// OptionalBool returns a boolean, nil when absent.
func (o Object) OptionalBool(name string, r *domain.Rules) *bool {
	return optional(o, name, r, Value.Bool)
}

// Number returns a number, 0 when absent; see [Value.Number].
func (o Object) Number(name string, r *domain.Rules) (value float64, present bool) {
	return get(o, name, r, Value.Number)
}

// Int returns a whole number, 0 when absent; see [Value.Int].
func (o Object) Int(name string, r *domain.Rules) (value int, present bool) {
	return get(o, name, r, Value.Int)
}

// OptionalInt returns a whole number, nil when absent; see [Value.Int].
func (o Object) OptionalInt(name string, r *domain.Rules) *int {
	return optional(o, name, r, Value.Int)
}

// OptionalObject returns an object, the empty one and false when absent.
func (o Object) OptionalObject(name string, r *domain.Rules) (value Object, present bool) {
	return get(o, name, r, Value.Object)
}

// OptionalArray returns an array, the empty one and false when absent.
func (o Object) OptionalArray(name string, r *domain.Rules) (value Array, present bool) {
	return get(o, name, r, Value.Array)
}

// OptionalDocument returns an object to be kept as it was sent, nil when absent.
func (o Object) OptionalDocument(name string, r *domain.Rules) *domain.Document {
	return optional(o, name, r, Value.Document)
}
