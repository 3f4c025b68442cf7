package language_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/expression/language"
	"github.com/sluicehq/sluice/domain/run"
)

func TestEveryEvaluationTellsItsMeter(t *testing.T) {
	p, broken := mustCompile(t, `input.items.map(i => i.price)`), mustCompile(t, `input.gone.x`)
	tight, err := language.Limits{Steps: 5}.Compile(`input.items.map(i => i.price)`, roots...)
	if err != nil {
		t.Fatal(err)
	}
	full, err := language.Limits{Memory: 500}.Compile(`"x".repeat(1000)`, roots...)
	if err != nil {
		t.Fatal(err)
	}
	for claim, evaluate := range map[string]func(run.Env) error{
		"an expression":           func(e run.Env) error { _, err := p.Evaluate(e); return err },
		"one that fails":          func(e run.Env) error { _, err := broken.Evaluate(e); return failed(err) },
		"one without steps left":  func(e run.Env) error { _, err := tight.Evaluate(e); return failed(err) },
		"one without memory left": func(e run.Env) error { _, err := full.Evaluate(e); return failed(err) },
	} {
		var once, twice run.Meter
		env := order()
		if err := evaluate(env); err != nil {
			t.Fatalf("%s without a meter: %v", claim, err)
		}
		for _, m := range []*run.Meter{&once, &twice, &twice} {
			if env.Meter = m; evaluate(env) != nil {
				t.Fatalf("%s fails with a meter only", claim)
			}
		}
		if once.Steps <= 0 || once.Memory <= 0 || twice.Steps != 2*once.Steps || twice.Memory != once.Memory {
			t.Errorf("%s counts %+v once and %+v twice", claim, once, twice)
		}
	}
	var stopped run.Meter
	env := order()
	env.Meter = &stopped
	if _, err := tight.Evaluate(env); err == nil || stopped.Steps > 5+10 {
		t.Errorf("with 5 steps at most, %d are counted (%v)", stopped.Steps, err)
	}
}

// failed expects an error.
func failed(err error) error {
	if err == nil {
		return fmt.Errorf("no error")
	}
	return nil
}

// allocating are expressions that allocate much for what is counted of them.
var allocating = []string{
	"input.list.map(x => `${x}`)", `input.list.map(() => ({}))`, `input.list.map(() => [])`, `input.list.map(x => ({x}))`, `input.list.map(x => ({a: x, b: x, c: x}))`, `input.list.map(a => ({a, b: a, c: a, d: a, e: a, f: a, g: a, h: a, i: a}))`,
	`(o => input.list.map(() => o))({a: 1})`, `(o => input.list.map(() => o))({a: undefined})`, `(o => input.list.map(() => o))({a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1, h: 1, i: 1})`, `input.list.map(x => x + 0.5)`, `input.list.reduce((s, x) => s + x, 0)`,
	`input.list.reduce((s, x) => s + x, "")`, `input.list.map((x, i) => i)`, `input.list.filter(x => true)`, `input.list.flatMap(x => [x])`, `input.list.concat(input.list)`, `input.list.sort()`, `input.list.sort((a, b) => b - a)`, `input.list.slice(1)`,
	`[...input.list]`, `Math.max(...input.list)`, `((...r) => r)(...input.list)`, `Object.entries(input.object)`, `({...input.object})`, `Object.assign({}, input.object)`, `Object.fromEntries(input.list.map(x => [x, x]))`, `(({k1, ...r}) => r)(input.object)`,
	`input.list.join("")`, `JSON.stringify(input.list)`, `JSON.stringify(input.object)`, `JSON.stringify(input.text)`, `JSON.parse(input.json)`, `JSON.parse(input.objects)`, `JSON.parse(input.members)`, `input.text.split("")`, `input.wide.split("")`, `[...input.wide]`,
	`input.text.split("a")`, `input.text.replaceAll("a", "bb")`, `input.text.replaceAll("", "x")`, `input.text.toUpperCase()`, `input.wide.toUpperCase()`, `input.growing.toUpperCase()`, `input.wide.toLowerCase()`, `input.wide.slice(1)`, `encodeURIComponent(input.wide)`,
	`"x".padStart(input.text.length + 1, "ab")`, `input.text.repeat(3)`, "`${input.text}x`", `input.text + "x"`, `input.list.map(x => x.toFixed(2))`, `input.list.map(String)`, `input.list.some(x => [].some(y => y))`, `input.list.map(x => [x].reduce((a, b) => a, 0))`,
	`input.list.map(x => [[x]].flat())`, `input.list.map(x => input.text.charCodeAt(x))`, `{...input.text}`, `Object.values(input.wide)`, `input.list.map(x => Number("1e999"))`, `input.list.map(x => (({a, ...r}) => r)({a: x, b: x}))`, `[` + strings.Repeat("1,", 9000) + `1]`,
	`isNaN(` + strings.Repeat("1,", 9000) + `1)`, `isNaN(` + strings.Repeat("`a`,", 9000) + `1)`, `isNaN(` + strings.Repeat("input.some(x => x),", 3000) + `1)`, `input.list.map(x => "a" + x)`, `input`, `1`, `input.gone.x`,
}

