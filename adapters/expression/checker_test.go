package expression

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/typing"
	"github.com/sluicehq/sluice/domain/workflow"
)

func TestCheckerKnowsTheScopesOfWorkflows(t *testing.T) {
	for claim, check := range map[string]struct {
		err  error
		want string // "" for none
	}{
		"a node's condition":                  {fault(checkExpression(`input.amount > 100 && nodes["n-1"].ok`, workflow.NodeScope()...)), ""},
		"an edge's condition sees the result": {fault(checkExpression(`result.ok === true`, workflow.EdgeScope()...)), ""},
		"a reduce sees what it computed":      {fault(checkExpression(`acc + item.price * index`, workflow.TransformScope(workflow.TransformReduce)...)), ""},
		"a node does not see the result": {fault(checkExpression(`result.ok`, workflow.NodeScope()...)),
			"line 1, column 1: result is not known; an expression begins with input, payload, nodes, run, Infinity, NaN, undefined, " + builtInNames},
		"without roots there is what is built in": {fault(checkExpression(`1 + input`)),
			"line 1, column 5: input is not known; an expression begins with Infinity, NaN, undefined, " + builtInNames},
		"a template": {fault(checkTemplateText(`https://example.com/{{ payload.id }}?n={{ run.id }}`, workflow.NodeScope()...)), ""},
		"a template's expressions see the roots only": {fault(checkTemplateText("a\n{{ item }}", workflow.NodeScope()...)),
			"line 2, column 4: item is not known; an expression begins with input, payload, nodes, run, Infinity, NaN, undefined, " + builtInNames},
		"a template without its last brace": {fault(checkTemplateText("a {{ item.id }", "item")),
			`line 1, column 14: unexpected }; nothing is open that it could close`},
		"a word that no expression has": {fault(checkExpression("[1 = 2, this]")), "line 1, column 9: this is not permitted; begin with a root such as input"},
		"the first three problems and how many more": {fault(checkExpression("[input = 1, /* */ ...[10n], () => 1, 1 < 2 < 3, tag``]", "input")),
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

func fault(_ []workflow.Named, err error) error { return err }

func TestCheckerKnowsWhatIsNamed(t *testing.T) {
	type names = []workflow.Named
	named := func(found names, err error) names {
		if err != nil {
			t.Error(err)
		}
		return found
	}
	nodes := func(at workflow.Place, name string) workflow.Named {
		return workflow.Named{Root: "nodes", Name: name, At: at}
	}
	isFunction, ofFunction, err := checkFunction(`(nodes) => nodes.a`, "nodes")
	if !isFunction || err != nil {
		t.Error(isFunction, err)
	}
	for claim, check := range map[string]struct{ got, want names }{
		"members and brackets": {named(checkExpression("nodes.a.b + nodes?.x + nodes?.['y']?.z", "nodes")),
			names{nodes(workflow.Place{Line: 1, Column: 7}, "a"), nodes(workflow.Place{Line: 1, Column: 20}, "x"), nodes(workflow.Place{Line: 1, Column: 32}, "y")}},
		"a text in brackets, a number, and lines": {named(checkExpression("['é', nodes['c d'],\n nodes[7]]", "nodes")),
			names{nodes(workflow.Place{Line: 1, Column: 13}, "c d"), nodes(workflow.Place{Line: 2, Column: 8}, "7")}},
		"a method's value":                   {named(checkExpression("nodes.a.trim()", "nodes")), names{nodes(workflow.Place{Line: 1, Column: 7}, "a")}},
		"computed ones are not known":        {named(checkExpression("nodes[input.id] + Object.keys(nodes).length", "nodes", "input")), names{{Root: "input", Name: "id", At: workflow.Place{Line: 1, Column: 13}}}},
		"a parameter hides a root":           {named(checkExpression("[1].map(nodes => nodes.a)", "nodes")), names{}},
		"a parameter of a function":          {ofFunction, names{}},
		"a member of the name is no root":    {named(checkExpression("input.nodes.a", "nodes", "input")), names{{Root: "input", Name: "nodes", At: workflow.Place{Line: 1, Column: 7}}}},
		"a template, all of its expressions": {named(checkTemplateText("a{{ nodes.a }} nodes.x {{ nodes.b }}", "nodes")), names{nodes(workflow.Place{Line: 1, Column: 11}, "a"), nodes(workflow.Place{Line: 1, Column: 33}, "b")}},
		"a URL":                              {named(checkURLTemplate("https://x.test/{{ nodes.a }}", "nodes")), names{nodes(workflow.Place{Line: 1, Column: 25}, "a")}},
	} {
		if diff := cmp.Diff(check.want, check.got); diff != "" {
			t.Errorf("%s: %s", claim, diff)
		}
	}
}

const builtInNames = "Boolean(), Number(), String(), encodeURI(), encodeURIComponent(), isFinite(), isNaN(), link(), now(), parseFloat(), parseInt(), Array.…, JSON.…, Math.…, Number.… or Object.…"

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
		isFunction, _, err := checkFunction(source, "input")
		again, errAgain := Compiler{}.CheckFunction(source, "input")
		got := ""
		if err != nil {
			got = err.Error()
		}
		if isFunction != c.isFunction || got != c.want || again != isFunction || (err == nil) != (errAgain == nil) {
			t.Errorf("%q: %v, %v, then %v, %v", source, isFunction, err, again, errAgain)
		}
	}
}

// A transform in a body has an item of its own.
func TestCheckerKnowsWhoseItemItIs(t *testing.T) {
	outer := []workflow.Root{{Name: workflow.RootInput, Type: typing.Of(typing.Array)}, {Name: workflow.RootItem, Type: typing.Of(typing.String)}, {Name: workflow.RootIndex, Type: typing.Of(typing.Number)}}
	each := []workflow.Root{{Name: workflow.RootItem, Type: typing.Of(typing.Boolean)}, {Name: workflow.RootIndex, Type: typing.Of(typing.Number)}}
	for text, want := range map[string]typing.Type{
		"item":          typing.Of(typing.Boolean),
		"item => item":  typing.Of(typing.Boolean),
		"other => item": typing.Of(typing.String),
	} {
		got := Checker{}.Check(workflow.Source{Text: text, Form: workflow.EachItem, Roots: outer, Each: each})
		if got.Problem != "" || got.Type.String() != want.String() {
			t.Errorf("%s gives %s %s, not %s", text, got.Type, got.Problem, want)
		}
	}
}
