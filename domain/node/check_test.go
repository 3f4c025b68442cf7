package node_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
)

func object(pairs ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	return m
}

var checkCases = map[string]struct {
	schema string
	value  any
	want   []string
}{
	"a string is a string":               {`{"type": "string"}`, "", nil},
	"a number is no string":              {`{"type": "string"}`, 1.0, []string{"v must be a string, not a number (wrong_type)"}},
	"null is no string":                  {`{"type": "string"}`, nil, []string{"v must be a string, not null (wrong_type)"}},
	"length counts code points":          {`{"type": "string", "minLength": 2, "maxLength": 2}`, "é😀", nil},
	"a string may be too short":          {`{"type": "string", "minLength": 3}`, "é😀", []string{"v must be at least 3 characters long, not 2 (too_short)"}},
	"an empty string may be too short":   {`{"type": "string", "minLength": 3}`, "", []string{"v must not be empty (required)"}},
	"a string may be too long":           {`{"type": "string", "maxLength": 0}`, "ab", []string{"v must be at most 0 characters long, not 2 (too_long)"}},
	"a pattern may match anywhere":       {`{"type": "string", "pattern": "b+"}`, "abbc", nil},
	"an anchored pattern may not":        {`{"type": "string", "pattern": "^b+$"}`, "abbc", []string{"v must match the pattern ^b+$ (bad_format)"}},
	"a number is a number":               {`{"type": "number", "min": 1, "max": 2}`, 2.0, nil},
	"a json.Number is a number":          {`{"type": "number", "min": 1, "max": 2}`, json.Number("1.0"), nil},
	"a string is no number":              {`{"type": "number"}`, "1", []string{"v must be a number, not a string (wrong_type)"}},
	"a number may be too small":          {`{"type": "number", "min": 1000000}`, 0.5, []string{"v must be at least 1000000, not 0.5 (too_small)"}},
	"a number may be too large":          {`{"type": "number", "max": 1}`, json.Number("2e0"), []string{"v must be at most 1, not 2 (too_large)"}},
	"a number may have to be whole":      {`{"type": "number", "integer": true}`, 1.5, []string{"v must be a whole number, not 1.5 (not_whole)"}},
	"1e2 and 1.0 are whole":              {`{"type": "array", "items": {"type": "number", "integer": true}}`, []any{json.Number("1e2"), json.Number("1.0")}, nil},
	"a fraction is fine otherwise":       {`{"type": "number", "integer": false}`, 1.5, nil},
	"a number fits a double":             {`{"type": "number"}`, json.Number("1e400"), []string{"v must be a number that a double can hold (too_large)"}},
	"infinity is no JSON number":         {`{"type": "number"}`, math.Inf(1), []string{"v must be a number that a double can hold (too_large)"}},
	"a boolean is a boolean":             {`{"type": "boolean"}`, false, nil},
	"a string is no boolean":             {`{"type": "boolean"}`, "true", []string{"v must be true or false, not a string (wrong_type)"}},
	"any takes null":                     {`{"type": "any", "required": true}`, nil, nil},
	"any takes a tree":                   {`{"type": "any"}`, []any{object("a", nil), 1.0, json.Number("2"), true, "s"}, nil},
	"any takes JSON only":                {`{"type": "any"}`, []any{object("a", 5)}, []string{"v must be a JSON value whose numbers a double can hold (wrong_type)"}},
	"a foreign value has no type":        {`{"type": "string"}`, 5, []string{"v must be a string, not a int, which is no JSON value (wrong_type)"}},
	"an enum compares numbers by value":  {`{"type": "enum", "enum": [1, "2"]}`, json.Number("1.00"), nil},
	"an enum compares trees deeply":      {`{"type": "enum", "enum": [{"a": [1, {"b": null}], "c": 0}]}`, object("c", math.Copysign(0, -1), "a", []any{1.0, object("b", nil)}), nil},
	"an enum tells 2 from \"2\"":         {`{"type": "enum", "enum": [1, "2", true]}`, 2.0, []string{`v must be 1, "2" or true, not 2 (not_allowed)`}},
	"an enum may list null":              {`{"type": "enum", "enum": [null]}`, nil, nil},
	"an enum need not list null":         {`{"type": "enum", "enum": ["a"]}`, nil, []string{`v must be "a", not null (not_allowed)`}},
	"a dynamic enum takes any value":     {`{"type": "enum", "enum": ["a"], "dynamic": true}`, object("b", nil), nil},
	"a dynamic enum takes JSON only":     {`{"type": "enum", "dynamic": true}`, struct{}{}, []string{`v must be any value, not a struct {}, which is no JSON value (not_allowed)`}},
	"an enum takes JSON only":            {`{"type": "enum", "enum": ["a"]}`, struct{}{}, []string{`v must be "a", not a struct {}, which is no JSON value (not_allowed)`}},
	"a long value is not repeated":       {`{"type": "enum", "enum": ["a"]}`, strings.Repeat("é", 500), []string{`v must be "a", not a string of 500 characters (not_allowed)`}},
	"an array is an array":               {`{"type": "array"}`, []any{1.0, nil, "x"}, nil},
	"an object is no array":              {`{"type": "array"}`, object(), []string{"v must be an array, not an object (wrong_type)"}},
	"an array may have too few items":    {`{"type": "array", "minItems": 2}`, []any{1.0}, []string{"v must have at least 2 items, not 1 (too_short)"}},
	"an array may have too many items":   {`{"type": "array", "maxItems": 1}`, []any{1.0, 1.0}, []string{"v must have at most 1 item, not 2 (too_long)"}},
	"every item is checked":              {`{"type": "array", "items": {"type": "array", "items": {"type": "string"}}}`, []any{[]any{"a", 1.0}, 2.0}, []string{"v[0][1] must be a string, not a number (wrong_type)", "v[1] must be an array, not a number (wrong_type)"}},
	"an object is an object":             {`{"type": "object"}`, object("a", 1.0), nil},
	"an array is no object":              {`{"type": "object"}`, []any{}, []string{"v must be an object, not an array (wrong_type)"}},
	"a required property must be there":  {`{"type": "object", "properties": {"a": {"type": "enum", "enum": ["x", "y"], "required": true}, "b": {"type": "any", "required": true}}}`, object(), []string{`v.a must be given: "x" or "y" (required)`, "v.b must be given: any value (required)"}},
	"unless it has a default":            {`{"type": "object", "properties": {"a": {"type": "string", "required": true, "default": "x"}}}`, object(), nil},
	"an optional property may be absent": {`{"type": "object", "properties": {"a": {"type": "string"}}}`, object(), nil},
	"but it may not be null":             {`{"type": "object", "properties": {"a": {"type": "string"}}}`, object("a", nil), []string{"v.a must be a string, not null (wrong_type)"}},
	"undeclared properties are allowed":  {`{"type": "object", "properties": {"a": {"type": "string"}}}`, object("b", 5.0), nil},
	"unless they are not": {`{"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false}`, object("c", 1.0, "b", nil, "a", "x"),
		[]string{`v.b must be left out: the object may have only "a" (not_allowed)`, `v.c must be left out: the object may have only "a" (not_allowed)`}},
	"a name that does not print is shown as JSON escapes it": {`{"type": "object", "additionalProperties": false}`,
		object("a\x00b", 1.0, "é 😀", 1.0, "\n\u00a0\U000e0001", 1.0, "x\xff", 1.0), []string{
			`v.\u000a\u00a0\udb40\udc01 must be left out: the object has no properties (not_allowed)`,
			`v.a\u0000b must be left out: the object has no properties (not_allowed)`,
			"v.x\ufffd must be left out: the object has no properties (not_allowed)",
			`v.é 😀 must be left out: the object has no properties (not_allowed)`,
		}},
	"a closed object may have no properties": {`{"type": "object", "additionalProperties": false}`, object("b", 5.0), []string{"v.b must be left out: the object has no properties (not_allowed)"}},
}

