package run_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
)

func TestTransforms(t *testing.T) {
	const items = `{"items": [{"n": 1}, {"n": 2}, {"n": 3}]}`
	for claim, c := range map[string]struct{ config, payload, want, message string }{
		"an expression gives its value":                {`{"expression": "input.items.length"}`, items, `3`, ""},
		"undefined is null":                            {`{"expression": "input.none"}`, items, `null`, ""},
		"a mapping gives an object of expressions":     {`{"mapping": {"first": "input.items[0].n", "deep": {"list": ["1 + 1", 5, null, true, ""]}, "none": "input.none"}}`, items, `{"deep":{"list":[2,5,null,true,""]},"first":1}`, ""},
		"each part sees what it looks at":              {`{"mapping": {"a": "payload.n", "b": "1", "c": "input.n", "d": "1", "e": "nodes", "f": "1", "g": "run.entityId", "h": "1"}}`, `{"n": 5}`, `{"a":5,"b":1,"c":5,"d":1,"e":{},"f":1,"g":"order-7","h":1}`, ""},
		"map computes each element":                    {`{"transformType": "map", "source": "input.items", "expression": "item.n * 10 + index"}`, items, `[10,21,32]`, ""},
		"map goes over the input without a source":     {`{"transformType": "map", "expression": "item + 1"}`, `[1, 2]`, `[2,3]`, ""},
		"map takes an arrow function too":              {`{"transformType": "map", "source": "input.items", "expression": "(item, index) => item.n * 10 + index"}`, items, `[10,21,32]`, ""},
		"with names and a pattern of its own":          {`{"transformType": "map", "source": "input.items", "expression": " ({n: twice = 0}, at, all) => ({at, twice: 2 * twice, of: all.length, who: run.entityId}) // done"}`, items, `[{"at":0,"of":3,"twice":2,"who":"order-7"},{"at":1,"of":3,"twice":4,"who":"order-7"},{"at":2,"of":3,"twice":6,"who":"order-7"}]`, ""},
		"within parentheses":                           {`{"transformType": "map", "expression": "(x => x + 1)"}`, `[1, 2]`, `[2,3]`, ""},
		"filter takes an arrow function too":           {`{"transformType": "filter", "source": "input.items", "expression": "x => x.n !== payload.items[1].n"}`, items, `[{"n":1},{"n":3}]`, ""},
		"reduce takes an arrow function too":           {`{"transformType": "reduce", "source": "input.items", "expression": "(sum, x, i) => sum + x.n * i", "initial": 0}`, items, `8`, ""},
		"and without initial":                          {`{"transformType": "reduce", "expression": "(a, b) => a > b ? a : b"}`, `[1, 3, 2]`, `3`, ""},
		"methods with functions within each":           {`{"transformType": "map", "expression": "x => x.map((y, i) => [y, i].concat(x.filter(z => z > y)))"}`, `[[1, 2]]`, `[[[1,0,2],[2,1]]]`, ""},
		"a function that is called is an expression":   {`{"transformType": "map", "expression": "(x => x + index)(item)"}`, `[1, 2]`, `[1,3]`, ""},
		"a function does not see item":                 {`{"transformType": "map", "expression": "x =>\n item"}`, `[1]`, "", "config.expression: line 2, column 2: item is not known;"},
		"nor what the whole is made of":                {`{"transformType": "map", "expression": "x => items"}`, `[1]`, "", "config.expression: line 1, column 6: items is not known;"},
		"a function with statements":                   {`{"transformType": "map", "expression": "x => { x }"}`, `[1]`, "", "config.expression: line 1, column 6: the body of an arrow function must be one expression;"},
		"two functions":                                {`{"transformType": "map", "expression": "x => x, y => y"}`, `[1]`, "", "config.expression: line 1, column 1: must be one expression, not several"},
		"a function reaches not out of its place":      {`{"transformType": "map", "expression": "x => x), (y => y"}`, `[1]`, "", "config.expression: line 1, column 7: unexpected )"},
		"a failure within a function":                  {`{"transformType": "filter", "expression": "x =>\n x.a.b"}`, `[{}]`, "", `config.expression: line 2, column 6: x.a is undefined; cannot read "b"; write ?. before it where it may be missing`},
		"a function alone is no value":                 {`{"expression": "x => x"}`, `[1]`, "", "config.expression: line 1, column 1: a function is no value;"},
		"map with a mapping":                           {`{"transformType": "map", "source": "input.items", "mapping": {"id": "item.n", "at": "index"}}`, items, `[{"at":0,"id":1},{"at":1,"id":2},{"at":2,"id":3}]`, ""},
		"filter keeps what the expression is true for": {`{"transformType": "filter", "source": "input.items", "expression": "item.n !== 2 // not two"}`, items, `[{"n":1},{"n":3}]`, ""},
		"reduce begins with initial, a plain value":    {`{"transformType": "reduce", "source": "input.items", "expression": "acc + item.n + index", "initial": "s"}`, items, `"s102132"`, ""},
		"reduce begins with the first element without": {`{"transformType": "reduce", "expression": "acc + item"}`, `[1, 2, 3]`, `6`, ""},
		"reduce of nothing without initial is null":    {`{"transformType": "reduce", "expression": "acc + item"}`, `[]`, `null`, ""},
		"reduce with a blank for initial has none":     {`{"transformType": "reduce", "expression": "acc + item", "initial": "", "source": "", "mapping": {}}`, `[1, 2, 3]`, `6`, ""},
		"an empty list is an initial":                  {`{"transformType": "reduce", "expression": "acc.concat(item)", "initial": []}`, `[1, 2]`, `[1,2]`, ""},
		"an expression among blanks":                   {`{"transformType": "expression", "expression": "{ a: 1 }", "mapping": {}, "source": "", "initial": ""}`, `{}`, `{"a":1}`, ""},
		"reduce of nothing is initial":                 {`{"transformType": "reduce", "expression": "acc + item", "initial": null}`, `[]`, `null`, ""},
		"an expression does not look at source":        {`{"expression": "input.items.length", "source": "input.none.none"}`, items, `3`, ""},
		"a mapping's texts may begin with a brace":     {`{"mapping": {"a": "{b: 1}", "c": "x => x"}}`, items, "", "config.mapping.c: line 1, column 1: a function is no value; give it to a method such as map, or call it: (x => x + 1)(input.a)"},
		"map of no array fails":                        {`{"transformType": "map", "source": "input.items[0]", "expression": "1"}`, items, "", "A map goes over an array, but config.source is an object."},
		"map of an input that is no array fails":       {`{"transformType": "filter", "expression": "1"}`, `"text"`, "", "A filter goes over an array, but the node's input is a string."},
		"a source that cannot be computed fails":       {`{"transformType": "map", "source": "input.a.b", "expression": "1"}`, items, "", `config.source: line 1, column 9: input.a is undefined; cannot read "b"; write ?. before it where it may be missing`},
		"a failure within map is traced to its place":  {`{"transformType": "map", "source": "input.items", "expression": "item.n +\n item.x.y"}`, items, "", `config.expression: line 2, column 9: item.x is undefined; cannot read "y"; write ?. before it where it may be missing`},
		"a failure within a mapping is traced too":     {`{"mapping": {"a": "1\n+ 1", "b": {"c": "input\n.x.y"}, "d": "2"}}`, items, "", `config.mapping.b.c: line 2, column 4: input .x is undefined; cannot read "y"; write ?. before it where it may be missing`},
		"no part reaches out of its place":             {`{"transformType": "map", "source": "input.items", "expression": "1), (2"}`, items, "", `config.expression: line 1, column 2: unexpected ); nothing is open that it could close`},
		"a part may not use a name of the whole":       {`{"transformType": "map", "source": "input.items", "expression": "items"}`, items, "", `config.expression: line 1, column 1: items is not known;`},
		"a configuration that breaks the schema":       {`{"transformType": "map", "mapping": {"a": "1"}, "expression": "1"}`, items, "", "config.mapping must be left out when expression is given"},
		"the budget is that of one expression":         {`{"transformType": "map", "source": "\"x\".repeat(30000).split(\"\")", "expression": "item + 1 + 1 + 1 + 1 + 1"}`, items, "", "config.expression: line 1"},
	} {
		t.Run(claim, func(t *testing.T) {
			w := begin(t, plan(t, nodes("x transform "+c.config), nil), start(c.payload))
			if c.message != "" {
				if f := w.run.Failure(); f == nil || !strings.HasPrefix(f.Message, c.message) || f.Node != "x" {
					t.Errorf("the run is %s with %+v,\nwant a failure with %s", w.run.Status(), f, c.message)
				}
				return
			}
			if got := w.output("x"); got != c.want {
				t.Errorf("it gave %s, not %s (%+v)", got, c.want, w.run.Failure())
			}
		})
	}
}

