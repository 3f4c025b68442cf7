package node_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
)

// everything declares every member that is known. Its fields are
// in an order that is not the alphabet's; the members of a field are in the
// order in which they are written.
const everything = `{
	"zip": {"type": "string", "description": "Postal code", "required": true, "default": "00000",
		"minLength": 5, "maxLength": 5, "pattern": "^[0-9]+$"},
	"amount": {"type": "number", "default": 10.0, "min": -1.5, "max": 1e3, "integer": true},
	"flag": {"type": "boolean", "required": false, "default": false},
	"free": {"type": "any", "default": null},
	"address": {"type": "object", "default": {"z": 1, "a": [2, 3.10]},
		"properties": {"z": {"type": "number"}, "a": {"type": "array", "items": {"type": "number"}, "minItems": 0, "maxItems": 2}},
		"additionalProperties": false},
	"empty": {"type": "object", "properties": {}},
	"colour": {"type": "enum", "default": null, "enum": ["red", 1.50, null, {"b": 1, "a": 2}], "enumLabels": {"red": "Rot"}},
	"note": {"type": "string", "maxLength": 9, "title": "Note", "format": "email", "x-ui": {"z": [1, null], "a": ""}, "widget": "textarea", "order": 1.50,
		"secret": true, "placeholder": "", "uniqueItems": null},
	"list": {"type": "enum", "enum": [], "dynamic": true},
	"later": {"type": "array", "items": {"type": "enum", "dynamic": true, "title": "One"}}
}`

func TestDeclarationsComeBackAsTheyWereSent(t *testing.T) {
	var r domain.Rules
	read := node.ReadDeclarations(&r, "inputSchema", []byte(everything))
	schema := node.ParseSchema(&r, "inputSchema", read)
	if r.Violations() != nil {
		t.Fatalf("violations: %v", r.Violations())
	}
	for name, ds := range map[string]node.Declarations{"read": read, "parsed": schema.Declarations(), "cloned": read.Clone()} {
		got, err := json.Marshal(ds)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.NewReplacer("1e3", "1000").Replace(everything)
		if diff := cmp.Diff(compact(t, want), string(got)); diff != "" {
			t.Errorf("%s declarations differ (-want +got):\n%s", name, diff)
		}
	}
}

func TestUnmarshalReadsASchemaAndASingleField(t *testing.T) {
	var ds node.Declarations
	if err := json.Unmarshal([]byte(`{"a": {"type": "string"}}`), &ds); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(node.Declarations{{Name: "a", Declaration: node.Declaration{Type: node.String}}}, ds); diff != "" {
		t.Error(diff)
	}
	var d node.Declaration
	if err := json.Unmarshal([]byte(`{"type": "number", "min": 2}`), &d); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(node.Declaration{Type: node.Number, Min: new(2.0)}, d); diff != "" {
		t.Error(diff)
	}
}

func TestUnmarshalReportsEveryViolationAsInvalid(t *testing.T) {
	text := []byte(`{"a": {"type": 1}, "b": []}`)
	err := json.Unmarshal(text, new(node.Declarations))
	var got *domain.Error
	if !errors.As(err, &got) || got.Kind != domain.Invalid || got.Code != "schema_invalid" {
		t.Fatalf("err = %v, want schema_invalid", err)
	}
	if diff := cmp.Diff([]string{"a.type", "b"}, fields(got.Violations)); diff != "" {
		t.Error(diff)
	}
	if err := json.Unmarshal([]byte(`{"type": null}`), new(node.Declaration)); !errors.Is(err, domain.Invalid) {
		t.Errorf("a field: err = %v, want Invalid", err)
	}
}

