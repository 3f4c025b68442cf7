package node_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestApplyDefaults(t *testing.T) {
	for claim, c := range map[string]struct {
		schema string
		object map[string]any
		want   map[string]any
	}{
		"an absent field takes its default": {
			`{"a": {"type": "number", "default": 5}, "b": {"type": "string"}}`, nil, map[string]any{"a": 5.0}},
		"null can be a default": {
			`{"a": {"type": "any", "default": null}}`, map[string]any{}, map[string]any{"a": nil}},
		"a field that is there keeps its value, null as well": {
			`{"a": {"type": "any", "default": 5}, "b": {"type": "number", "default": 1}}`,
			map[string]any{"a": nil, "b": 0.0}, map[string]any{"a": nil, "b": 0.0}},
		"undeclared members are kept": {
			`{"a": {"type": "number", "default": 5}}`, map[string]any{"x": "y"}, map[string]any{"a": 5.0, "x": "y"}},
		"defaults reach into objects and arrays": {
			`{"o": {"type": "object", "properties": {"l": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "number", "default": 1}}}}}}}`,
			map[string]any{"o": map[string]any{"l": []any{map[string]any{}, map[string]any{"n": 2.0}, "odd"}}},
			map[string]any{"o": map[string]any{"l": []any{map[string]any{"n": 1.0}, map[string]any{"n": 2.0}, "odd"}}}},
		"defaults reach into defaults": {
			`{"o": {"type": "object", "default": {}, "properties": {"n": {"type": "number", "default": 1}}}}`,
			nil, map[string]any{"o": map[string]any{"n": 1.0}}},
		"an absent object without a default stays absent": {
			`{"o": {"type": "object", "properties": {"n": {"type": "number", "default": 1}}}}`, nil, map[string]any{}},
		"a value of another type is left alone": {
			`{"o": {"type": "object", "properties": {"n": {"type": "number", "default": 1}}}, "a": {"type": "any"}}`,
			map[string]any{"o": []any{}, "a": map[string]any{}}, map[string]any{"o": []any{}, "a": map[string]any{}}},
	} {
		t.Run(claim, func(t *testing.T) {
			if diff := cmp.Diff(c.want, schema(t, c.schema).ApplyDefaults(c.object)); diff != "" {
				t.Errorf("result differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestApplyDefaultsLeavesTheOriginalAndTheSchemaAlone(t *testing.T) {
	s := schema(t, `{"o": {"type": "object", "properties": {"l": {"type": "array", "default": [1]}}}}`)
	original := map[string]any{"o": map[string]any{}}
	first := s.ApplyDefaults(original)
	first["o"].(map[string]any)["l"].([]any)[0] = "changed"
	if diff := cmp.Diff(map[string]any{"o": map[string]any{}}, original); diff != "" {
		t.Errorf("the original changed:\n%s", diff)
	}
	want := map[string]any{"o": map[string]any{"l": []any{1.0}}}
	if diff := cmp.Diff(want, s.ApplyDefaults(original)); diff != "" {
		t.Errorf("the default changed:\n%s", diff)
	}
}
