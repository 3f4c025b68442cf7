package expression

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/expression/language"
	"github.com/sluicehq/sluice/domain/run"
)

// roots are those of a node's configuration.
var roots = []string{"input", "payload", "nodes", "run"}

// order is an environment as a run has it.
func order() run.Env {
	return run.Env{Values: map[string]any{
		"input": map[string]any{"amount": 120.5, "name": "Ana", "items": []any{
			map[string]any{"id": "a", "price": 2.5, "count": 2.0}, map[string]any{"id": "b", "price": 10.0, "count": 1.0},
		}},
		"nodes": map[string]any{"fetch": map[string]any{"status": 200.0}},
	}}
}

func TestTemplates(t *testing.T) {
	for claim, c := range map[string]struct {
		text string
		want any
	}{
		"plain text is itself":                    {"a } b }} {c", "a } b }} {c"},
		"the empty text is itself":                {"", ""},
		"one expression gives its value":          {"{{ input.amount }}", 120.5},
		"one expression gives an object":          {"{{ {a: {b: [1]}} }}", map[string]any{"a": map[string]any{"b": []any{1.0}}}},
		"braces may close at once":                {"{{{a: {b: 1}}}}", map[string]any{"a": map[string]any{"b": 1.0}}},
		"one expression may give undefined":       {"{{input.gone}}", nil},
		"white space around makes text of it":     {" {{ input.amount }}", " 120.5"},
		"primitives are joined as String does":    {"{{true}}|{{null}}|{{undefined}}|{{1e21}}|{{-0}}|{{'x'}}", "true|null|undefined|1e+21|0|x"},
		"objects and arrays are joined as JSON":   {"v={{ {a: [1, 'é', undefined]} }};{{ [] }}", `v={"a":[1,"é",null]};[]`},
		"braces within a string close nothing":    {`a{{ "}}" + "{{" }}b{{ '{' }}`, "a}}{{b{"},
		"braces within a template string neither": {"{{ `}}${ {a: '}}'}.a }` }}!", "}}}}!"},
		"braces within a comment neither":         {"{{ 1 /* }} */ }}!", "1!"},
		"halves of a pair join":                   {"{{ '😀'[0] }}{{ '😀'[1] }}", "😀"},
		"every part sees its own parameters":      {"{{ [1].map(x => x)[0] }}{{ [2].map(x => x)[0] }}", "12"},
	} {
		t.Run(claim, func(t *testing.T) {
			made, err := compileTree(c.text, language.Limits{}, roots...)
			if err != nil {
				t.Fatal(err)
			}
			got, err := made.Evaluate(order())
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%s: %v (-want +got):\n%s", c.text, err, diff)
			}
		})
	}
}

