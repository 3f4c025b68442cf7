package node_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
)

var brokenDeclarations = map[string]struct {
	text string
	want []string
}{
	"a type is needed": {`{"a": {}}`,
		[]string{`in.a.type must be "string", "number", "boolean", "any", "object", "array" or "enum" (required)`}},
	"the type is a known one": {`{"a": {"type": "integer", "minLength": 1}}`,
		[]string{`in.a.type must be "string", "number", "boolean", "any", "object", "array" or "enum", not "integer" (not_allowed)`}},
	"a member belongs to its type": {`{"a": {"type": "number", "minLength": 1, "enum": [1]}, "b": {"type": "any", "min": 1}, "c": {"type": "enum", "enum": [1], "properties": {}}}`,
		[]string{
			`in.a.minLength must be left out: a field of type "number" has only the members type, description, required, default, min, max, integer (not_allowed)`,
			`in.a.enum must be left out: a field of type "number" has only the members type, description, required, default, min, max, integer (not_allowed)`,
			`in.b.min must be left out: a field of type "any" has only the members type, description, required, default (not_allowed)`,
			`in.c.properties must be left out: a field of type "enum" has only the members type, description, required, default, enum (not_allowed)`,
		}},
	"lengths are whole and not negative": {`{"a": {"type": "string", "minLength": -1, "maxLength": 2.5}}`,
		[]string{`in.a.minLength must be at least 0, not -1 (too_small)`, `in.a.maxLength must be a whole number, not 2.5 (not_whole)`}},
	"counts are whole and not negative": {`{"a": {"type": "array", "minItems": 0.5, "maxItems": -2}}`,
		[]string{`in.a.minItems must be a whole number, not 0.5 (not_whole)`, `in.a.maxItems must be at least 0, not -2 (too_small)`}},
	"bounds are in order": {`{"a": {"type": "string", "minLength": 5, "maxLength": 4}, "b": {"type": "number", "min": 1000000, "max": -0.5}, "c": {"type": "array", "minItems": 2, "maxItems": 1}}`,
		[]string{
			`in.a.maxLength must be at least minLength, which is 5, not 4 (conflicting)`,
			`in.b.max must be at least min, which is 1000000, not -0.5 (conflicting)`,
			`in.c.maxItems must be at least minItems, which is 2, not 1 (conflicting)`,
		}},
	"equal bounds are in order": {`{"a": {"type": "string", "minLength": 0, "maxLength": 0}, "b": {"type": "number", "min": -1, "max": -1}}`, nil},
	"a pattern is RE2": {`{"a": {"type": "string", "pattern": "(?=x)"}}`,
		[]string{"in.a.pattern must be an RE2 regular expression (without look-around and back-references): error parsing regexp: invalid or unsupported Perl syntax: `(?=` (bad_format)"}},
	"a pattern is of bearable size": {`{"a": {"type": "string", "pattern": "(abcdefgh){900}"}, "b": {"type": "string", "pattern": "` + strings.Repeat("a", 1001) + `"}}`,
		[]string{
			`in.a.pattern must not repeat so much: use minLength and maxLength to bound the length (too_long)`,
			`in.b.pattern must be at most 1000 characters long, not 1001 (too_long)`,
		}},
	"an enum lists values": {`{"a": {"type": "enum"}, "b": {"type": "enum", "enum": []}}`,
		[]string{`in.a.enum must list at least one allowed value, unless dynamic is true (required)`, `in.b.enum must list at least one allowed value, unless dynamic is true (required)`}},
	"an enum lists each value once": {`{"a": {"type": "enum", "enum": [1, "1", 1.0, {"a": 1, "b": [0]}, {"b": [-0.0], "a": 1}, null]}}`,
		[]string{`in.a.enum[2] must differ from the values before it (duplicate)`, `in.a.enum[4] must differ from the values before it (duplicate)`}},
	"values hold no NUL": {`{"a": {"type": "enum", "enum": ["\u0000"]}, "b": {"type": "any", "default": [{"\u0000": 1}]}}`,
		[]string{`in.a.enum[0] must not contain the character U+0000 (bad_character)`, `in.b.default must not contain the character U+0000 (bad_character)`}},
	"a default satisfies its own schema": {
		`{"a": {"type": "string", "minLength": 3, "default": "ab"}, "b": {"type": "number", "default": null}, "c": {"type": "array", "items": {"type": "object", "properties": {"d": {"type": "boolean", "required": true}}}, "default": [{"d": true}, {}]}}`,
		[]string{
			`in.a.default must be at least 3 characters long, not 2 (too_short)`,
			`in.b.default must be a number, not null (wrong_type)`,
			`in.c.default[1].d must be given: true or false (required)`,
		}},
	"a default is not measured against a broken schema": {`{"a": {"type": "enum", "enum": [], "default": 1}}`,
		[]string{`in.a.enum must list at least one allowed value, unless dynamic is true (required)`}},
	"a default's numbers fit a double": {`{"a": {"type": "any", "default": [1e400]}}`,
		[]string{`in.a.default must be one JSON value whose numbers a double can hold (bad_format)`}},
	"a description is of bearable length": {`{"a": {"type": "any", "description": "` + strings.Repeat("é", 1001) + `"}}`,
		[]string{`in.a.description must be at most 1000 characters long, not 1001 (too_long)`}},
	"names have 1 to 255 characters and no NUL": {`{"": {"type": "any"}, "a\u0000": {"type": "any"}, "` + strings.Repeat("é", 255) + `": {"type": "any"}, "` + strings.Repeat("n", 256) + `": {"type": "any"}}`,
		[]string{
			`in[""] must not be empty (required)`,
			`in.a\u0000 must not contain the character U+0000 (bad_character)`,
			`in.` + strings.Repeat("n", 256) + ` must be at most 255 characters long, not 256 (too_long)`,
		}},
	"members that forms are drawn with have their types": {`{"a": {"type": "enum", "enum": [1], "title": 5, "placeholder": [], "widget": "slider", "order": "1", "enumLabels": ["One", 2], "secret": "yes", "format": 5},
		"b": {"type": "any", "enumLabels": {"x": 1}, "widget": {}}, "c": {"type": "any", "enumLabels": "x", "title": 5}}`,
		[]string{
			`in.a.title must be a string, not a number (wrong_type)`,
			`in.a.placeholder must be a string, not an array (wrong_type)`,
			`in.a.widget must be "text", "textarea", "code", "password", "select", "keyValue" or "expression", not "slider" (not_allowed)`,
			`in.a.order must be a number, not a string (wrong_type)`,
			`in.a.enumLabels[1] must be a string, not a number (wrong_type)`,
			`in.a.secret must be true or false, not a string (wrong_type)`,
			`in.b.enumLabels.x must be a string, not a number (wrong_type)`,
			`in.b.widget must be "text", "textarea", "code", "password", "select", "keyValue" or "expression", not an object (not_allowed)`,
			`in.c.enumLabels must be an array of texts, or an object with a text for each value, not a string (wrong_type)`,
			`in.c.title must be a string, not a number (wrong_type)`,
		}},
	"members that are not known hold what a store can keep": {`{"a": {"type": "any", "x": "\u0000", "y\u0000": 1, "z": 1e400, "v": 1, "v": 1}}`,
		[]string{
			`in.a.v must be written once (duplicate)`,
			`in.a.x must not contain the character U+0000 (bad_character)`,
			`in.a.y\u0000 must have a name without the character U+0000 (bad_character)`,
			`in.a.z must be one JSON value whose numbers a double can hold (bad_format)`,
		}},
	"only true makes an enum dynamic": {`{"a": {"type": "enum", "dynamic": "true"}, "b": {"type": "enum", "dynamic": true}}`,
		[]string{`in.a.enum must list at least one allowed value, unless dynamic is true (required)`}},
	"a field is declared once": {`{"a": {"type": "any"}, "a": {"type": "string"}}`,
		[]string{`in.a must be declared once (duplicate)`}},
	"violations within properties and items bear their path": {`{"a": {"type": "object", "properties": {"b": {"type": "array", "items": {"type": "number", "min": 2, "max": 1}}}}}`,
		[]string{`in.a.properties.b.items.max must be at least min, which is 2, not 1 (conflicting)`}},
}

