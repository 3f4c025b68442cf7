package node_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
)

func TestFits(t *testing.T) {
	for claim, c := range map[string]struct {
		source, target string
		want           string // the reason; empty when it fits
	}{
		"any fits everything":                {`{"type": "any"}`, `{"type": "object", "properties": {"a": {"type": "string", "required": true}}}`, ""},
		"everything fits any":                {`{"type": "array"}`, `{"type": "any"}`, ""},
		"the same type fits":                 {`{"type": "boolean"}`, `{"type": "boolean"}`, ""},
		"a string is no number":              {`{"type": "string"}`, `{"type": "number"}`, "gives a string where a number is wanted"},
		"an object is no array":              {`{"type": "object"}`, `{"type": "array"}`, "gives an object where an array is wanted"},
		"overlapping lengths fit":            {`{"type": "string", "maxLength": 5}`, `{"type": "string", "minLength": 5}`, ""},
		"disjoint lengths do not":            {`{"type": "string", "maxLength": 4}`, `{"type": "string", "minLength": 5, "maxLength": 9}`, "gives a string of at most 4 characters where a string of 5 to 9 characters is wanted"},
		"patterns are not compared":          {`{"type": "string", "pattern": "^a$"}`, `{"type": "string", "pattern": "^b$"}`, ""},
		"overlapping ranges fit":             {`{"type": "number", "min": 1}`, `{"type": "number", "max": 1}`, ""},
		"disjoint ranges do not":             {`{"type": "number", "min": 2}`, `{"type": "number", "max": 1.5}`, "gives a number of at least 2 where a number of at most 1.5 is wanted"},
		"no whole number between":            {`{"type": "number", "min": 1.2, "max": 1.8}`, `{"type": "number", "integer": true}`, "gives a number of 1.2 to 1.8 where a whole number is wanted"},
		"an enum with one fitting value":     {`{"type": "enum", "enum": ["a", 5]}`, `{"type": "number", "min": 5}`, ""},
		"an enum without one":                {`{"type": "enum", "enum": ["a", 4]}`, `{"type": "number", "min": 5}`, `gives only "a" or 4 where a number of at least 5 is wanted`},
		"an enum's value is matched":         {`{"type": "enum", "enum": ["a", "b"]}`, `{"type": "string", "pattern": "^c"}`, `gives only "a" or "b" where a string is wanted`},
		"a string into an enum with strings": {`{"type": "string"}`, `{"type": "enum", "enum": [1, "a"]}`, ""},
		"a string into an enum of numbers":   {`{"type": "string"}`, `{"type": "enum", "enum": [1, 2]}`, "gives a string where only 1 or 2 is allowed"},
		"enums with a common value":          {`{"type": "enum", "enum": ["a", 1]}`, `{"type": "enum", "enum": [1.0, "b"]}`, ""},
		"a dynamic enum with any":            {`{"type": "enum", "enum": ["a"], "dynamic": true}`, `{"type": "number"}`, ""},
		"any with a dynamic enum":            {`{"type": "number"}`, `{"type": "enum", "dynamic": true}`, ""},
		"enums without one":                  {`{"type": "enum", "enum": ["a"]}`, `{"type": "enum", "enum": ["b"]}`, `gives only "a" where "b" is wanted`},
		"arrays with fitting items":          {`{"type": "array", "items": {"type": "number"}}`, `{"type": "array", "items": {"type": "any"}}`, ""},
		"arrays with misfitting items":       {`{"type": "array", "items": {"type": "number"}}`, `{"type": "array", "items": {"type": "string"}}`, "has items that cannot be used: each gives a number where a string is wanted"},
		"arrays of disjoint counts":          {`{"type": "array", "maxItems": 1}`, `{"type": "array", "minItems": 2}`, "gives an array of at most 1 item where an array of at least 2 items is wanted"},
		"a required property may come undeclared": {
			`{"type": "object"}`, `{"type": "object", "properties": {"a": {"type": "string", "required": true}}}`, ""},
		"but not from a closed object": {
			`{"type": "object", "additionalProperties": false}`, `{"type": "object", "properties": {"a": {"type": "string", "required": true}}}`,
			`never has the property "a", which is required`},
		"a default stands in for it": {
			`{"type": "object", "additionalProperties": false}`, `{"type": "object", "properties": {"a": {"type": "string", "required": true, "default": ""}}}`, ""},
		"a required property must fit, even when the source's is optional": {
			`{"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"type": "number"}}}}}`,
			`{"type": "object", "properties": {"a": {"type": "object", "required": true, "properties": {"b": {"type": "string", "required": true}}}}}`,
			`has a property "a" that cannot be used: it has a property "b" that cannot be used: it gives a number where a string is wanted`},
		"an optional property must fit when it is always there": {
			`{"type": "object", "properties": {"a": {"type": "number", "required": true}}}`, `{"type": "object", "properties": {"a": {"type": "string"}}}`,
			`has a property "a" that cannot be used: it gives a number where a string is wanted`},
		"not when it may be absent": {
			`{"type": "object", "properties": {"a": {"type": "number"}}}`, `{"type": "object", "properties": {"a": {"type": "string"}}}`, ""},
		"a closed target refuses what is always there": {
			`{"type": "object", "properties": {"a": {"type": "number", "required": true}}}`, `{"type": "object", "additionalProperties": false}`,
			`always has the property "a", which is not allowed`},
		"and takes what may be absent": {
			`{"type": "object", "properties": {"a": {"type": "number"}}}`, `{"type": "object", "additionalProperties": false}`, ""},
	} {
		t.Run(claim, func(t *testing.T) {
			ok, reason := node.Fits(field(t, c.source), field(t, c.target))
			if reason != c.want || ok != (c.want == "") {
				t.Errorf("Fits = %v, %q; want %q", ok, reason, c.want)
			}
		})
	}
}