func TestFieldSchemaCheck(t *testing.T) {
	for claim, c := range checkCases {
		t.Run(claim, func(t *testing.T) {
			var r domain.Rules
			field(t, c.schema).Check(&r, "v", c.value)
			if diff := cmp.Diff(c.want, render(r.Violations())); diff != "" {
				t.Errorf("violations differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSchemaCheckReportsEveryFieldInOrder(t *testing.T) {
	s := schema(t, `{"z": {"type": "string", "required": true}, "a": {"type": "number"}, "m": {"type": "boolean", "required": true}, "ok": {"type": "any"}}`)
	var r domain.Rules
	s.Check(&r, "config", map[string]any{"a": "1", "m": true, "undeclared": []any{}})
	want := []string{"config.z must be given: a string (required)", "config.a must be a number, not a string (wrong_type)"}
	if diff := cmp.Diff(want, render(r.Violations())); diff != "" {
		t.Errorf("violations differ (-want +got):\n%s", diff)
	}

	r = domain.Rules{}
	s.Check(&r, "", nil)
	want = []string{"z must be given: a string (required)", "m must be given: true or false (required)"}
	if diff := cmp.Diff(want, render(r.Violations())); diff != "" {
		t.Errorf("for nil the violations differ (-want +got):\n%s", diff)
	}
}

func TestCheckReportsABoundedNumberOfFindings(t *testing.T) {
	items := make([]any, 1_000_000)
	undeclared := map[string]any{}
	for i := range 10_000 {
		undeclared[strings.Repeat("n", i%700)+string(rune('A'+i%26))+string(rune(0x4e00+i))] = nil
	}
	for claim, c := range map[string]struct {
		schema string
		value  any
	}{
		"of the items of an array":             {`{"type": "array", "items": {"type": "string"}}`, items},
		"of the properties of a closed object": {`{"type": "object", "additionalProperties": false}`, undeclared},
	} {
		var r domain.Rules
		field(t, c.schema).Check(&r, "v", c.value)
		if got := len(r.Violations()); got != node.MaxFindings {
			t.Errorf("%s: %d findings, want %d", claim, got, node.MaxFindings)
		}
	}
}

func TestCheckBoundsTheWorkOfPatterns(t *testing.T) {
	f := field(t, `{"type": "array", "items": {"type": "string", "pattern": "^(?:(?:a|ab?)*c?){400}$"}}`)
	text := strings.Repeat("a", 100_000)
	var r domain.Rules
	f.Check(&r, "v", []any{"a", text})
	want := []string{"v[1] must be shorter: it is too much text for the pattern ^(?:(?:a|ab?)*c?){400}$ (too_long)"}
	if diff := cmp.Diff(want, render(r.Violations())); diff != "" {
		t.Errorf("violations differ (-want +got):\n%s", diff)
	}
}

func TestAMessageOffersAtMostTwentyValues(t *testing.T) {
	f := field(t, `{"type": "enum", "enum": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22]}`)
	var r domain.Rules
	f.Check(&r, "v", 0.0)
	want := []string{"v must be 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20 or one of 2 others, not 0 (not_allowed)"}
	if diff := cmp.Diff(want, render(r.Violations())); diff != "" {
		t.Errorf("violations differ (-want +got):\n%s", diff)
	}
}

func TestAVeryLongNameIsShortenedInThePath(t *testing.T) {
	var r domain.Rules
	field(t, `{"type": "object", "additionalProperties": false}`).Check(&r, "v", map[string]any{strings.Repeat("é", 5000): 1.0})
	want := []string{"v." + strings.Repeat("é", 510) + "…"}
	if diff := cmp.Diff(want, fields(r.Violations())); diff != "" {
		t.Error(diff)
	}
}
