// Package typing says which values an expression may have, as far as that is known. Types
// are gradual: of [Any], the zero value, nothing is known, and it agrees with everything.
//
// A type never grows with what it describes: what is declared is looked up when it is
// asked for, a choice of more than a few shapes is a choice of any shape, and of arrays that
// are nested deep nothing is known. Objects are shared, and nothing goes through all of what
// is in them, so that what is made of one twice is no larger.
package typing

import (
	"slices"

	"github.com/sluicehq/sluice/domain/node"
)

// Kind is a set of the kinds of values that JavaScript knows.
type Kind uint8

// The kinds of values.
const (
	Undefined Kind = 1 << iota
	Null
	Boolean
	Number
	String
	Array
	Object
)

// Sets of kinds.
const (
	Nullish = Undefined | Null
	All     = Object<<1 - 1

	scalars = Boolean | Number | String
)

// Bounds of what a type remembers.
const (
	maxValues = 100 // values that are listed
	maxShapes = 8   // shapes of objects that are a choice
	maxFields = 100 // members of an object that an expression makes
	maxDepth  = 16  // arrays in arrays
)

// Type says which values there may be. The zero value is any.
type Type struct {
	kinds   Kind      // 0 for any
	values  []any     // the only booleans, numbers (float64) and texts; nil for all of their kinds
	items   *Type     // what is in its arrays; nil for anything
	shapes  []*Fields // what its objects hold, one of these; none for anything
	claimed bool      // its author says so, and nothing makes sure of it
	about   string    // what it is for; empty when nothing was said
}

// Any is the type of which nothing is known.
var Any = Type{}

// Of is the type of all values of the kinds.
func Of(kinds Kind) Type { return Type{kinds: kinds} }

// Value is the type of one text, number (float64) or boolean.
func Value(v any) Type { return Type{kinds: kindOfScalar(v), values: []any{v}} }

// List is the type of arrays of what the items are.
func List(items Type) Type {
	depth := 1
	for in := items.items; in != nil; in = in.items {
		depth++
	}
	if items.IsAny() || depth > maxDepth {
		return Of(Array)
	}
	return Type{kinds: Array, items: &items}
}

func kindOfScalar(v any) Kind {
	switch v.(type) {
	case string:
		return String
	case bool:
		return Boolean
	}
	return Number
}

// FromField is the type of what satisfies a field schema, or is absent where it may be.
func FromField(f node.FieldSchema) Type {
	t := fromKind(f)
	t.about = f.Description()
	if _, hasDefault := f.Default(); !f.Required() && !hasDefault && !t.IsAny() {
		t.kinds |= Undefined
	}
	return t
}

func fromKind(f node.FieldSchema) Type {
	switch f.Type() {
	case node.String:
		return Of(String)
	case node.Number:
		return Of(Number)
	case node.Boolean:
		return Of(Boolean)
	case node.Array:
		return List(FromItem(f.Items()))
	case node.Object:
		rest := Open
		if f.Closed() {
			rest = Closed
		}
		return FromSchema(f.Properties(), rest)
	case node.Enum:
		return fromValues(f)
	}
	return Any
}

// FromItem is the type of what satisfies a field schema and is there.
func FromItem(f node.FieldSchema) Type {
	t := FromField(f)
	if present, some := t.Without(Undefined); some {
		return present
	}
	return t
}

func fromValues(f node.FieldSchema) Type {
	values := f.Values()
	if f.Dynamic() || len(values) == 0 || len(values) > maxValues {
		return Any
	}
	var kinds Kind
	listed := make([]any, 0, len(values))
	for _, v := range values {
		switch v.(type) {
		case nil:
			kinds |= Null
		case string, float64, bool:
			kinds |= kindOfScalar(v)
			listed = append(listed, v)
		default:
			return Any
		}
	}
	if len(listed) == 0 {
		return Of(kinds)
	}
	return Type{kinds: kinds, values: listed}
}

// Claimed is the same type, of which nothing makes sure.
func (t Type) Claimed() Type {
	t.claimed = true
	return t
}

// IsClaimed says that the type is what its author says, and nothing makes sure of it.
func (t Type) IsClaimed() bool { return t.claimed }

// IsAny says that nothing is known of the type.
func (t Type) IsAny() bool { return t.kinds == 0 }

// Kinds are the kinds of its values.
func (t Type) Kinds() Kind {
	if t.IsAny() {
		return All
	}
	return t.kinds
}

