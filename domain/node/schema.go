package node

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"regexp"
	"slices"
)

// Limits of a schema.
const (
	MaxDepth  = 64   // levels of fields within fields; a body may not be nested deeper either
	MaxFields = 2000 // fields of one schema, properties and items counted
)

// FieldSchema says which values a field may have. It is immutable and always
// valid; build one with [ParseField]. The zero value is an optional field of type
// any.
type FieldSchema struct{ s *shape }

// shape is what a FieldSchema and its copies share.
type shape struct {
	declared Declaration
	kind     FieldType
	required bool

	hasDefault   bool
	defaultValue any

	low, high float64 // inclusive bounds of the number, the length or the count
	whole     bool
	pattern   *pattern

	properties Schema
	closed     bool // undeclared properties are refused
	items      FieldSchema

	values  []any               // of an enum, in order
	allowed map[string]struct{} // their canonical texts
	dynamic bool                // any value is allowed
}

// pattern is a compiled regular expression with the size of its program, to which
// the time of a match is proportional.
type pattern struct {
	text    string
	matcher *regexp.Regexp
	size    int
}

var anything = &shape{declared: Declaration{Type: Any}, kind: Any, low: math.Inf(-1), high: math.Inf(1)}

func (f FieldSchema) shape() *shape {
	if f.s == nil {
		return anything
	}
	return f.s
}

// Type is the type of the field.
func (f FieldSchema) Type() FieldType { return f.shape().kind }

// Description says what the field is for; empty when nothing was said.
func (f FieldSchema) Description() string {
	if d := f.shape().declared.Description; d != nil {
		return *d
	}
	return ""
}

// Required says whether the field must be there. One that has a default may still be
// absent.
func (f FieldSchema) Required() bool { return f.shape().required }

// Default returns a copy of the value that an absent field has; ok is false when
// there is none. The value may be nil, JSON's null.
func (f FieldSchema) Default() (value any, ok bool) {
	return cloneValue(f.shape().defaultValue), f.shape().hasDefault
}

// Properties are the declared properties of an object.
func (f FieldSchema) Properties() Schema { return f.shape().properties }

// Closed says whether an object holds nothing but its declared properties.
func (f FieldSchema) Closed() bool { return f.shape().closed }

// IsSecret says whether the value may only be a connection.
func (f FieldSchema) IsSecret() bool {
	return slices.ContainsFunc(f.shape().declared.Extra, func(m ExtraMember) bool { return m.Name == secretMember && string(m.Value) == "true" })
}

// Dynamic says whether an enum allows any value.
func (f FieldSchema) Dynamic() bool { return f.shape().dynamic }

// Items is the schema of an array's items: any when none was declared.
func (f FieldSchema) Items() FieldSchema { return f.shape().items }

// Values returns a copy of the values of an enum, in order.
func (f FieldSchema) Values() []any {
	values, _ := cloneValue(f.shape().values).([]any)
	return values
}

// Declaration returns what the author wrote, member for member.
func (f FieldSchema) Declaration() Declaration { return f.shape().declared.Clone() }

// allows says whether the value is one of an enum's.
func (s *shape) allows(value any) bool {
	if s.dynamic {
		return isJSON(value)
	}
	text, ok := canonical(value)
	if !ok {
		return false
	}
	_, ok = s.allowed[text]
	return ok
}

// Schema maps names to field schemas: the input, the output or the configuration
// of a node. It is immutable and always valid; build one with [ParseSchema]. The
// zero value declares nothing.
type Schema struct {
	names  []string // in the author's order
	fields map[string]FieldSchema
}

// Len is the number of fields.
func (s Schema) Len() int { return len(s.names) }

// Field returns the schema of the named field.
func (s Schema) Field(name string) (f FieldSchema, ok bool) {
	f, ok = s.fields[name]
	return f, ok
}

// All yields the fields in their author's order.
func (s Schema) All() iter.Seq2[string, FieldSchema] {
	return func(yield func(string, FieldSchema) bool) {
		for _, name := range s.names {
			if !yield(name, s.fields[name]) {
				return
			}
		}
	}
}

// Declarations returns what the author wrote, in order; never nil.
func (s Schema) Declarations() Declarations {
	out := make(Declarations, 0, len(s.names))
	for name, f := range s.All() {
		out = append(out, DeclaredField{Name: name, Declaration: f.Declaration()})
	}
	return out
}

// Whole returns the schema of the whole value that s describes: an object with
// these fields and possibly others, or any value when s declares nothing.
func (s Schema) Whole() FieldSchema {
	if s.Len() == 0 {
		return FieldSchema{}
	}
	return FieldSchema{&shape{
		declared:   Declaration{Type: Object, Properties: s.Declarations()},
		kind:       Object,
		properties: s,
	}}
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
