package language

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain/run"
)

// borders are sources at the borders of numbers, texts and names, whose values must be
// exactly JavaScript's.
var borders = []string{
	// numbers that a double cannot hold, or not exactly
	"9007199254740993", "9007199254740992 + 1", "Number.MAX_SAFE_INTEGER + 2", "2 ** 53 + 1", "12345678901234567890 + ''", "1e999", "-1e999", "1e-999", "2 ** 1024",
	"0.1 + 0.2", "1e21 + 1", "1e21 + ''", "1e-7 + ''", "0.000001 + ''", "5e-324 + ''", "parseFloat('1e1000')", "JSON.parse('9007199254740993')",
	"Number('9'.repeat(400))", "Number('1e' + '9'.repeat(400))", "2147483648 | 0", "1 << 31", "1 << 32", "-1 >>> 0", "~~2.7",
	"[9007199254740993, 9007199254740992].indexOf(9007199254740992)", "9007199254740993 === 9007199254740992", "(25).toString(36)", "(1.005).toFixed(2)", "(1e21).toFixed(2)",
	// not a number, the infinities and the negative zero
	"NaN", "[NaN].includes(NaN)", "[NaN].indexOf(NaN)", "JSON.stringify([NaN, Infinity, -Infinity, -0, undefined])", "`${-0}`", "1 / -0", "-0 === 0", "Math.sign(-0)", "JSON.parse('-0')",
	"Math.round(-0.5)", "Math.round(0.49999999999999994)", "Math.max()", "Math.min()", "Math.min(0, -0)", "-5 % 5", "0 * -1 + 0", "NaN ** 0", "1 ** NaN", "(-8) ** (1 / 3)", "Infinity - Infinity",
	"Number('')", "Number(' \\n')", "Number('1_000')", "Number('0b11')", "Number('Infinity')", "Number('infinity')", "+[]", "+{}", "[] + {}", "[1, 2] + [3]", "parseInt('08')", "parseInt('0x1g')",
	"null >= 0", "null == 0", "undefined == null", "'10' < '9'", "[2] > 1", "'b' + 'a' + +'a' + 'a'",
	// names that objects of JavaScript inherit, as data
	"JSON.parse('{\"__proto__\": {\"x\": 1}}').x", "Object.keys(JSON.parse('{\"__proto__\": 1, \"a\": 2}'))", "({['__proto__']: 1, constructor: 2}).constructor", "Object.keys({constructor: 1, toString: 2, hasOwnProperty: 3})",
	"Object.entries(Object.fromEntries([['__proto__', 1], ['valueOf', 2]]))", "({...JSON.parse('{\"__proto__\": {\"x\": 1}}')}).x", "Object.hasOwn({toString: 1}, 'toString')", "'constructor' in {constructor: 1}",
	"(({constructor: c = 5}) => c)({constructor: 1})", "[1, 2].concat({length: 2, 0: 'a'})", "({length: 1e9}).length", "'length' in [1]",
	// texts: halves of surrogate pairs, cases, lengths
	"'😀'.length", "'😀'[0] + '😀'[1] === '😀'", "[...'a😀'].length", "'a😀'.split('').length", "JSON.stringify('\\ud800')", "'\\ud83d' + '\\ude00'", "'\\ud800' < '\\uffff'", "'ß'.toUpperCase()", "'İ'.toLowerCase().length",
	"'ΑΣ'.toLowerCase()", "' a\\u00a0\\ufeff'.trim().length", "''.split('')", "''.split(',')", "'abc'.split('', 2)", "'abc'.replaceAll('', '-')", "'aaa'.replace('a', '$&$&')", "'x'.repeat(0)", "'abc'.substring(2, 0)", "'abc'.padEnd(2)",
	"encodeURIComponent('\\ud800')", "'x'.repeat(-1)", "'x'.repeat(Infinity)", "JSON.parse('')", "JSON.parse('[1,]')", "JSON.parse('{\"a\":1,\"a\":2}').a", "null.x", "undefined?.x.y",
	// functions over arrays
	"input.items.map(x => x.id)", "input.items.map((x, i, all) => [x.id * i, all.length])", "input.items.map(x => ({ id: x.id }))", "input.items.map(x => ({ ...x, of: input.items.filter(y => y.id !== x.id).map(({ tag }) => ({ tag })) }))",
	"input.items.reduce((sum, { id }) => sum + id, 0)", "[].reduce((a, b) => a + b)", "[[1, [2]], [3]].flatMap(([a, b = 0]) => [a, b])", "[3, undefined, 1].sort()", "[3, 1, 10].sort()", "[5, 1, 4].sort(() => NaN)", "[5, 1, 4].sort(() => undefined)",
	"[1, 2, 3].sort((a, b) => 'x')", "Object.keys({b: 1, 2: 1, 1: 1, '-1': 1, '01': 1, 4294967295: 1})",
}

func TestBordersAreWhereJavaScriptHasThem(t *testing.T) {
	o := newOracle(t)
	env := oracleEnv()
	for _, source := range borders {
		want, jsErr := o.run(t, source, env)
		got, err := runOurs(source, env)
		if _, isCompile := errors.AsType[*CompileError](err); isCompile || (jsErr != nil) != (err != nil) || got != want {
			t.Errorf("%s\nJavaScript: %s %v\nours:       %s %v", source, want, jsErr, got, err)
		}
	}
}

// TestSortEndsWhateverTheComparatorSays sorts by comparators that know no order: what
// comes is the same elements, the same ones every time.
func TestSortEndsWhateverTheComparatorSays(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		list := rapid.SliceOfN(rapid.Float64Range(0, 9), 0, 40).Draw(rt, "list")
		says := rapid.SliceOfN(rapid.SampledFrom([]any{-1.0, 0.0, 1.0, nil, true, "x", "-3", []any{}}), 1, 12).Draw(rt, "says")
		p, err := Compile(fmt.Sprintf("input.list.sort((a, b) => input.says[(Math.trunc(a * 31) + Math.trunc(b * 17)) %% %d])", len(says)), "input")
		if err != nil {
			rt.Fatal(err)
		}
		sort := func() []float64 {
			made := make([]any, len(list))
			for i, f := range list {
				made[i] = f
			}
			v, err := p.Evaluate(run.Env{Values: map[string]any{"input": map[string]any{"list": made, "says": says}}})
			if err != nil {
				rt.Fatal(err)
			}
			text, err := json.Marshal(v)
			if err != nil {
				rt.Fatal(err)
			}
			var sorted []float64
			if err := json.Unmarshal(text, &sorted); err != nil {
				rt.Fatal(err)
			}
			return sorted
		}
		first := sort()
		if diff := cmp.Diff(first, sort()); diff != "" {
			rt.Fatalf("the second time it is another order: %s", diff)
		}
		slices.Sort(first)
		slices.Sort(list)
		if !slices.Equal(first, list) {
			rt.Fatalf("%v was sorted to %v", list, first)
		}
	})
}
