package run

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// What a text is said to take is what the runtime allocates for its values, and not many
// times more.
func TestValuesTakeWhatTheyAreSaidTo(t *testing.T) {
	repeat := func(part string, n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(part+",", n), ",") + "]"
	}
	for name, text := range map[string]string{
		"empty arrays":             repeat("[]", 50_000),
		"arrays of one":            repeat("[0]", 50_000),
		"empty objects":            repeat("{}", 50_000),
		"objects of one":           repeat(`{"":0}`, 20_000),
		"objects of three":         repeat(`{"id":1,"name":"abc","ok":true}`, 20_000),
		"objects of eight":         repeat(`{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8}`, 5_000),
		"objects of twelve":        repeat(`{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":0,"k":1,"l":2}`, 5_000),
		"digits":                   repeat("0", 100_000),
		"numbers":                  repeat("-1234.5678e+12", 50_000),
		"words":                    repeat("true", 100_000),
		"short strings":            repeat(`"a"`, 100_000),
		"long strings":             repeat(`"`+strings.Repeat("x", 5000)+`"`, 200),
		"a long number":            strings.Repeat("7", 900_000),
		"one object of many":       "{" + strings.TrimSuffix(strings.Repeat(`"%":0,`, 1), ",") + manyMembers(50_000) + "}",
		"arrays within each other": strings.Repeat("[", 60) + repeat("[[[[]]]]", 10_000) + strings.Repeat("]", 60),
	} {
		var keep any
		took := allocated(func() { keep, _ = parse(json.RawMessage(text)) })
		said := weightOf([]byte(text))
		if float64(said) < 0.9*float64(took) || said > 4*took+1000 {
			t.Errorf("%s take %d bytes and are said to take %d", name, took, said)
		}
		if tree := weightOfTree(keep); float64(tree) < 0.6*float64(took) {
			t.Errorf("%s take %d bytes and are said to take %d as a tree", name, took, tree)
		}
		runtime.KeepAlive(keep)
	}
}

func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`,"m`)
		b.WriteString(strings.Repeat("0", i%3))
		b.WriteString(json.Number(rune2(i)).String())
		b.WriteString(`":1`)
	}
	return b.String()
}

func rune2(i int) string {
	const digits = "0123456789abcdefghij"
	s := ""
	for ; i > 0 || s == ""; i /= len(digits) {
		s += string(digits[i%len(digits)])
	}
	return s
}

// allocated is how many bytes are alive after a function that were not before.
func allocated(fn func()) int64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&before)
	fn()
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	return int64(after.HeapAlloc) - int64(before.HeapAlloc)
}

// A text is written as the tree is that it holds.
func TestATextIsWrittenAsItsValueIs(t *testing.T) {
	check := func(t interface {
		Fatalf(string, ...any)
	}, text string) {
		tree, err := parse(json.RawMessage(text))
		got, refused := appendValue(nil, json.RawMessage(text))
		if (err == nil) != (refused == nil) {
			t.Fatalf("%s: %v, but read %v", text, refused, err)
		}
		if err != nil {
			return
		}
		want, err := appendValue(nil, tree)
		if err != nil || string(got) != string(want) {
			t.Fatalf("%s is written as %s, and not as %s (%v)", text, got, want, err)
		}
	}
	for _, text := range []string{
		``, ` `, `1 2`, `nul`, `{"a":1,}`, `"\ud800"`, `"\ud83d\ude00"`, `"\ud83dx"`, `"\ude00\ud83d"`, `"\u0000\u001f\u2028<>&\/"`, "\"\xff\xed\xa0\x80\"",
		`{"b":1,"a":2}`, `{"a":1,"a":2,"\u0061":3}`, `{"a\"":1,"a!":2}`, `{"\u00e9":1,"e":2,"é":3}`, ` [ 1 , { } , [ ] , -0 , 1E+5 , 0.50 ] `,
		`{"z":{"b":[{"d":1,"c":2}],"a":null},"":true}`, `{"\n":1,"\t":2}`,
	} {
		check(t, text)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Custom(func(t *rapid.T) string { return drawText(t, 4) }).Draw(t, "text")
		check(t, text)
	})
}

func drawText(t *rapid.T, depth int) string {
	space := func() string { return rapid.SampledFrom([]string{"", " ", "\n\t"}).Draw(t, "space") }
	str := func() string {
		return `"` + strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", `\"`, `\\`, `\u0061`, `\ud83d`, `\ude00`, "é", "\xff", `\/`, `\n`}), 0, 4).Draw(t, "parts"), "") + `"`
	}
	kinds := 6
	if depth == 0 {
		kinds = 4
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return rapid.SampledFrom([]string{"0", "-1.50", "1e400", "12345678901234567890"}).Draw(t, "number")
	case 1:
		return rapid.SampledFrom([]string{"true", "false", "null"}).Draw(t, "word")
	case 2, 3:
		return str()
	case 4:
		var parts []string
		for range rapid.IntRange(0, 4).Draw(t, "elements") {
			parts = append(parts, space()+drawText(t, depth-1)+space())
		}
		return "[" + strings.Join(parts, ",") + space() + "]"
	default:
		var parts []string
		for range rapid.IntRange(0, 5).Draw(t, "members") {
			parts = append(parts, space()+str()+space()+":"+space()+drawText(t, depth-1)+space())
		}
		return "{" + strings.Join(parts, ",") + space() + "}"
	}
}

// FuzzCanonical writes any text as its value is written.
func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{`{"b":[1,"\u0061"],"a":{}}`, `"\ud83d\ude00"`, `[[],{"":0}]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		tree, err := parse(text)
		if err != nil || len(text) > 1<<16 {
			return
		}
		want, deep := appendValue(nil, tree)
		got, refused := appendValue(nil, json.RawMessage(text))
		if (deep == nil) != (refused == nil) {
			t.Fatalf("%q: %v, %v", text, deep, refused)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Error(diff)
		}
		_ = weightOf(text)
	})
}

func BenchmarkWeight(b *testing.B) {
	text := []byte(`{"id":"order-1042","amount":1250,"lines":[` + strings.Repeat(`{"sku":"a-1","n":2},`, 50) + `{}]}`)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		_ = weightOf(text)
	}
}