func TestTheWholeOfASchemaIsAnObjectOrAnything(t *testing.T) {
	open := schema(t, `{"a": {"type": "string", "required": true}}`).Whole()
	if ok, reason := node.Fits(field(t, `{"type": "array"}`), open); ok || reason != "gives an array where an object is wanted" {
		t.Errorf("array into object: %v, %q", ok, reason)
	}
	if got := open.Declaration(); got.Type != node.Object || len(got.Properties) != 1 {
		t.Errorf("declared as %+v", got)
	}
	if got := (node.Schema{}).Whole().Type(); got != node.Any {
		t.Errorf("the empty schema is %s, want any", got)
	}
}

// A value that satisfies both schemas refutes every claim that they cannot fit.
func TestFitsIsNeverRefutedByAValue(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		source, target := drawField(rt, "source"), drawField(rt, "target")
		value := drawValue(rt, 2)
		if !satisfies(source, value) || !satisfies(target, value) || holdsEmptyArray(value) {
			return
		}
		if ok, reason := node.Fits(source, target); !ok {
			rt.Fatalf("%v satisfies both, but %q", value, reason)
		}
	})
}

// What lacks only defaults is valid, and stays so when it has them.
func TestDefaultsNeverMakeAValueInvalid(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := node.Declarations{{Name: "a", Declaration: drawDeclaration(rt, 2)}, {Name: "b", Declaration: drawDeclaration(rt, 2)}}
		var r domain.Rules
		s := node.ParseSchema(&r, "", d)
		if r.Violations() != nil {
			rt.Fatalf("drawn schema: %v", r.Violations())
		}
		object := map[string]any{}
		if rapid.Bool().Draw(rt, "has a") {
			object["a"] = drawValue(rt, 2)
		}
		var before, after domain.Rules
		s.Check(&before, "", object)
		s.Check(&after, "", s.ApplyDefaults(object))
		if before.Violations() == nil && after.Violations() != nil {
			rt.Fatalf("%v became invalid: %v", object, after.Violations())
		}
	})
}