// Within says whether it is known that all values are of the kinds.
func (t Type) Within(kinds Kind) bool { return !t.IsAny() && t.kinds&^kinds == 0 }

// Description says what the value is for; empty when nothing was said.
func (t Type) Description() string { return t.about }

// Values are the only values where these are listed and of scalar kinds.
func (t Type) Values() (values []any, listed bool) {
	return t.values, t.values != nil && t.Within(scalars)
}

// Without leaves out values of the kinds; some is false when no value is left. Any stays
// what it is.
func (t Type) Without(kinds Kind) (left Type, some bool) {
	if t.IsAny() {
		return t, true
	}
	t.kinds &^= kinds
	if t.values != nil && kinds&scalars != 0 {
		t.values = slices.DeleteFunc(slices.Clone(t.values), func(v any) bool { return kindOfScalar(v)&kinds != 0 })
		if len(t.values) == 0 {
			t.values = nil
		}
	}
	if t.kinds&Array == 0 {
		t.items = nil
	}
	if t.kinds&Object == 0 {
		t.shapes = nil
	}
	return t, t.kinds != 0
}

// Only leaves values of the kinds. Any becomes the type of a single kind, and stays any where
// several are left: nothing is known to be wrong with one of them.
func (t Type) Only(kinds Kind) (left Type, some bool) {
	if t.IsAny() {
		if kinds&(kinds-1) != 0 {
			return t, true
		}
		return Of(kinds), kinds != 0
	}
	return t.Without(All &^ kinds)
}

// Or is the type of what is of either type.
func (t Type) Or(other Type) Type {
	if t.IsAny() || other.IsAny() {
		return Any
	}
	return Type{
		kinds:   t.kinds | other.kinds,
		values:  bothValues(t, other),
		items:   bothItems(t, other),
		shapes:  bothShapes(t, other),
		claimed: t.claimed || other.claimed,
	}
}

// Union is the type of what is of one of the types; any for none.
func Union(of ...Type) Type {
	if len(of) == 0 {
		return Any
	}
	t := of[0]
	for _, other := range of[1:] {
		t = t.Or(other)
	}
	return t
}

func bothValues(t, other Type) []any {
	switch {
	case t.kinds&scalars == 0:
		return other.values
	case other.kinds&scalars == 0:
		return t.values
	case t.values == nil || other.values == nil || len(t.values)+len(other.values) > maxValues:
		return nil
	}
	all := slices.Clone(t.values)
	for _, v := range other.values {
		if !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

// bothItems is one type, so that a choice of a choice is no tree of them.
func bothItems(t, other Type) *Type {
	switch {
	case t.kinds&Array == 0:
		return other.items
	case other.kinds&Array == 0 || t.items == other.items:
		return t.items
	case t.items == nil || other.items == nil:
		return nil
	}
	if both := t.items.Or(*other.items); !both.IsAny() {
		return &both
	}
	return nil
}

func bothShapes(t, other Type) []*Fields {
	switch {
	case t.kinds&Object == 0:
		return other.shapes
	case other.kinds&Object == 0:
		return t.shapes
	case len(t.shapes) == 0 || len(other.shapes) == 0 || len(t.shapes)+len(other.shapes) > maxShapes:
		return nil
	}
	all := slices.Clone(t.shapes)
	for _, f := range other.shapes {
		if !slices.Contains(all, f) {
			all = append(all, f)
		}
	}
	return all
}

// Items is the type of what is in its arrays.
func (t Type) Items() Type {
	if t.items == nil {
		return Any
	}
	items := *t.items
	items.claimed = items.claimed || t.claimed
	return items
}

// Stored is the type of what a run keeps of the value: JSON knows no undefined.
func (t Type) Stored() Type {
	if t.IsAny() {
		return t
	}
	if t.kinds&Undefined != 0 {
		t.kinds = t.kinds&^Undefined | Null
	}
	if t.items != nil {
		items := t.items.Stored()
		t.items = &items
	}
	return t
}

// NeverEqual says that no value of the one type is (===) a value of the other.
func NeverEqual(a, b Type) bool {
	if a.IsAny() || b.IsAny() {
		return false
	}
	shared := a.kinds & b.kinds
	if shared == 0 {
		return true
	}
	if shared&^scalars != 0 || a.values == nil || b.values == nil {
		return false
	}
	return !slices.ContainsFunc(a.values, func(v any) bool { return slices.Contains(b.values, v) })
}
