package language_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/expression/language"
	"github.com/sluicehq/sluice/domain/run"
)

var seeds = []string{
	`input.amount > 100 && payload.kind === "a"`, `{a: 1, ...input}`, `input.items.map(({id, p = 3, ...r}, i) => ({id, q: p * i, r}))`,
	"`a ${input.x?.y ?? `b${1}`} \\u{1F600}`", `nodes["fetch"].body?.[0]?.id`, `[3, 1, ..."x"].sort((a, b) => a - b).join("-")`,
	`JSON.parse('{"a":[1e5,"\\ud83d\\n"]}').a[1].padEnd(9, "😀")`, `((a, [b, ...c], {d: {e} = {}}) => [a, b, c, e])(1, "xyz", {})`,
	`typeof -(+"1e3" ** 2 % ~7 >>> 1)`, `"a,b".split(",").flatMap(x => [x, x]).reduceRight((a, b) => a + b)`, `1 /* } */ / 2 // end`,
	`Object.fromEntries(Object.entries(input).filter(([k]) => k in input))`, `"x".repeat(1e9)`, `(a=(b=(c=1)=>1)=>1)=>1`, `a?.5:1`, `0x1F.toFixed(2)`,
	"\xff", "😀", `/[/]"/`, `({"__proto__": 1, [1]: 2, if: 3})`, "1\u2028+\u20292", "x=>y=>z=>1",
}

// FuzzCompile feeds the compiler anything: it must answer, and place problems within the
// text.
func FuzzCompile(f *testing.F) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		_, err := language.Compile(source, roots...)
		checkProblems(t, source, err)
	})
}

func checkProblems(t *testing.T, source string, err error) {
	if err == nil {
		return
	}
	var refused *language.CompileError
	if !errors.As(err, &refused) || len(refused.Problems) == 0 {
		t.Fatalf("%q: the error is %T: %v", source, err, err)
	}
	for _, p := range refused.Problems {
		if p.Code == "" || p.Message == "" || p.Line < 1 || p.Column < 1 || p.Column > len(source)+1 {
			t.Fatalf("%q: %+v", source, p)
		}
	}
}

// FuzzEvaluate evaluates what compiles: it must answer, twice the same, with a meter and
// without, with a value that is JSON, and leave the environment alone. What it costs is
// within the limits.
func FuzzEvaluate(f *testing.F) {
	for _, seed := range seeds {
		f.Add(seed, "text", 1.5)
	}
	f.Fuzz(func(t *testing.T, source, text string, number float64) {
		if p, err := language.Compile(source, roots...); err == nil {
			checkEvaluation(t, source, p, text, number)
		}
	})
}

func checkEvaluation(t *testing.T, source string, p *language.Program, text string, number float64) {
	env := func() run.Env {
		made := order()
		made.Values["input"] = map[string]any{"x": text, "n": number, "list": []any{text, number, nil, true, []any{}}, text: text}
		return made
	}
	used := env()
	first, err := p.Evaluate(used)
	var meter run.Meter
	used.Meter = &meter
	again, errAgain := p.Evaluate(used)
	used.Meter = nil
	if meter.Steps <= 0 || meter.Steps > language.DefaultSteps+10 || meter.Memory <= 0 || meter.Memory > language.MaxEvaluation {
		t.Fatalf("%q counts %+v, more than an evaluation may take", source, meter)
	}
	if (err == nil) != (errAgain == nil) || err != nil && err.Error() != errAgain.Error() || !cmp.Equal(first, again) && number == number {
		t.Fatalf("%q gives %v, %v, then %v, %v", source, first, err, again, errAgain)
	}
	if diff := cmp.Diff(env(), used); diff != "" && number == number {
		t.Fatalf("%q changes the environment:\n%s", source, diff)
	}
	var failed *language.EvaluationError
	var stopped *language.BudgetError
	if err != nil && !errors.As(err, &failed) && !errors.As(err, &stopped) {
		t.Fatalf("%q: the error is %T: %v", source, err, err)
	}
	if _, err := json.Marshal(first); err != nil && number-number == 0 {
		t.Fatalf("%q gives what is no JSON: %v", source, err)
	}
}