// TestAnEvaluationAllocatesAtMostWhatItsMeterSays compares with what the runtime counts.
// Sizes just above a power of two are those at which what grows has most room to spare.
func TestAnEvaluationAllocatesAtMostWhatItsMeterSays(t *testing.T) {
	most := int64(0)
	for _, n := range []int{10, 257, 4097, 65_537, 262_145} {
		env := run.Env{Values: map[string]any{"input": allocatingInput(n)}}
		for _, source := range allocating {
			p := mustCompile(t, source)
			var meter run.Meter
			env.Meter = &meter
			used := int64(1 << 62)
			for range 3 { // the least, for the runtime allocates as well
				used = min(used, allocated(func() { _, _ = p.Evaluate(env) }))
			}
			if most = max(most, used); used > meter.Memory || used > language.MaxEvaluation {
				t.Errorf("%.60s of %d allocates %d bytes, and %d are counted, at most %d", source, n, used, meter.Memory, language.MaxEvaluation)
			}
			if meter.Memory > language.MaxEvaluation {
				t.Errorf("%.60s of %d counts %d bytes, more than %d", source, n, meter.Memory, language.MaxEvaluation)
			}
		}
	}
	if most < language.MaxEvaluation/4 {
		t.Errorf("no evaluation allocates more than %d bytes, far below %d: the bound is not tried", most, language.MaxEvaluation)
	}
}

func allocated(work func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	work()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

func allocatingInput(n int) map[string]any {
	list, object := make([]any, min(n, 70_000)), map[string]any{}
	var members strings.Builder
	for i := range list {
		list[i] = float64(i) + 0.25
		object[fmt.Sprintf("k%d", i)] = 1.0
		fmt.Fprintf(&members, `"%d":1,`, i)
	}
	return map[string]any{
		"list": list, "object": object, "text": strings.Repeat("a", n), "wide": strings.Repeat("é", n/2), "growing": strings.Repeat("ΐ", n/2),
		"json": "[" + strings.Repeat("1,", n/3) + "1]", "objects": "[" + strings.Repeat(`{"a":1},`, n/9) + "1]", "members": "{" + members.String() + `"z":1}`,
	}
}

func TestAMeterChangesNoResult(t *testing.T) {
	for _, source := range allocating {
		p := mustCompile(t, source)
		env := run.Env{Values: map[string]any{"input": allocatingInput(100)}}
		want, wantErr := p.Evaluate(env)
		env.Meter = new(run.Meter)
		got, err := p.Evaluate(env)
		if diff := cmp.Diff(want, got); diff != "" || (err == nil) != (wantErr == nil) {
			t.Errorf("%.60s gives with a meter (-without +with), %v and %v:\n%s", source, wantErr, err, diff)
		}
	}
}

// TestNumbersAreReadAsTheLibraryReadsThem compares at the limits of each way of reading.
func TestNumbersAreReadAsTheLibraryReadsThem(t *testing.T) {
	p := mustCompile(t, `input.n`)
	for _, n := range []string{"-0", "0", "-0.0", "007", "999999999999999999", "-999999999999999999", "1000000000000000001", "9007199254740993", "4503599627370497.5", "1e23", "5e-324", "2e-324", "-3e-324", "1e309", "1.7976931348623158e308", "1E5"} {
		number := json.Number(n)
		want, _ := number.Float64()
		got, err := p.Evaluate(run.Env{Values: map[string]any{"input": map[string]any{"n": number}}})
		if err != nil {
			t.Fatal(err)
		}
		if f, finite := got.(float64); finite && f != want || !finite && want-want == 0 {
			t.Errorf("%s is read as %v, want %v", n, got, want)
		}
	}
}
