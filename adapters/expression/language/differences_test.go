package language

import (
	"errors"
	"testing"

	"github.com/sluicehq/sluice/domain/run"
)

// refused and thrown stand for a source that does not compile, and for an
// evaluation that fails.
const (
	refused = "refused"
	thrown  = "thrown"
)

// TestDifferencesFromJavaScript holds the list in the package comment against
// both sides: what differs, what JavaScript gives and what this language gives.
func TestDifferencesFromJavaScript(t *testing.T) {
	o := newOracle(t)
	env := run.Env{Values: map[string]any{"input": map[string]any{
		"name": "Ana", "none": []any{}, "empty": []any{}, "unsorted": map[string]any{"b": 1.0, "a": 2.0},
	}}}
	for claim, c := range map[string]struct{ source, javaScript, ours string }{
		"a function is no value":                  {`typeof (x => x)`, `"66 75 6e 63 74 69 6f 6e"`, refused},
		"a built-in function is no value":         {`[Number].length`, "1", refused},
		"nothing is inherited by objects":         {`typeof input.constructor`, `"66 75 6e 63 74 69 6f 6e"`, `"75 6e 64 65 66 69 6e 65 64"`},
		"nothing is inherited by arrays":          {`[].map === undefined`, "false", "true"},
		"in sees own members only":                {`"toString" in {}`, "true", "false"},
		"a written __proto__ is refused":          {`({__proto__: input}).name`, `"41 6e 61"`, refused},
		"sort works on a copy":                    {`(a => [a.sort()[0], a[0]])([2, 1])`, "[1,1]", "[1,2]"},
		"reverse works on a copy":                 {`(a => [a.reverse()[0], a[0]])([2, 1])`, "[1,1]", "[1,2]"},
		"Object.assign works on a copy":           {`(a => [Object.assign(a, {x: 1}).x, a.x])({})`, "[1,1]", "[1,undefined]"},
		"Object.assign takes an object first":     {`Object.assign([], {}).length`, "0", thrown},
		"push is refused":                         {`[1].push(2)`, "2", refused},
		"a comparison of a comparison is refused": {`(1 < 2) < 3`, "true", refused},
		"members of data come by name":            {`Object.keys(input.unsorted).join("")`, `"62 61"`, `"61 62"`},
		"empty arrays of the data are equal":      {`input.none === input.empty`, "false", "true"},
		"half a pair cannot be looked for":        {`"\ud83d".includes("\ud83d")`, "true", thrown},
		"a replacement is no function":            {`"a".replace("a", x => x + x)`, `"61 61"`, refused},
		"a pattern is no regular expression":      {`"a".replace(/a/, "b")`, `"62"`, refused},
		"JSON.stringify takes no replacer":        {`JSON.stringify({a: 1}, ["b"])`, `"7b 7d"`, thrown},
		"JSON.parse takes no reviver":             {`JSON.parse("1", (k, v) => v)`, "1", refused},
		"other radices take whole numbers":        {`(0.5).toString(2)`, `"30 2e 31"`, thrown},
		"a default sees no later parameter":       {`((a = b, b) => a)(1, 2)`, "1", refused},
		"void is refused":                         {`void 0`, "undefined", refused},
		"a hole is refused":                       {`[, 1].length`, "2", refused},
		"a big integer is refused":                {`10n`, "10", refused},
		"a sequence is refused":                   {`(1, 2)`, "2", refused},
		"a contradiction sorts in its own way":    {`[3, 1, 2, 5, 4].sort(() => -1)`, "[4,5,2,1,3]", "[3,1,2,5,4]"},
		"nothing is assigned to a prototype":      {`Object.assign({}, JSON.parse('{"__proto__": {"x": 1}}')).x`, "1", "undefined"},
		"a date is refused":                       {`typeof Date`, `"66 75 6e 63 74 69 6f 6e"`, refused},
	} {
		// as text, for the order of the members is the point
		javaScript, err := o.runWith(`{name: "Ana", none: [], empty: [], unsorted: {b: 1, a: 2}}`, c.source)
		if err != nil {
			javaScript = thrown
		}
		ours, err := runOurs(c.source, env)
		if _, isCompile := errors.AsType[*CompileError](err); isCompile {
			ours = refused
		} else if err != nil {
			ours = thrown
		}
		if javaScript != c.javaScript || ours != c.ours {
			t.Errorf("%s: %s\nJavaScript: %s, want %s\nours:       %s, want %s", claim, c.source, javaScript, c.javaScript, ours, c.ours)
		}
	}
}

// runWith evaluates the source with an input that is written in JavaScript.
func (o *oracle) runWith(input, source string) (string, error) {
	v, err := o.vm.RunString("(input => describeValue((" + source + "\n)))(" + input + ")")
	if err != nil {
		return "", err
	}
	return v.String(), nil
}
