package typing

import (
	"maps"
	"slices"

	"github.com/sluicehq/sluice/domain/node"
)

// Rest says what an object holds besides the members that are known.
type Rest uint8

// What else an object holds.
const (
	Open   Rest = iota // anything
	Exact              // nothing, for so it is made
	Closed             // nothing, for so it is declared
)

// Fields are the members of an object: those that an expression or the gateway made, those
// that a schema declares, or those that are looked up.
type Fields struct {
	names  []string
	types  map[string]Type
	schema node.Schema
	lookup func(name string) (t Type, known bool)
	rest   Rest
}

// Lookup is the type of objects whose members are found when they are asked for, and which may
// hold others.
func Lookup(names []string, find func(name string) (t Type, known bool)) Type {
	return Type{kinds: Object, shapes: []*Fields{{names: names, lookup: find}}}
}

// FromSchema is the type of objects that satisfy a schema.
func FromSchema(s node.Schema, rest Rest) Type {
	if s.Len() == 0 && rest == Open {
		return Of(Object)
	}
	return Type{kinds: Object, shapes: []*Fields{{schema: s, rest: rest}}}
}

// NewObject begins with an object that holds nothing else.
func NewObject() *Fields { return &Fields{types: map[string]Type{}, rest: Exact} }

// Set adds a member, or replaces it. An object with many is one of which not all is known.
func (f *Fields) Set(name string, t Type) *Fields {
	if _, again := f.types[name]; !again {
		if len(f.names) == maxFields {
			f.rest = Open
			return f
		}
		f.names = append(f.names, name)
	}
	f.types[name] = t
	return f
}

// Blur forgets what the members are, and which others there are: anything was put over them.
func (f *Fields) Blur() {
	f.names, f.types, f.rest = nil, map[string]Type{}, Open
}

// MayHoldMore notes that there may be other members.
func (f *Fields) MayHoldMore() { f.rest = Open }

// Type is the type of the object, which must not be changed any more.
func (f *Fields) Type() Type { return Type{kinds: Object, shapes: []*Fields{f}} }

// Spread puts the members of a value over those that are there, and counts them. Of a value
// with more than most members, not all is known.
func (f *Fields) Spread(t Type, most int) (copied int) {
	if !t.Within(Object | Nullish) {
		f.Blur()
		return 0
	}
	if t.kinds&Object == 0 {
		return 0
	}
	known := len(t.shapes) == 1 && len(t.shapes[0].memberNames()) <= min(most, maxFields)
	if !known || t.shapes[0].rest == Open {
		f.Blur()
	}
	if !known {
		return 0
	}
	for _, name := range t.shapes[0].memberNames() {
		member, _ := t.shapes[0].member(name)
		if t.kinds&Nullish != 0 {
			member = member.Or(Of(Undefined))
		}
		if before, there := f.types[name]; member.Kinds()&Undefined != 0 && !member.IsAny() {
			if !there && f.rest == Open {
				before = Any
			} else if !there {
				before = Of(Undefined)
			}
			member = before.Or(member)
		}
		if t.claimed {
			member = member.Claimed()
		}
		f.Set(name, member)
		copied++
	}
	return copied
}

func (f *Fields) memberNames() []string {
	if f.types != nil || f.lookup != nil {
		return f.names
	}
	names := make([]string, 0, f.schema.Len())
	for name := range f.schema.All() {
		names = append(names, name)
	}
	return names
}

func (f *Fields) member(name string) (t Type, known bool) {
	switch {
	case f.types != nil:
		t, known = f.types[name]
		return t, known
	case f.lookup != nil:
		return f.lookup(name)
	}
	field, known := f.schema.Field(name)
	if !known {
		return Any, false
	}
	return FromField(field), true
}

// Member is the type of a member of its objects. rest says why it is never there: [Closed]
// where each object is declared so, [Exact] where one is only made so; [Open] where it may be.
func (t Type) Member(name string) (member Type, rest Rest) {
	if len(t.shapes) == 0 {
		return Any, Open
	}
	var found []Type
	there, declared := false, true
	for _, f := range t.shapes {
		member, known := f.member(name)
		switch {
		case known || f.rest == Open:
			there = true
		default:
			declared = declared && f.rest == Closed
			member = Of(Undefined)
		}
		found = append(found, member)
	}
	member = Union(found...)
	if len(found) == 1 {
		member = found[0]
	}
	member.claimed = member.claimed || t.claimed
	switch {
	case there:
		return member, Open
	case declared:
		return member, Closed
	}
	return member, Exact
}

// MayHoldMore says whether an object may have other members than those that are known.
func (t Type) MayHoldMore() bool {
	return len(t.shapes) == 0 || slices.ContainsFunc(t.shapes, func(f *Fields) bool { return f.rest == Open })
}

// MemberNames lists the members that its objects are known to have, in their author's order
// where there is one shape.
func (t Type) MemberNames() []string {
	if len(t.shapes) == 1 {
		return t.shapes[0].memberNames()
	}
	all := map[string]bool{}
	for _, f := range t.shapes {
		for _, name := range f.memberNames() {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}
