package language_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMethodsAndFunctions(t *testing.T) {
	type object = map[string]any
	for claim, c := range map[string]struct {
		source string
		want   any
	}{
		"includes finds NaN, indexOf does not":    {`[[NaN].includes(NaN), [NaN].indexOf(NaN), [1, 2].includes(1, 1), ["1"].includes(1)]`, []any{true, -1.0, false, false}},
		"hasOwnProperty sees own members only":    {`[payload.hasOwnProperty("kind"), Object.hasOwn(payload, "toString"), "ab".hasOwnProperty(1), Object.hasOwn([1], "length"), Object.hasOwn(1, 1)]`, []any{true, false, true, true, false}},
		"an empty text is found everywhere":       {`["abc".replaceAll("", "-"), "😀".replace("", "-"), "".replaceAll("", "$&x")]`, []any{"-a-b-c-", "-😀", "x"}},
		"$ in a replacement":                      {`"abc".replace("b", "[$&$$$'$\x60]")`, "a[b$ca]c"},
		"a URL's part and a URL":                  {`[encodeURIComponent("a b/é?"), encodeURI("a b/é?")]`, []any{"a%20b%2F%C3%A9%3F", "a%20b/%C3%A9?"}},
		"functions without arguments":             {`[Number(), String(), Boolean(), parseInt(), isNaN()]`, []any{0.0, "", false, nil, true}},
		"parseInt keeps the sign of zero":         {`[1 / parseInt("-0") < 0, parseInt("123456789012345680000") === 123456789012345680000]`, []any{true, true}},
		"texts that are numbers":                  {`["", " 12 ", "0x1F", "0b11", "1e3", "+.5", "Infinity"].map(Number)`, []any{0.0, 12.0, 31.0, 3.0, 1000.0, 0.5, nil}},
		"texts that are none":                     {`["1_0", "0x", "inf", "1e", "--1", "nan", "0x1p3"].every(x => isNaN(x))`, true},
		"repeat joins halves of pairs":            {`("😀"[1] + "😀"[0]).repeat(2).length`, 4.0},
		"case maps around halves of pairs":        {`("ß" + "😀"[0] + "é").toUpperCase().length`, 4.0},
		"escapes in JSON":                         {`JSON.parse('"\\\\ \\u0041 \\ud83d\\ude00 \\b"') + JSON.stringify("\u0001\t😀".slice(0, 3))`, "\\ A 😀 \b\"\\u0001\\t\\ud83d\""},
		"JSON of what is no JSON":                 {`[JSON.stringify(undefined), JSON.stringify([undefined, NaN]), JSON.stringify({a: undefined})]`, []any{nil, "[null,null]", "{}"}},
		"white space in JSON":                     {`JSON.parse(" { \"a\" : [ ] , \"b\" : -0.5e+1 } ")`, object{"a": []any{}, "b": -5.0}},
		"at, slice and substring count back":      {`["abc".at(-1), [1, 2].at(-3), "abc".slice(-2), "abc".substring(2, 0), [1, 2, 3].slice(-2, -1)]`, []any{"c", nil, "bc", "ab", []any{2.0}}},
		"reverse and flat":                        {`[[1, [2, [3]]].flat(), [1, 2].reverse(), [[1], 2].flat(0)]`, []any{[]any{1.0, 2.0, []any{3.0}}, []any{2.0, 1.0}, []any{[]any{1.0}, 2.0}}},
		"nested patterns with defaults":           {`(({a: {b} = {b: 2}, ["c" + 1]: d = 3}, [[e] = "x"]) => [b, d, e])({}, [])`, []any{2.0, 3.0, "x"}},
		"bits of Math":                            {`[Math.imul(3, 4), Math.imul(0xffffffff, 5), Math.clz32(1), Math.clz32(0)]`, []any{12.0, -5.0, 31.0, 32.0}},
		"rounding":                                {`[Math.round(2.5), Math.round(-2.5), 1 / Math.round(-0.2) < 0, Math.round(0.49999999999999994), Math.max(), Math.max(1, NaN), Math.hypot(3, 4)]`, []any{3.0, -2.0, true, 0.0, nil, nil, 5.0}},
		"keys of a list and of a text":            {`[Object.keys(["a"]), Object.values("ab"), Object.keys(5), {..."ab"}, {...[7]}]`, []any{[]any{"0"}, []any{"a", "b"}, []any{}, object{"0": "a", "1": "b"}, object{"0": 7.0}}},
		"created members keep their order":        {`JSON.stringify({z: 1, a: 2, 10: 3, 2: 4, z: 5, c: 0, d: 0, e: 0, f: 0, g: 0})`, `{"2":4,"10":3,"z":5,"a":2,"c":0,"d":0,"e":0,"f":0,"g":0}`},
		"members of the environment come by name": {`JSON.stringify(payload)`, `{"9":"nine","10":"ten","kind":"a","z":1}`},
	} {
		t.Run(claim, func(t *testing.T) {
			got, err := mustCompile(t, c.source).Evaluate(order())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.source, diff)
			}
		})
	}
}
