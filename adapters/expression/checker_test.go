package expression_test

import (
	"testing"

	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/domain/workflow"
)

var _ workflow.Expressions = expression.Checker{}

func TestCheckerKnowsTheScopesOfWorkflows(t *testing.T) {
	var c expression.Checker
	for claim, check := range map[string]struct {
		err  error
		want string // "" for none
	}{
		"a node's condition":                  {c.CheckExpression(`input.amount > 100 && nodes["n-1"].ok`, workflow.NodeScope()...), ""},
		"an edge's condition sees the result": {c.CheckExpression(`result.ok === true`, workflow.EdgeScope()...), ""},
		"a reduce sees what it computed":      {c.CheckExpression(`acc + item.price * index`, workflow.TransformScope(workflow.TransformReduce)...), ""},
		"a node does not see the result": {c.CheckExpression(`result.ok`, workflow.NodeScope()...),
			"line 1, column 1: result is not known; an expression begins with input, payload, nodes, run, Infinity, NaN, undefined, " + builtInNames},
		"without roots there is what is built in": {c.CheckExpression(`1 + input`),
			"line 1, column 5: input is not known; an expression begins with Infinity, NaN, undefined, " + builtInNames},
		"a template": {c.CheckTemplate(`https://example.com/{{ payload.id }}?n={{ run.id }}`, workflow.NodeScope()...), ""},
		"a template's expressions see the roots only": {c.CheckTemplate("a\n{{ item }}", workflow.NodeScope()...),
			"line 2, column 4: item is not known; an expression begins with input, payload, nodes, run, Infinity, NaN, undefined, " + builtInNames},
		"a template without its last brace": {c.CheckTemplate("a {{ item.id }", "item"),
			`line 1, column 14: unexpected }; nothing is open that it could close`},
		"a word that no expression has": {c.CheckExpression("[1 = 2, this]"), "line 1, column 9: this is not permitted; begin with a root such as input"},
		"the first three problems and how many more": {c.CheckExpression("[input = 1, /* */ ...[10n], () => 1, 1 < 2 < 3, tag``]", "input"),
			"line 1, column 2: an assignment is not permitted; compare with ===; " +
				"line 1, column 23: 10n must be a plain number: big integers are not permitted; " +
				"line 1, column 29: a function is no value; give it to a method such as map, or call it: (x => x + 1)(input.a); and 2 more"},
	} {
		got := ""
		if check.err != nil {
			got = check.err.Error()
		}
		if got != check.want {
			t.Errorf("%s\n got %s\nwant %s", claim, got, check.want)
		}
	}
}

const builtInNames = "Boolean(), Number(), String(), encodeURI(), encodeURIComponent(), isFinite(), isNaN(), now(), parseFloat(), parseInt(), Array.…, JSON.…, Math.…, Number.… or Object.…"

func TestCheckerKnowsFunctions(t *testing.T) {
	for source, c := range map[string]struct {
		isFunction bool
		want       string // "" for none
	}{
		"x => x.a": {true, ""},
		"/* a */ ({ a, b = 1 }, ...rest) => [a, b, rest, input]": {true, ""},
		"(((a) => ({ a })))": {true, ""},
		"x => y => y":        {true, "line 1, column 6: a function is no value; give it to a method such as map, or call it: (x => x + 1)(input.a)"},
		"(x, x) => 1":        {true, "line 1, column 5: the parameter x must be named once"},
		"async x => x":       {false, ""},
		"x => {}":            {false, ""},
		"(x => x)(1)":        {false, ""},
		"[1].map(x => x)":    {false, ""},
		"x => x), (y => y":   {false, ""},
		"x => x, y => y":     {false, ""},
		"input":              {false, ""},
		"":                   {false, ""},
		"x => (":             {false, ""},
	} {
		isFunction, err := expression.Checker{}.CheckFunction(source, "input")
		again, errAgain := expression.Compiler{}.CheckFunction(source, "input")
		got := ""
		if err != nil {
			got = err.Error()
		}
		if isFunction != c.isFunction || got != c.want || again != isFunction || (err == nil) != (errAgain == nil) {
			t.Errorf("%q: %v, %v, then %v, %v", source, isFunction, err, again, errAgain)
		}
	}
}
