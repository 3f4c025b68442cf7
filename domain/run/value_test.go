package run

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func FuzzValue(f *testing.F) {
	for _, seed := range []string{
		`null`, `{"b":[1.50,-0,1e400,true,"\u0000\u2028\ud83d\ude00\\\"\n\t\r"],"a":{}}`, `12345678901234567890`, `1e-7`, ` [ ] `, `{"a":1,"a":2}`,
		`"\ud800"`, "\"\xff\"", `[1,]`, `{} {}`, `01`, `-`, `"`, `tru`, strings.Repeat("[", 200), `{"a" 1}`, `"\x"`, "\"\x01\"", `1.`, `.5`, `1e`, "\ufeff1", `"\u12G4"`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tree, err := parse(json.RawMessage(text))
		if (err == nil) != json.Valid([]byte(text)) {
			t.Fatalf("%q is read with %v", text, err)
		}
		if err != nil {
			return
		}
		dec := json.NewDecoder(strings.NewReader(text))
		dec.UseNumber()
		var want any
		if err = dec.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, tree); diff != "" {
			t.Fatalf("%q is read otherwise: %s", text, diff)
		}
		written, err := appendValue(nil, tree)
		if tooDeep := levels(tree) > maxDepth; (err != nil) != tooDeep {
			t.Fatal(err)
		}
		if err != nil {
			return
		}
		again, err := parse(written)
		if err != nil || !cmp.Equal(tree, again) {
			t.Fatalf("%q is written as %q: %v", text, written, err)
		}
		if twice, err := appendValue(nil, json.RawMessage(written)); err != nil || string(twice) != string(written) {
			t.Fatalf("%q is written as %q the second time, %v", written, twice, err)
		}
		if !equal(tree, again) {
			t.Fatalf("%q does not equal itself", text)
		}
	})
}

// levels counts how deep a tree nests; a value that holds none is of one level, as
// [maxDepth] counts.
func levels(tree any) (deepest int) {
	switch v := tree.(type) {
	case []any:
		for _, e := range v {
			deepest = max(deepest, levels(e))
		}
	case map[string]any:
		for _, e := range v {
			deepest = max(deepest, levels(e))
		}
	}
	return deepest + 1
}

func FuzzNumber(f *testing.F) {
	for _, n := range []float64{0, math.Copysign(0, -1), 1, -1.5, 1e21, 1e20, 1e-6, 1e-7, 1.5e-9, math.MaxFloat64, math.SmallestNonzeroFloat64, 0.1} {
		f.Add(n)
	}
	f.Fuzz(func(t *testing.T, n float64) {
		got, err := appendValue(nil, n)
		want, problem := json.Marshal(n)
		if (err == nil) != (problem == nil) || err == nil && string(got) != string(want) {
			t.Errorf("%v is written as %s, %v and not %s", n, got, err, want)
		}
	})
}

func TestWhatIsNoValueIsRefused(t *testing.T) {
	deep := any(nil)
	for range maxDepth {
		deep = []any{deep}
	}
	for _, v := range []any{
		make(chan int), []any{func() {}}, map[string]any{"a": struct{}{}}, math.NaN(), []any{math.Inf(1)},
		json.Number(""), json.Number("x"), json.Number("1 "), json.Number("0x1"), json.Number("true"), json.RawMessage("{"), json.RawMessage(""), deep,
	} {
		if got, err := appendValue(nil, v); err == nil {
			t.Errorf("%T is written as %.20s", v, got)
		}
	}
	got, err := appendValue(nil, map[string]any{"t": "\xff", "b": 1, "r": json.RawMessage(` {"z": 1.0, "a": 2} `), "<": "&>"})
	if want := `{"<":"&>","b":1,"r":{"a":2,"z":1.0},"t":"` + "\ufffd" + `"}`; err != nil || string(got) != want {
		t.Errorf("it is written as %s, not %s; %v", got, want, err)
	}
}

func TestTruthAndEquality(t *testing.T) {
	for text, want := range map[string]bool{
		`null`: false, `false`: false, `true`: true, `0`: false, `-0.0`: false, `1e400`: true, `0.5`: true, `""`: false, `"0"`: true, `[]`: true, `{}`: true,
	} {
		value, err := parse(json.RawMessage(text))
		if err != nil || truthy(value) != want {
			t.Errorf("%s is true: %v", text, !want)
		}
	}
	if truthy(0.0) || !truthy(2.0) {
		t.Error("a double is not what it should be")
	}
	for pair, want := range map[[2]string]bool{
		{`1`, `1.0`}: true, {`1`, `"1"`}: false, {`null`, `false`}: false, {`[]`, `{}`}: false, {`"a"`, `"a"`}: true, {`true`, `[true]`}: false,
		{`{"a":[1]}`, `{"a":[1e0]}`}: true, {`{"a":1}`, `{"b":1}`}: false, {`{"a":null}`, `{}`}: false, {`[1,2]`, `[2,1]`}: false, {`null`, `null`}: true,
	} {
		a, err := parse(json.RawMessage(pair[0]))
		b, problem := parse(json.RawMessage(pair[1]))
		if err != nil || problem != nil || equal(a, b) != want || equal(b, a) != want {
			t.Errorf("%s equals %s: %v", pair[0], pair[1], !want)
		}
	}
}