func TestParseSchemaReportsBrokenDeclarations(t *testing.T) {
	for claim, c := range brokenDeclarations {
		t.Run(claim, func(t *testing.T) {
			var r domain.Rules
			node.ParseSchema(&r, "in", node.ReadDeclarations(&r, "in", []byte(c.text)))
			if diff := cmp.Diff(c.want, render(r.Violations())); diff != "" {
				t.Errorf("violations differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseFieldRefusesWhatOnlyAProgramCanDeclare(t *testing.T) {
	deep := node.Declaration{Type: node.Any}
	for range node.MaxDepth {
		items := deep
		deep = node.Declaration{Type: node.Array, Items: &items}
	}
	for claim, c := range map[string]struct {
		declared node.Declaration
		want     string
	}{
		"a bound that is not a number":  {node.Declaration{Type: node.Number, Min: new(math.NaN())}, "f.min must be a finite number (wrong_type)"},
		"a bound without end":           {node.Declaration{Type: node.Number, Max: new(math.Inf(1))}, "f.max must be a finite number (wrong_type)"},
		"a length without end":          {node.Declaration{Type: node.String, MaxLength: new(math.Inf(1))}, "f.maxLength must be a finite number (wrong_type)"},
		"a default that is no JSON":     {node.Declaration{Type: node.Any, Default: node.Literal("{")}, "f.default must be one JSON value whose numbers a double can hold (bad_format)"},
		"a listed value that is absent": {node.Declaration{Type: node.Enum, Enum: []node.Literal{nil}}, "f.enum[0] must be one JSON value whose numbers a double can hold (bad_format)"},
		"fields nested too deep":        {deep, "f" + strings.Repeat(".items", node.MaxDepth) + " must be nested at most 64 levels deep (too_long)"},
	} {
		t.Run(claim, func(t *testing.T) {
			var r domain.Rules
			node.ParseField(&r, "f", c.declared)
			if diff := cmp.Diff([]string{c.want}, render(r.Violations())); diff != "" {
				t.Errorf("violations differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseSchemaBoundsTheNumberOfFieldsFindingsAndPatterns(t *testing.T) {
	for claim, c := range map[string]struct {
		declared node.Declarations
		want     int
		first    string
	}{
		"as many fields as allowed": {many(node.MaxFields, node.Declaration{Type: node.Any}), 0, ""},
		"a field too many":          {many(node.MaxFields+1, node.Declaration{Type: node.Any}), 1, "in must declare at most 2000 fields (too_long)"},
		"items count as fields": {many(node.MaxFields/2+1, node.Declaration{Type: node.Array, Items: &node.Declaration{Type: node.Any}}), 1,
			"in must declare at most 2000 fields (too_long)"},
		"more mistakes than are reported": {many(1000, node.Declaration{}), node.MaxFindings, `in.f0.type must be "string", "number", "boolean", "any", "object", "array" or "enum" (required)`},
		"patterns too large together":     {many(100, node.Declaration{Type: node.String, Pattern: new("(?:ab?){300}")}), 1, "in must have fewer or simpler patterns (too_long)"},
	} {
		t.Run(claim, func(t *testing.T) {
			var r domain.Rules
			node.ParseSchema(&r, "in", c.declared)
			got := render(r.Violations())
			if len(got) != c.want || len(got) > 0 && got[0] != c.first {
				t.Errorf("%d violations, first %q; want %d, first %q", len(got), append(got, "")[0], c.want, c.first)
			}
		})
	}
}

func TestARefusedPatternIsNotCompiled(t *testing.T) {
	for claim, ds := range map[string]node.Declarations{
		"too large by itself":     {{Name: "last", Declaration: node.Declaration{Type: node.String, Pattern: new("(abcdefgh){900}")}}},
		"too large with the rest": append(many(50, node.Declaration{Type: node.String, Pattern: new("(?:ab?){500}")}), node.DeclaredField{Name: "last", Declaration: node.Declaration{Type: node.String, Pattern: new("x")}}),
	} {
		var r, checked domain.Rules
		last, _ := node.ParseSchema(&r, "in", ds).Field("last")
		last.Check(&checked, "", "y")
		if r.Violations() == nil || checked.Violations() != nil {
			t.Errorf("%s: refused with %v, then applied: %v", claim, r.Violations(), checked.Violations())
		}
	}
}

func TestASchemaTellsWhatWasDeclared(t *testing.T) {
	s := schema(t, `{"b": {"type": "string", "description": "Bee", "required": true}, "a": {"type": "array", "items": {"type": "enum", "enum": [1, [2]]}, "default": [[2]]}}`)
	var names []string
	for name := range s.All() {
		names = append(names, name)
	}
	if diff := cmp.Diff([]string{"b", "a"}, names); diff != "" {
		t.Error(diff)
	}
	b, _ := s.Field("b")
	if b.Type() != node.String || b.Description() != "Bee" || !b.Required() {
		t.Errorf("b is %v %q %v", b.Type(), b.Description(), b.Required())
	}
	a, _ := s.Field("a")
	if diff := cmp.Diff([]any{1.0, []any{2.0}}, a.Items().Values()); diff != "" {
		t.Error(diff)
	}
	if _, ok := s.Field("c"); ok || s.Len() != 2 {
		t.Errorf("an undeclared field is found, or Len = %d", s.Len())
	}
	value, ok := a.Default()
	value.([]any)[0] = "changed"
	again, _ := a.Default()
	if diff := cmp.Diff([]any{[]any{2.0}}, again); diff != "" || !ok {
		t.Errorf("the default can be changed from outside:\n%s", diff)
	}
}

func TestTheZeroFieldSchemaIsAnOptionalAny(t *testing.T) {
	var f node.FieldSchema
	var r domain.Rules
	f.Check(&r, "f", nil)
	if _, hasDefault := f.Default(); f.Type() != node.Any || f.Required() || hasDefault || r.Violations() != nil {
		t.Errorf("zero field is %v, required %v, violations %v", f.Type(), f.Required(), r.Violations())
	}
	if diff := cmp.Diff(node.Declaration{Type: node.Any}, f.Declaration()); diff != "" {
		t.Error(diff)
	}
}

// many declares n fields alike.
func many(n int, d node.Declaration) node.Declarations {
	ds := make(node.Declarations, n)
	for i := range ds {
		ds[i] = node.DeclaredField{Name: fmt.Sprint("f", i), Declaration: d}
	}
	return ds
}

func schema(t *testing.T, text string) node.Schema {
	t.Helper()
	var r domain.Rules
	s := node.ParseSchema(&r, "", declarations(t, text))
	if r.Violations() != nil {
		t.Fatalf("%s: %v", text, r.Violations())
	}
	return s
}

func field(t *testing.T, text string) node.FieldSchema {
	t.Helper()
	f, _ := schema(t, `{"f": `+text+`}`).Field("f")
	return f
}

func render(vs []domain.Violation) []string {
	var out []string
	for _, v := range vs {
		out = append(out, fmt.Sprintf("%s (%s)", v, v.Code))
	}
	return out
}
