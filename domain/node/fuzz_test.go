package node_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
)

var schemaSeeds = []string{
	everything, `{}`, `null`, `[]`, `{"a": null}`, `{"a": {"type": "enum", "enum": [null, 1, 1.0, "1"]}}`,
	`{"a": {"type": "array", "items": {"type": "array", "items": {"type": "string", "pattern": "^(a|b)*$"}}, "default": [["ab"]]}}`,
	`{"a": {"type": "object", "properties": {"a": {"type": "object", "properties": {"": {"type": "any"}}}}}}`,
	`{"a": {"type": "string", "minLength": 1e2, "maxLength": -0.5, "pattern": "(?=x)"}}`, `{"a": {"type": "number", "min": 1e999}}`,
	`{"\u0000": {"type": "any", "default": "\ud800"}}`, `{"a": {"type": "any"}, "a": {"type": "string", "type": "any"}}`, "{\"\xff\": 1}", `{"a": {`,
}

// Any text is either refused with violations or accepted, and what is accepted
// comes back the same.
func FuzzParseSchema(f *testing.F) {
	for _, text := range schemaSeeds {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var r domain.Rules
		s := node.ParseSchema(&r, "s", node.ReadDeclarations(&r, "s", []byte(text)))
		if r.Violations() != nil {
			for _, v := range r.Violations() {
				if v.Field == "" || v.Message == "" || v.Code == "" {
					t.Errorf("incomplete violation %+v", v)
				}
			}
			return
		}
		first, err := json.Marshal(s.Declarations())
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		again := node.ParseSchema(&r, "s", node.ReadDeclarations(&r, "s", first))
		if r.Violations() != nil {
			t.Fatalf("%s was accepted, then refused: %v", text, r.Violations())
		}
		second, err := json.Marshal(again.Declarations())
		if err != nil || string(first) != string(second) {
			t.Errorf("%s became %s, err %v", first, second, err)
		}
		if !s.Declarations().Equal(again.Declarations()) {
			t.Errorf("%s does not equal itself", first)
		}
		if ok, reason := node.Fits(s.Whole(), again.Whole()); ok != (reason == "") {
			t.Errorf("%s fits itself: %v, because %q", first, ok, reason)
		}
	})
}

// A check never fails but by violations, does not change the value, gives the same
// answer for every spelling of a number, and is not upset by defaults.
func FuzzCheck(f *testing.F) {
	for _, text := range schemaSeeds {
		f.Add(text, `{"zip": "12345", "amount": 1.5, "address": {"z": "1", "a": [1, 2, 3], "x": null}, "colour": {"a": 2, "b": 1.0}}`)
		f.Add(text, `{"a": [["ab", "c"], null, 1e400], "": {}}`)
	}
	f.Fuzz(func(t *testing.T, text, valueText string) {
		var r domain.Rules
		s := node.ParseSchema(&r, "s", node.ReadDeclarations(&r, "s", []byte(text)))
		var value, untouched map[string]any
		if r.Violations() != nil || json.Unmarshal([]byte(valueText), &value) != nil {
			return
		}
		_ = json.Unmarshal([]byte(valueText), &untouched)
		var doubles, texts, whole domain.Rules
		s.Check(&doubles, "", value)
		s.Check(&texts, "", respell(value).(map[string]any))
		if diff := cmp.Diff(doubles.Violations(), texts.Violations()); diff != "" {
			t.Errorf("json.Number is checked otherwise than float64:\n%s", diff)
		}
		filled := s.ApplyDefaults(value)
		s.Check(&whole, "", filled)
		if diff := cmp.Diff(doubles.Violations(), whole.Violations()); diff != "" && doubles.Violations() == nil {
			t.Errorf("defaults made the value invalid:\n%s", diff)
		}
		if diff := cmp.Diff(untouched, value); diff != "" {
			t.Errorf("the value changed:\n%s", diff)
		}
	})
}

// respell writes every number of the value as a json.Number.
func respell(value any) any {
	switch v := value.(type) {
	case float64:
		text, _ := json.Marshal(v)
		return json.Number(text)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = respell(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			out[name] = respell(e)
		}
		return out
	}
	return value
}