func TestTemplatesThatDoNotCompile(t *testing.T) {
	for text, want := range map[string]string{
		"a {{ input.a":           `line 1, column 3: {{ has no }} that closes it; write {{ expression }}, or {{ "{{" }} for the braces themselves`,
		"a\nb {{ input.a } }":    `line 2, column 14: unexpected }; nothing is open that it could close`,
		"{{}}":                   `line 1, column 3: must be an expression, such as input.amount > 100, not empty`,
		"{{ input }}\n{{ 1 + }}": "line 2, column 8: must be one JavaScript expression: unexpected end; the expression is not complete",
		"é{{ 1 = 2 }}":           `line 1, column 5: must be one JavaScript expression: invalid left-hand side in assignment`,
	} {
		_, err := compileTree(text, language.Limits{}, roots...)
		var refused *language.CompileError
		if !errors.As(err, &refused) {
			t.Errorf("%q compiles, or fails otherwise: %v", text, err)
		} else if got := err.Error(); got != want {
			t.Errorf("%q\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestTemplatesPlaceFailuresInTheWholeText(t *testing.T) {
	made, err := compileTree("one\n{{ input.name }} {{ input.gone.id }}", language.Limits{}, roots...)
	if err != nil {
		t.Fatal(err)
	}
	_, err = made.Evaluate(order())
	want := `line 2, column 32: input.gone is undefined; cannot read "id"; write ?. before it where it may be missing`
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

func TestTemplateTree(t *testing.T) {
	tree := map[string]any{
		"url":     "https://example.com/{{ input.name }}",
		"headers": map[string]any{"X-Amount": "{{ input.amount }}", "X-Gone": "{{ input.gone }}", "{{ key }}": "kept"},
		"body":    []any{"{{ input.items[0] }}", "{{ input.gone }}", 1.0, true, nil, "plain"},
	}
	made, err := compileTree(tree, language.Limits{}, roots...)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"url":     "https://example.com/Ana",
		"headers": map[string]any{"X-Amount": 120.5, "{{ key }}": "kept"},
		"body":    []any{map[string]any{"id": "a", "price": 2.5, "count": 2.0}, nil, 1.0, true, nil, "plain"},
	}
	for range 2 {
		got, err := made.Evaluate(order())
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}

func TestTemplateTreeNamesThePath(t *testing.T) {
	_, err := compileTree(map[string]any{"b": []any{"ok", "{{ foo", map[string]any{"c": "{{ 1 }}{{ 2 = 3 }}"}}, "a": "{{ }}"}, language.Limits{}, roots...)
	var refused *language.CompileError
	if !errors.As(err, &refused) {
		t.Fatal(err)
	}
	var paths []string
	for _, p := range refused.Problems {
		paths = append(paths, p.Path)
	}
	if diff := cmp.Diff([]string{"a", "b[1]", "b[2].c"}, paths); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}

	made, err := compileTree(map[string]any{"a": "{{ 1 }}", "b": []any{"x {{ input.gone.id }}"}}, language.Limits{}, roots...)
	if err != nil {
		t.Fatal(err)
	}
	_, err = made.Evaluate(order())
	want := `b[0], line 1, column 17: input.gone is undefined; cannot read "id"; write ?. before it where it may be missing`
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

func TestTemplateTreeSharesOneBudget(t *testing.T) {
	text := `{{ "x".repeat(600) }}`
	limits := language.Limits{Memory: 4000}
	one, err := compileTree([]any{text}, limits)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := one.Evaluate(order()); err != nil {
		t.Errorf("one text: %v", err)
	}
	many, err := compileTree([]any{text, text, text, text}, limits)
	if err != nil {
		t.Fatal(err)
	}
	var exceeded *language.BudgetError
	if _, err := many.Evaluate(order()); !errors.As(err, &exceeded) || exceeded.Code != language.CodeMemory {
		t.Errorf("four texts: %v, want %s", err, language.CodeMemory)
	}
}

func TestTreesOfTemplatesThatNestTooDeepAreRefused(t *testing.T) {
	var tree any = "{{ 1 }}"
	for range language.DefaultDepth {
		tree = []any{tree}
	}
	_, err := compileTree(tree, language.Limits{})
	var refused *language.CompileError
	if !errors.As(err, &refused) || refused.Problems[0].Code != language.CodeTooDeep {
		t.Errorf("got %v, want %s", err, language.CodeTooDeep)
	}
	if _, err := compileTree(tree.([]any)[0], language.Limits{}); err != nil {
		t.Errorf("one level less: %v", err)
	}
}

func TestStepsGrowWithTheTemplate(t *testing.T) {
	steps := func(n int) int64 {
		p, err := compileTree(strings.Repeat("{{''}}", n), language.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		var meter run.Meter
		if _, err := p.Evaluate(run.Env{Meter: &meter}); err != nil {
			t.Fatal(err)
		}
		return meter.Steps
	}
	if less, more := steps(200), steps(2000); less < 200 || more < 9*less {
		t.Errorf("a template takes %d steps, and a ten times longer one %d", less, more)
	}
}

func TestEveryEvaluationCountsOnItsMeter(t *testing.T) {
	const template = "{{ input.name }} owes {{ input.amount }}"
	for claim, tree := range map[string]any{
		"a template": template, "a text without expressions": "plain", "a tree of templates": map[string]any{"a": template, "b": []any{template}},
	} {
		p, err := Compiler{}.CompileTemplates(tree, roots...)
		if err != nil {
			t.Fatal(err)
		}
		var once, twice run.Meter
		env := order()
		for _, m := range []*run.Meter{&once, &twice, &twice} {
			env.Meter = m
			if _, err := p.Evaluate(env); err != nil {
				t.Fatalf("%s: %v", claim, err)
			}
		}
		if once.Steps <= 0 || once.Memory <= 0 || twice.Steps != 2*once.Steps || twice.Memory != once.Memory {
			t.Errorf("%s counts %+v once and %+v twice", claim, once, twice)
		}
	}
}
