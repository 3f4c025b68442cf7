package node

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/sluicehq/sluice/domain"
)

// FieldType is the type of a field.
type FieldType string

// The types of field.
const (
	String  FieldType = "string"
	Number  FieldType = "number"
	Boolean FieldType = "boolean"
	Any     FieldType = "any" // any value, null included
	Object  FieldType = "object"
	Array   FieldType = "array"
	Enum    FieldType = "enum" // one of the listed values
)

// FieldTypes lists every type of field.
func FieldTypes() []FieldType {
	return []FieldType{String, Number, Boolean, Any, Object, Array, Enum}
}

// Valid says whether t is a type that exists.
func (t FieldType) Valid() bool { return slices.Contains(FieldTypes(), t) }

// Declaration is a field schema as its author wrote it, checked by nothing yet:
// [ParseField] makes a [FieldSchema] of it. A nil member was left out and is left
// out again when the declaration is written as JSON; its JSON form is that of the
// API. Read one from JSON with [ReadDeclarations], which reports everything
// that has the wrong type, or by json.Unmarshal.
type Declaration struct {
	Type        FieldType `json:"type"`
	Description *string   `json:"description,omitzero"`
	Required    *bool     `json:"required,omitzero"` // nil means false
	Default     Literal   `json:"default,omitzero"`

	MinLength *float64 `json:"minLength,omitzero"` // in Unicode code points, inclusive
	MaxLength *float64 `json:"maxLength,omitzero"`
	Pattern   *string  `json:"pattern,omitzero"` // RE2; it may match anywhere unless anchored

	Min     *float64 `json:"min,omitzero"` // inclusive
	Max     *float64 `json:"max,omitzero"`
	Integer *bool    `json:"integer,omitzero"` // nil means false

	Properties           Declarations `json:"properties,omitzero"`
	AdditionalProperties *bool        `json:"additionalProperties,omitzero"` // nil means true

	Items    *Declaration `json:"items,omitzero"`
	MinItems *float64     `json:"minItems,omitzero"` // inclusive
	MaxItems *float64     `json:"maxItems,omitzero"`

	Enum []Literal `json:"enum,omitzero"`

	// Extra are all other members, in the author's order. Those that forms are drawn with
	// are checked: see display.go.
	Extra []ExtraMember `json:"-"`
}

// ExtraMember is a member of a field schema that says nothing about the field's values.
type ExtraMember struct {
	Name  string
	Value Literal
}

// MarshalJSON writes the members that are known, then the others.
func (d Declaration) MarshalJSON() ([]byte, error) {
	type withoutExtra Declaration
	text, err := json.Marshal(withoutExtra(d))
	if err != nil || len(d.Extra) == 0 {
		return text, err
	}
	b := bytes.NewBuffer(text[:len(text)-1])
	for _, m := range d.Extra {
		b.WriteByte(',')
		if err := writeMember(b, m.Name, m.Value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Literal is the JSON text of a value that an author wrote into a declaration. It
// is kept as text so that it comes back as it was sent; nil means that none was
// written, which differs from the text null.
type Literal json.RawMessage

// MarshalJSON returns the text, null when there is none.
func (l Literal) MarshalJSON() ([]byte, error) { return json.RawMessage(l).MarshalJSON() }

// UnmarshalJSON keeps a copy of the text.
func (l *Literal) UnmarshalJSON(text []byte) error {
	*l = bytes.Clone(text)
	return nil
}

// Declarations are named field schemas in their author's order, which editors
// show them in. Their JSON form is an object; nil was left out.
type Declarations []DeclaredField

// DeclaredField is one field of [Declarations].
type DeclaredField struct {
	Name        string
	Declaration Declaration
}

// MarshalJSON writes one object, its members in order; nil is the empty object,
// which is how the API writes a schema without fields.
func (ds Declarations) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range ds {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := writeMember(&b, f.Name, f.Declaration); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func writeMember(b *bytes.Buffer, name string, value any) error {
	nameText, err := json.Marshal(name)
	if err != nil {
		return err
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	b.Write(nameText)
	b.WriteByte(':')
	b.Write(text)
	return nil
}

// Clone returns a copy that shares nothing with the original.
func (ds Declarations) Clone() Declarations {
	if ds == nil {
		return nil
	}
	out := make(Declarations, len(ds))
	for i, f := range ds {
		out[i] = DeclaredField{Name: f.Name, Declaration: f.Declaration.Clone()}
	}
	return out
}

// Clone returns a copy that shares nothing with the original.
func (d Declaration) Clone() Declaration {
	d.Description, d.Pattern = domain.CopyOf(d.Description), domain.CopyOf(d.Pattern)
	d.Required, d.Integer, d.AdditionalProperties = domain.CopyOf(d.Required), domain.CopyOf(d.Integer), domain.CopyOf(d.AdditionalProperties)
	d.MinLength, d.MaxLength = domain.CopyOf(d.MinLength), domain.CopyOf(d.MaxLength)
	d.Min, d.Max = domain.CopyOf(d.Min), domain.CopyOf(d.Max)
	d.MinItems, d.MaxItems = domain.CopyOf(d.MinItems), domain.CopyOf(d.MaxItems)
	d.Default = bytes.Clone(d.Default)
	d.Properties = d.Properties.Clone()
	if d.Items != nil {
		items := d.Items.Clone()
		d.Items = &items
	}
	if d.Enum != nil {
		values := make([]Literal, len(d.Enum))
		for i, v := range d.Enum {
			values[i] = bytes.Clone(v)
		}
		d.Enum = values
	}
	d.Extra = slices.Clone(d.Extra)
	for i := range d.Extra {
		d.Extra[i].Value = bytes.Clone(d.Extra[i].Value)
	}
	return d
}

// The members of a declaration in the order in which they are written, and for
// each type those that belong to it besides the common ones.
var (
	commonMembers = []string{"type", "description", "required", "default"}
	ownMembers    = map[FieldType][]string{
		String: {"minLength", "maxLength", "pattern"},
		Number: {"min", "max", "integer"},
		Object: {"properties", "additionalProperties"},
		Array:  {"items", "minItems", "maxItems"},
		Enum:   {"enum"},
	}
)

// written lists the members that the author wrote, other than the common ones.
func (d *Declaration) written() []string {
	var names []string
	for _, m := range []struct {
		name string
		set  bool
	}{
		{"minLength", d.MinLength != nil}, {"maxLength", d.MaxLength != nil}, {"pattern", d.Pattern != nil},
		{"min", d.Min != nil}, {"max", d.Max != nil}, {"integer", d.Integer != nil},
		{"properties", d.Properties != nil}, {"additionalProperties", d.AdditionalProperties != nil},
		{"items", d.Items != nil}, {"minItems", d.MinItems != nil}, {"maxItems", d.MaxItems != nil},
		{"enum", d.Enum != nil},
	} {
		if m.set {
			names = append(names, m.name)
		}
	}
	return names
}
