package language_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/expression/language"
	"github.com/sluicehq/sluice/domain/run"
)

var noon = time.Date(2026, 11, 5, 12, 0, 0, 0, time.UTC)

// order is an environment as a run has it.
func order() run.Env {
	return run.Env{
		Now: noon,
		Values: map[string]any{
			"input": map[string]any{
				"amount": 120.5, "name": "Ana", "items": []any{
					map[string]any{"id": "a", "price": 2.5, "count": 2.0},
					map[string]any{"id": "b", "price": 10.0, "count": 1.0},
				},
			},
			"payload": map[string]any{"kind": "a", "z": 1.0, "10": "ten", "9": "nine"},
			"nodes":   map[string]any{"fetch": map[string]any{"status": 200.0, "empty": nil}},
			"run":     map[string]any{"id": "run-1", "exact": json.Number("7"), "whole": int64(8)},
		},
	}
}

// roots are those of a node's configuration.
var roots = []string{"input", "payload", "nodes", "run"}

func mustCompile(t testing.TB, source string) *language.Program {
	t.Helper()
	p, err := language.Compile(source, roots...)
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	return p
}

func TestEvaluate(t *testing.T) {
	type object = map[string]any
	for claim, c := range map[string]struct {
		source string
		want   any
	}{
		"a condition":                             {`input.amount > 100 && payload.kind === "a"`, true},
		"an object literal at the top":            {`{a: 1, "b c": [2, null]}`, object{"a": 1.0, "b c": []any{2.0, nil}}},
		"an object literal with spread":           {`{...nodes.fetch, status: 404}`, object{"status": 404.0, "empty": nil}},
		"shorthand and computed members":          {`(id => ({id, [id + "!"]: 1}))("x")`, object{"id": "x", "x!": 1.0}},
		"array spread of arrays and strings":      {`[...input.items.map(i => i.id), ..."h😀"]`, []any{"a", "b", "h", "😀"}},
		"a template string":                       {"`${input.name}: ${1 + 1}`", "Ana: 2"},
		"a sum by reduce":                         {`input.items.reduce((sum, {price, count}) => sum + price * count, 0)`, 15.0},
		"a destructured entry":                    {`Object.entries(payload).map(([k, v]) => k + "=" + v).join("&")`, "9=nine&10=ten&kind=a&z=1"},
		"defaults and rest in parameters":         {`(({a = 5, ...rest}, [b, ...c] = [1, 2, 3]) => [a, rest, b, c])({x: 1})`, []any{5.0, object{"x": 1.0}, 1.0, []any{2.0, 3.0}}},
		"rest parameters":                         {`((first, ...others) => [first, others])(1, 2, 3)`, []any{1.0, []any{2.0, 3.0}}},
		"an inner parameter hides an outer one":   {`[1].map(x => [2].map(x => x)[0] + x)[0]`, 3.0},
		"a parameter hides a root":                {`[1].map(input => input)[0]`, 1.0},
		"a built-in function as callback":         {`["1", "2", "x"].map(Number).filter(Number.isFinite)`, []any{1.0, 2.0}},
		"parseInt as callback sees the index":     {`["1", "2", "3"].map(parseInt)`, []any{1.0, nil, nil}},
		"now in milliseconds":                     {`now()`, float64(noon.UnixMilli())},
		"a missing member is null as a result":    {`input.missing`, nil},
		"an undefined member is left out":         {`{a: undefined, b: [undefined]}`, object{"b": []any{nil}}},
		"NaN and infinities are null as a result": {`[0 / 0, 1 / 0, -0]`, []any{nil, nil, 0.0}},
		"?. ends the whole chain":                 {`nodes.gone?.body.deep[0].map(x => x) ?? "none"`, "none"},
		"?. of a present value goes on":           {`nodes?.fetch?.["status"]`, 200.0},
		"numbers of other Go types are numbers":   {`run.exact + run.whole`, 15.0},
		"a part of the environment as it is":      {`run`, object{"id": "run-1", "exact": json.Number("7"), "whole": int64(8)}},
		"a string's length is in code units":      {`["é".length, "😀".length, "😀x".indexOf("x"), "😀".at(1) + "|"]`, []any{1.0, 2.0, 2.0, "\ufffd|"}},
		"halves of a pair join again":             {`"😀".slice(0, 1) + "😀".slice(1) === "😀"`, true},
		"strings order by code units":             {`"😀" < "ﬁ"`, true},
		"-0 is what 1/x tells":                    {`[1 / -0 < 0, 1 / (-2 * 0) < 0]`, []any{true, true}},
		"numbers are spelled as JavaScript does":  {`[0.1 + 0.2, 1e21, 1e-7, 123456789012345680000, -1e-7].map(String)`, []any{"0.30000000000000004", "1e+21", "1e-7", "123456789012345680000", "-1e-7"}},
		"bits of numbers beyond 2^63":             {`1e21 | 0`, -559939584.0},
		"halves round up in toFixed":              {`[0.5, 2.5, -2.5, 1.005, 1.45].map(x => x.toFixed(x === 1.005 ? 2 : x === 1.45 ? 1 : 0))`, []any{"1", "3", "-3", "1.00", "1.4"}},
		"toString with a radix":                   {`[(255).toString(16), (-7).toString(2)]`, []any{"ff", "-111"}},
		"equality with conversion":                {`["1e3" == 1000, false == "0.00", null == undefined, "1" == 1, [1] == 1, null == 0, NaN == NaN, "b" == ["b"]]`, []any{true, true, true, true, true, false, false, true}},
		"objects are equal by identity":           {`[input === input, input.items === input.items, {} === {}, [] === []]`, []any{true, true, false, false}},
		"sort leaves the data alone":              {`[input.items.sort((a, b) => b.price - a.price)[0].id, input.items[0].id]`, []any{"b", "a"}},
		"sort without a function is by text":      {`[10, 9, undefined, 1].sort()`, []any{1.0, 10.0, 9.0, nil}},
		"JSON comes and goes":                     {`JSON.stringify(JSON.parse('{"b":[1,{"a":"\\u00e9\\n"}],"1":null}'))`, `{"1":null,"b":[1,{"a":"é\n"}]}`},
		"JSON with indentation":                   {`JSON.stringify({a: [1], b: {}}, null, 2)`, "{\n  \"a\": [\n    1\n  ],\n  \"b\": {}\n}"},
		"nothing is inherited":                    {`[({}).constructor, [].__proto__, "toString" in {}, payload.hasOwnProperty]`, []any{nil, nil, false, nil}},
		"an own member of any name":               {`({["__proto__"]: 1}).__proto__`, 1.0},
		"keywords as members and keys":            {`({if: 1, new: 2, async: 3}).new + {class: 4}.class`, 6.0},
		"comments":                                {"1 /* one */ + // two\n 2 // three", 3.0},
		"a trailing comma":                        {`[1, 2, ].concat([3], )`, []any{1.0, 2.0, 3.0}},
		"a division is no regular expression":     {`(8) / 2 / [2][0] / {a: 2}.a`, 1.0},
		"a URL's part":                            {`encodeURIComponent("a b/é?")`, "a%20b%2F%C3%A9%3F"},
		"replaceAll of nothing cuts pairs":        {`"é😀".replaceAll("", "-")`, "-é-\ufffd-\ufffd-"},
		"nothing is replaced where it is":         {"[\"ab\".replaceAll(\"\", \"[$`|$']\"), \"ab\".replace(\"\", \"<$'>\")]", []any{"[|ab]a[a|b]b[ab|]", "<ab>ab"}},
		"$ in a replacement":                      {`"abc".replace("b", "[$&$$$'$\x60]")`, "a[b$ca]c"},
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

func TestEvaluateSaysWhatIsMissing(t *testing.T) {
	at := func(column int, code, message string) *language.EvaluationError {
		return &language.EvaluationError{Problem: language.Problem{Code: code, Message: message, Line: 1, Column: column}}
	}
	for source, want := range map[string]*language.EvaluationError{
		`nodes.fetch.body.id`:               at(18, language.CodeNoValue, `nodes.fetch.body is undefined; cannot read "id"; write ?. before it where it may be missing`),
		`nodes.fetch.empty["a" + 1]`:        at(18, language.CodeNoValue, `nodes.fetch.empty is null; cannot read "a1"; write ?. before it where it may be missing`),
		`input.gone.map(x => x)`:            at(12, language.CodeNoValue, `input.gone is undefined; cannot call "map"; write ?. before it where it may be missing`),
		`input.amount.toUpperCase()`:        at(14, language.CodeNoMethod, `input.amount is a number, which has no method toUpperCase`),
		`[..."ab", ...input]`:               at(14, language.CodeBadArgument, `only arrays and strings can be spread or taken apart, not an object`),
		`"a" in "abc"`:                      at(1, language.CodeBadArgument, `the right side of in must be an object or an array, not a string`),
		`[].reduce((a, b) => a + b)`:        at(4, language.CodeBadArgument, `reduce of an empty array needs an initial value: reduce((sum, x) => sum + x, 0)`),
		`JSON.parse("[1,]")`:                at(1, language.CodeBadJSON, `JSON.parse takes the text of one JSON value, but finds ']' at 3`),
		`JSON.parse("[1")`:                  at(1, language.CodeBadJSON, `JSON.parse takes the text of one JSON value, but the text ends too early`),
		`"abc".includes("😀".at(0))`:         at(7, language.CodeBadArgument, `half of a surrogate pair cannot be looked for; look for whole characters`),
		`(({a}) => a)(null)`:                at(3, language.CodeNoValue, `the argument is null; cannot take members out of it`),
		`"a".repeat(-1)`:                    at(5, language.CodeBadArgument, `repeat takes a number of 0 or more, not -1`),
		`Object.keys(undefined)`:            at(1, language.CodeBadArgument, `Object.keys takes an object, not undefined`),
		`Object.assign([], {})`:             at(1, language.CodeBadArgument, `Object.assign takes an object first, not an array`),
		`(1.5).toString(2)`:                 at(7, language.CodeBadArgument, `toString with a radix other than 10 takes whole numbers below 2^53, not 1.5`),
		`JSON.stringify(input, ["amount"])`: at(1, language.CodeBadArgument, `JSON.stringify takes no replacer; write null, and choose the members in an object literal`),
	} {
		_, err := mustCompile(t, source).Evaluate(order())
		var got *language.EvaluationError
		if !errors.As(err, &got) {
			t.Errorf("%s: %v", source, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", source, diff)
		}
	}
}

func TestEvaluateWithoutTimeOrWithForeignData(t *testing.T) {
	env := order()
	env.Now = time.Time{}
	env.Values["input"] = map[string]any{"channel": make(chan int)}
	for source, code := range map[string]string{"now()": language.CodeNoTime, "input.channel": language.CodeBadData} {
		_, err := mustCompile(t, source).Evaluate(env)
		var failed *language.EvaluationError
		if !errors.As(err, &failed) || failed.Code != code {
			t.Errorf("%s: %v, want %s", source, err, code)
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	for source, want := range map[string]string{
		"":                         "line 1, column 1: must be an expression, such as input.amount > 100, not empty",
		"a = 1":                    "line 1, column 1: an assignment is not permitted; compare with ===",
		"input.a += 1":             "line 1, column 1: an assignment is not permitted; compare with ===",
		"1; 2":                     "line 1, column 2: ; is not permitted: write one expression, without a semicolon",
		"1, 2":                     "line 1, column 1: must be one expression, not several with commas between them; put them in [ ] for an array",
		"x => x":                   "line 1, column 1: a function is no value; give it to a method such as map, or call it: (x => x + 1)(input.a)",
		"[1].map(x => { x })":      "line 1, column 14: the body of an arrow function must be one expression; put an object literal in parentheses: x => ({ … })",
		"function () {}":           "line 1, column 1: function is not permitted; write an arrow function: x => x.id",
		"new Date()":               "line 1, column 1: new is not permitted; write a literal such as [], {} or 0; the time is now(), in milliseconds",
		"this.a":                   "line 1, column 1: this is not permitted; begin with a root such as input",
		"if (1) 2":                 "line 1, column 1: if is not permitted; write condition ? a : b",
		"await input":              "line 1, column 1: await is not permitted; an expression does not wait",
		"input.a++":                "line 1, column 8: ++ is not permitted: an expression changes nothing; write x + 1 or x - 1, with spaces between two signs",
		"delete input.a":           "line 1, column 1: delete is not permitted; an expression changes nothing; leave a member out with (({ a, ...rest }) => rest)(input)",
		"/a/.test(input.name)":     "line 1, column 1: regular expressions are not permitted; use string methods such as includes, startsWith, split or replaceAll",
		"tag`x`":                   "line 1, column 1: a template string must not have a tag",
		"({get a() { return 1 }})": "line 1, column 11: unexpected {; statements and methods are not permitted",
		"({__proto__: input})":     "line 1, column 3: __proto__ is not permitted as a key; write [\"__proto__\"] for a member of that name",
		"1 < 2 < 3":                "line 1, column 1: a comparison must not be compared with < > <= >= or in; write a < b && b < c",
		"[1, , 2]":                 "line 1, column 1: an array must not have holes; write undefined or null",
		"10n":                      "line 1, column 1: 10n must be a plain number: big integers are not permitted",
		"017":                      "line 1, column 1: a number must not begin with 0 and another digit; write 0o17 for octal, 17 for decimal",
		"input.push(1)":            "line 1, column 7: the method push is not permitted; arrays do not change; write [...list, item]",
		"input.items.map(input)":   "line 1, column 1: map needs a function first, such as x => x.id or Number",
		"input.items.map()":        "line 1, column 1: map needs a function first, such as x => x.id or Number",
		"input()":                  "line 1, column 1: input is a value and cannot be called",
		"undefined.a(1)":           "line 1, column 11: the method a is not known; there are at, charAt, charCodeAt, codePointAt, concat, endsWith, every, filter, find, findIndex, findLast, findLastIndex, flat, flatMap, hasOwnProperty, includes, indexOf, join, lastIndexOf, map, padEnd, padStart, reduce, reduceRight, repeat, replace, replaceAll, reverse, slice, some, sort, split, startsWith, substring, toFixed, toLowerCase, toReversed, toSorted, toString, toUpperCase, trim, trimEnd, trimStart",
		"NaN.push(1)":              "line 1, column 5: the method push is not permitted; arrays do not change; write [...list, item]",
		"Date.now()":               "line 1, column 1: Date is not known; the time is now(), in milliseconds since 1970; times of one zone that are written alike, as 2026-01-31T09:00:00Z is, compare as texts",
		"[Date(), Map]":            "line 1, column 2: Date is not known; the time is now(), in milliseconds since 1970; times of one zone that are written alike, as 2026-01-31T09:00:00Z is, compare as texts; line 1, column 10: Map is not known; use an object, or Object.fromEntries and Object.entries",
		"String.fromCharCode(65)":  "line 1, column 1: String is a function and no value; call it, or give it to a method such as map",
		"input.a?.()":              "line 1, column 1: ?.( is not permitted; methods are known by their names, call them with .name( )",
		"input['map'](1)":          "line 1, column 1: only methods by their name, built-in functions and arrow functions can be called",
		"Math":                     "line 1, column 1: Math is no value; use a member such as Math.abs()",
		"Math.abs":                 "line 1, column 1: Math.abs is a function and no value; call it, or give it to a method such as map",
		"Number":                   "line 1, column 1: Number is a function and no value; call it, or give it to a method such as map",
		"JSON.read(1)":             "line 1, column 1: JSON.read is no function; JSON has parse, stringify",
		"Array.of":                 "line 1, column 1: Array.of is not known; Array has isArray",
		"(input.a":                 "line 1, column 1: ( is not closed; add )",
		"input.a)":                 "line 1, column 8: unexpected ); nothing is open that it could close",
		"a) + (b":                  "line 1, column 2: unexpected ); nothing is open that it could close",
		"[1)":                      "line 1, column 3: unexpected ); [ is to be closed by ] first",
		"'abc":                     "line 1, column 1: the string is not closed; add '",
		"`abc${1}":                 "line 1, column 1: the template string is not closed; add `",
		"1 +\n  * 2":               "line 2, column 3: must be one JavaScript expression: unexpected token *",
		"input.":                   "line 1, column 7: must be one JavaScript expression: unexpected end; the expression is not complete",
		"é +\n input.a b":          "line 2, column 10: must be one JavaScript expression: unexpected identifier",
		"(a, a) => 1":              "line 1, column 1: a function is no value; give it to a method such as map, or call it: (x => x + 1)(input.a)",
		"((a, a) => 1)(1)":         "line 1, column 6: the parameter a must be named once",
		"input ?? 1 || 2":          "line 1, column 12: must be one JavaScript expression: logical expressions and coalesce expressions cannot be mixed. Wrap either by parentheses",
		"#a":                       "line 1, column 1: unexpected '#'",
		"[1].map(async x => x)":    "line 1, column 9: async is not permitted; an expression does not wait",
	} {
		_, err := language.Compile(source, roots...)
		var refused *language.CompileError
		if !errors.As(err, &refused) {
			t.Errorf("%q compiles, or fails otherwise: %v", source, err)
		} else if got := err.Error(); got != want {
			t.Errorf("%q\n got %s\nwant %s", source, got, want)
		}
	}
}

func TestCompileListsEveryProblemInOrder(t *testing.T) {
	_, err := language.Compile("foo +\n  input.items.map(x => y) + bar.z", "input", "item")
	var refused *language.CompileError
	if !errors.As(err, &refused) {
		t.Fatal(err)
	}
	type place struct {
		Code         string
		Line, Column int
	}
	var got []place
	for _, p := range refused.Problems {
		got = append(got, place{p.Code, p.Line, p.Column})
		if !strings.Contains(p.Message, "is not known; an expression begins with input, item, ") {
			t.Errorf("%s does not list the roots", p.Message)
		}
	}
	want := []place{{language.CodeUnknownName, 1, 1}, {language.CodeUnknownName, 2, 24}, {language.CodeUnknownName, 2, 29}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestRootsAreThoseOfTheCaller(t *testing.T) {
	env := run.Env{Values: map[string]any{"item": 3.0, "secret": 1.0, "JSON": "mine"}}
	p, err := language.Compile("[item, index, JSON]", "item", "index", "JSON")
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Evaluate(env)
	if diff := cmp.Diff([]any{3.0, nil, "mine"}, got); diff != "" || err != nil {
		t.Errorf("roots: %v\n%s", err, diff)
	}
	if _, err := language.Compile("secret", "item"); err == nil {
		t.Error("a value of the environment that is no root can be read")
	}
}

func TestTruthIsJavaScripts(t *testing.T) {
	for source, want := range map[string]bool{
		"true": true, "false": false, "null": false, "undefined": false, "0": false, "-0": false, "NaN": false, `""`: false,
		`"0"`: true, "[]": true, "{}": true, "1 / 0": true, "input.missing": false, "input": true,
	} {
		if got, err := mustCompile(t, "!!("+source+")").Evaluate(order()); err != nil || got != want {
			t.Errorf("%s is %v, %v; want %v", source, got, err, want)
		}
	}
}

func TestEvaluateChangesNothingInTheEnvironment(t *testing.T) {
	env := order()
	source := `[input.items.sort((a, b) => b.price - a.price), input.items.reverse(), Object.assign({}, payload, {z: 2}), {...payload, kind: 1}, input.items.map(i => ({...i, id: 0}))]`
	if _, err := mustCompile(t, source).Evaluate(env); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(order(), env); diff != "" {
		t.Errorf("the environment has changed:\n%s", diff)
	}
}

func TestProgramsAreSharedBetweenGoroutines(t *testing.T) {
	p := mustCompile(t, `input.items.map(({id, price}, i) => [id, price * i, input.n])`)
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			for range 200 {
				env := order()
				env.Values["input"].(map[string]any)["n"] = float64(n)
				got, err := p.Evaluate(env)
				if diff := cmp.Diff([]any{[]any{"a", 0.0, float64(n)}, []any{"b", 10.0, float64(n)}}, got); diff != "" || err != nil {
					t.Errorf("goroutine %d: %v\n%s", n, err, diff)
					return
				}
			}
		})
	}
	all.Wait()
}

func TestResultsAreJSON(t *testing.T) {
	for _, source := range []string{"[NaN, Infinity, {a: undefined, b: -Infinity}]", `"😀".split("")`, "0 / 0", "undefined"} {
		v, err := mustCompile(t, source).Evaluate(order())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(v); err != nil {
			t.Errorf("%s gives %v, which is no JSON: %v", source, v, err)
		}
		if f, ok := v.(float64); ok && math.Signbit(f) {
			t.Errorf("%s gives -0", source)
		}
	}
}