// gave is what becomes of a request or a call that gives the output, without a store.
func gave(t *testing.T, kind, output string) string {
	t.Helper()
	p := plan(t, nodes("a "+kind), nil)
	r := run.New(runID, start(`{}`), noon)
	for _, f := range []run.Fact{run.Started{}, run.AttemptCompleted{Node: "a", Attempt: 1, Output: json.RawMessage(output)}} {
		if _, err := r.Advance(p, run.Event{At: noon, Secret: secret, Fact: f}); err != nil {
			t.Fatal(err)
		}
	}
	if f := r.Failure(); f != nil {
		return f.Code + ": " + f.Message
	}
	return string(r.Status())
}

func TestTheAnswerToARequestIsBoundedByItsBody(t *testing.T) {
	t.Parallel()
	const request = `httpRequest {"url": "https://x.test/"}`
	answer := func(body string) string {
		return `{"status": 200, "headers": {"set-cookie": "` + strings.Repeat(`\"`, 30<<10) + `"}, "body": "` + body + `"}`
	}
	for claim, c := range map[string]struct{ kind, output, want string }{
		"a body of the greatest length, of which every byte is escaped": {request, answer(strings.Repeat(`\u0001`, run.MaxOutput)), "completed"},
		"more than any answer can be":                                   {request, `"` + strings.Repeat("x", run.MaxAnswer-1) + `"`, "output_too_large: The output must be at most 8388608 bytes of JSON, not 8388609."},
		"of another node":                                               {"call", `"` + strings.Repeat("x", run.MaxOutput-1) + `"`, "output_too_large: The output must be at most 1048576 bytes of JSON, not 1048577."},
	} {
		if got := gave(t, c.kind, c.output); got != c.want {
			t.Errorf("%s: %s", claim, got)
		}
	}
}

