package trigger

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// FuzzMembersOf holds the members of an object against those that encoding/json finds.
func FuzzMembersOf(f *testing.F) {
	for _, seed := range []string{
		`{}`, ` { } `, `{"a":1}`, `{"a":1,"a":"2"}`, `{"a":{"b":[1,{"c":"}"}]},"d":null}`, "{\n\t\"a\" : true ,\r\n \"b\":-1.5e3}",
		`{"a\"\\b":"x\\"}`, `{"\u0061":[],"é":"\u00e9"}`, `{"a":"\\\"}"}`, `[1]`, `"{"`, `null`, ``,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		found, err := membersOf(text) // must not panic, whatever it is given
		if !json.Valid([]byte(text)) || !utf8.ValidString(text) {
			return
		}
		got := make(map[string]json.RawMessage)
		for _, m := range found {
			value, _ := found.lookUp(m.name)
			got[m.name] = json.RawMessage(value)
		}
		var want map[string]json.RawMessage
		if errWant := json.Unmarshal([]byte(text), &want); errWant != nil || want == nil {
			if err == nil {
				t.Fatalf("%q is taken for an object", text)
			}
			return
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("%q: %v\n%s", text, err, diff)
		}
	})
}