func TestReadDeclarationsReportsWrongTypesWithTheirPath(t *testing.T) {
	for claim, c := range map[string]struct {
		text string
		want []domain.Violation
	}{
		"a schema is an object": {`[{"type": "string"}, [1]]`, []domain.Violation{
			{Field: "in", Code: domain.WrongType, Message: "must be an object that maps each field's name to its schema, not an array"}}},
		"a schema is not null": {`null`, []domain.Violation{
			{Field: "in", Code: domain.WrongType, Message: "must be an object that maps each field's name to its schema, not null"}}},
		"the text is JSON": {`{"a": `, []domain.Violation{
			{Field: "in", Code: domain.BadFormat, Message: "must be JSON"}}},
		"the text is UTF-8": {"{\"a\xff\": {\"type\": \"any\"}}", []domain.Violation{
			{Field: "in", Code: domain.BadText, Message: "must be valid UTF-8"}}},
		"a field is an object": {`{"a": "string", "b": {"type": "any"}, "c": 5}`, []domain.Violation{
			{Field: "in.a", Code: domain.WrongType, Message: `must be a field schema, such as {"type": "string"}, not a string`},
			{Field: "in.c", Code: domain.WrongType, Message: `must be a field schema, such as {"type": "string"}, not a number`}}},
		"every member has its type, and null is none": {
			`{"a": {"type": 1, "description": true, "required": "yes", "minLength": "5", "maxLength": null, "pattern": {},
				"min": [], "max": false, "integer": 1, "properties": 1, "additionalProperties": null, "items": "x",
				"minItems": "1", "maxItems": {}, "enum": {}}}`,
			[]domain.Violation{
				{Field: "in.a.type", Code: domain.WrongType, Message: "must be a string, not a number"},
				{Field: "in.a.description", Code: domain.WrongType, Message: "must be a string, not a boolean"},
				{Field: "in.a.required", Code: domain.WrongType, Message: "must be true or false, not a string"},
				{Field: "in.a.minLength", Code: domain.WrongType, Message: "must be a number, not a string"},
				{Field: "in.a.maxLength", Code: domain.WrongType, Message: "must be a number, not null"},
				{Field: "in.a.pattern", Code: domain.WrongType, Message: "must be a string, not an object"},
				{Field: "in.a.min", Code: domain.WrongType, Message: "must be a number, not an array"},
				{Field: "in.a.max", Code: domain.WrongType, Message: "must be a number, not a boolean"},
				{Field: "in.a.integer", Code: domain.WrongType, Message: "must be true or false, not a number"},
				{Field: "in.a.properties", Code: domain.WrongType, Message: "must be an object that maps each field's name to its schema, not a number"},
				{Field: "in.a.additionalProperties", Code: domain.WrongType, Message: "must be true or false, not null"},
				{Field: "in.a.items", Code: domain.WrongType, Message: `must be a field schema, such as {"type": "string"}, not a string`},
				{Field: "in.a.minItems", Code: domain.WrongType, Message: "must be a number, not a string"},
				{Field: "in.a.maxItems", Code: domain.WrongType, Message: "must be a number, not an object"},
				{Field: "in.a.enum", Code: domain.WrongType, Message: "must be an array of the allowed values, not an object"}}},
		"a number fits a double": {`{"a": {"type": "number", "min": 1e400}}`, []domain.Violation{
			{Field: "in.a.min", Code: domain.TooLarge, Message: "must be a number that a double can hold"}}},
		"a member is written once": {`{"a": {"type": "any", "type": "string"}}`, []domain.Violation{
			{Field: "in.a.type", Code: domain.Duplicate, Message: "must be written once"}}},
		"names are case-sensitive and unknown members are ignored": {`{"a": {"type": "any", "Type": 5, "title": {"x": [1]}}}`, nil},
	} {
		t.Run(claim, func(t *testing.T) {
			var r domain.Rules
			node.ReadDeclarations(&r, "in", []byte(c.text))
			if diff := cmp.Diff(c.want, r.Violations()); diff != "" {
				t.Errorf("violations differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadDeclarationsGoesOnBehindAnError(t *testing.T) {
	var r domain.Rules
	got := node.ReadDeclarations(&r, "in", []byte(`{"a": [1, {"b": []}], "c": {"type": "enum", "enum": 5, "items": [[]], "required": true}}`))
	want := node.Declarations{{Name: "c", Declaration: node.Declaration{Type: node.Enum, Required: new(true)}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"in.a", "in.c.enum", "in.c.items"}, fields(r.Violations())); diff != "" {
		t.Error(diff)
	}
}

func TestReadDeclarationsStopsAtTheGreatestDepth(t *testing.T) {
	for claim, nest := range map[string]func(int) string{
		"items": func(n int) string {
			return `{"a": ` + strings.Repeat(`{"type": "array", "items": `, n-1) + `{"type": "any"}` + strings.Repeat("}", n)
		},
		"properties": func(n int) string {
			return strings.Repeat(`{"a": {"type": "object", "properties": `, n-1) + `{"a": {"type": "any"}}` + strings.Repeat("}}", n-1)
		},
	} {
		t.Run(claim, func(t *testing.T) {
			for levels, ok := range map[int]bool{node.MaxDepth: true, node.MaxDepth + 1: false, 4000: false} {
				var r domain.Rules
				ds := node.ReadDeclarations(&r, "in", []byte(nest(levels)))
				if got := depth(ds); got > node.MaxDepth {
					t.Errorf("%d levels were read", got)
				}
				node.ParseSchema(&r, "in", ds)
				if got := r.Violations() == nil; got != ok {
					t.Errorf("%d levels accepted = %v, want %v: %v", levels, got, ok, r.Violations())
				}
			}
		})
	}
}

func TestReadDeclarationsStopsAtTheGreatestNumberOfFields(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"f": {"type": "any"}`)
	for i := range node.MaxFields {
		fmt.Fprintf(&b, `, "f%d": {"type": "any"}`, i)
	}
	b.WriteString("}")
	var r domain.Rules
	got := node.ReadDeclarations(&r, "in", []byte(b.String()))
	if diff := cmp.Diff([]string{"in must declare at most 2000 fields (too_long)"}, render(r.Violations())); diff != "" {
		t.Error(diff)
	}
	if len(got) != node.MaxFields {
		t.Errorf("read %d fields, want %d", len(got), node.MaxFields)
	}
}

func TestDeclarationsAreEqualWhateverTheOrderOfFields(t *testing.T) {
	a := declarations(t, `{"a": {"type": "number", "default": 1.0}, "b": {"type": "object", "properties": {"x": {"type": "any"}, "y": {"type": "any"}}}}`)
	for claim, c := range map[string]struct {
		text string
		want bool
	}{
		"the same in another order": {`{"b": {"properties": {"y": {"type": "any"}, "x": {"type": "any"}}, "type": "object"}, "a": {"default": 1, "type": "number"}}`, true},
		"another default":           {`{"a": {"type": "number", "default": 2}, "b": {"type": "object", "properties": {"x": {"type": "any"}, "y": {"type": "any"}}}}`, false},
		"a member written out":      {`{"a": {"type": "number", "default": 1, "required": false}, "b": {"type": "object", "properties": {"x": {"type": "any"}, "y": {"type": "any"}}}}`, false},
		"a field less":              {`{"a": {"type": "number", "default": 1}}`, false},
	} {
		if got := a.Equal(declarations(t, c.text)); got != c.want {
			t.Errorf("%s: equal = %v", claim, got)
		}
	}
}

func TestACloneSharesNothing(t *testing.T) {
	original := declarations(t, everything)
	clone := original.Clone()
	*clone[0].Declaration.MinLength = 99
	clone[0].Declaration.Default[1] = '9'
	clone[4].Declaration.Properties[1].Declaration.Items.Type = node.Any
	clone[6].Declaration.Enum[0][1] = 'R'
	if diff := cmp.Diff(declarations(t, everything), original); diff != "" {
		t.Errorf("the original changed:\n%s", diff)
	}
}

// depth counts the levels of fields within fields.
func depth(ds node.Declarations) int {
	deepest := 0
	for _, f := range ds {
		within := f.Declaration.Properties
		if f.Declaration.Items != nil {
			within = append(within, node.DeclaredField{Declaration: *f.Declaration.Items})
		}
		deepest = max(deepest, 1+depth(within))
	}
	return deepest
}

func declarations(t *testing.T, text string) node.Declarations {
	t.Helper()
	var r domain.Rules
	ds := node.ReadDeclarations(&r, "", []byte(text))
	if r.Violations() != nil {
		t.Fatalf("%s: %v", text, r.Violations())
	}
	return ds
}

func compact(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func fields(vs []domain.Violation) []string {
	var out []string
	for _, v := range vs {
		out = append(out, v.Field)
	}
	return out
}