// grow is an expression that gives a text of n characters.
func grow(n int) string { return `"x".repeat(` + text(n) + `)` }

func TestALargeOutputIsKeptApart(t *testing.T) {
	w := begin(t, plan(t, nodes(expr("small", grow(run.InlineOutput-2)), expr("large", grow(run.InlineOutput-1))), nil), start(`{}`))
	large := make(map[workflow.NodeID]int)
	progress := w.run.State().Progress
	for n := range progress.LargeOutputs() {
		large[n.ID] = len(n.Output)
		if n.OutputSeq < 1 || n.OutputSeq > w.run.Seq() {
			t.Errorf("the output of %q was given by entry %d of %d", n.ID, n.OutputSeq, w.run.Seq())
		}
	}
	if want := map[workflow.NodeID]int{"large": run.InlineOutput + 1}; !maps.Equal(large, want) || progress.LargeOutputsSize() != want["large"] {
		t.Errorf("kept apart are %v, not %v", large, want)
	}
	if kept := len(run.EncodeProgress(progress)); kept < run.InlineOutput || kept > run.InlineOutput+1000 {
		t.Errorf("%d bytes are kept with the progress", kept)
	}
}

func TestOutputsAreBounded(t *testing.T) {
	w := begin(t, plan(t, nodes(expr("a", grow(run.MaxOutput-2))), nil), start(`{}`))
	w.want(run.StatusCompleted, "a=completed")
	w = begin(t, plan(t, nodes(expr("a", grow(run.MaxOutput-1))), nil), start(`{}`))
	w.want(run.StatusFailed, "a=failed(output_too_large)")

	lines := []string{}
	states := ""
	for i := range run.MaxOutputs / run.MaxOutput {
		id := "n" + text(i)
		lines = append(lines, expr(id, grow(run.MaxOutput-2)))
		states += id + "=completed "
	}
	lines = append(lines, expr("last", "1"), `pass condition {"condition": "true"}`)
	w = begin(t, plan(t, nodes(lines...), edges("n0 -> pass", "pass -> last")), start(`{}`))
	w.want(run.StatusFailed, states+"last=failed(run_too_large) pass=completed")
}
