package expression

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/expression/language"
	"github.com/sluicehq/sluice/domain/run"
)

// FuzzTemplate compiles and evaluates anything: problems are placed within the text, and an
// evaluation answers twice the same, with a meter and without, with a value that is JSON,
// within the limits, and leaves the environment alone.
func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{
		"a {{ input.x }}", "{{ input.n }} {{ [1] }}", "{{ `}}` }}", "{{ '}}' }}{{", "{{{a: {b: 1}}}}", "{{ 1 /* }} */ }}!", "\xff{{ 1 }}", "{{ '😀'[0] }}{{ '😀'[1] }}",
		"{{ \"x\".repeat(1e9) }}", "{{ nodes[\"fetch\"].body?.[0] }}|{{ JSON.stringify(input) }}", "{{ (a=(b=1)=>1)=>1 }}", "{{ x=>y=>1 }}", "1\u2028{{+\u20292}}",
	} {
		f.Add(seed, "text", 1.5)
	}
	f.Fuzz(func(t *testing.T, template, text string, number float64) {
		p, err := compileTemplate(template, language.Limits{}, roots)
		if err != nil {
			checkProblems(t, template, err)
			return
		}
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
			t.Fatalf("%q counts %+v, more than an evaluation may take", template, meter)
		}
		if (err == nil) != (errAgain == nil) || err != nil && err.Error() != errAgain.Error() || !cmp.Equal(first, again) && number == number {
			t.Fatalf("%q gives %v, %v, then %v, %v", template, first, err, again, errAgain)
		}
		if diff := cmp.Diff(env(), used); diff != "" && number == number {
			t.Fatalf("%q changes the environment:\n%s", template, diff)
		}
		var failed *language.EvaluationError
		var stopped *language.BudgetError
		if err != nil && !errors.As(err, &failed) && !errors.As(err, &stopped) {
			t.Fatalf("%q: the error is %T: %v", template, err, err)
		}
		if _, err := json.Marshal(first); err != nil && number-number == 0 {
			t.Fatalf("%q gives what is no JSON: %v", template, err)
		}
	})
}

func checkProblems(t *testing.T, source string, err error) {
	t.Helper()
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
