package language

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/typing"
	"github.com/sluicehq/sluice/domain/workflow"
)

// typeOfValue is the exact type of a JSON tree.
func typeOfValue(v any) typing.Type {
	switch v := v.(type) {
	case nil:
		return typing.Of(typing.Null)
	case bool:
		return typing.Of(typing.Boolean)
	case string:
		return typing.Of(typing.String)
	case []any:
		if len(v) == 0 {
			return typing.Of(typing.Array)
		}
		items := typeOfValue(v[0])
		for _, item := range v[1:] {
			items = items.Or(typeOfValue(item))
		}
		return typing.List(items)
	case map[string]any:
		o := typing.NewObject()
		for _, name := range sortedNames(v) {
			o.Set(name, typeOfValue(v[name]))
		}
		return o.Type()
	}
	return typing.Of(typing.Number)
}

func typedRoots(env run.Env) []workflow.Root {
	var roots []workflow.Root
	for _, name := range sortedNames(env.Values) {
		roots = append(roots, workflow.Root{Name: name, Type: typeOfValue(env.Values[name])})
	}
	return roots
}

// kindOfValue is the kind of a value of an evaluation.
func kindOfValue(v any) typing.Kind {
	switch v.(type) {
	case undefinedType:
		return typing.Undefined
	case nil:
		return typing.Null
	case bool:
		return typing.Boolean
	case float64:
		return typing.Number
	case string:
		return typing.String
	case []any, *array:
		return typing.Array
	}
	return typing.Object
}

// isOfType says whether a failure is for the type of a value, and not for what the value is.
func isOfType(err error) bool {
	failed, ok := errors.AsType[*EvaluationError](err)
	return ok && (failed.Code == CodeNoValue || failed.Code == CodeNoMethod ||
		failed.Code == CodeBadArgument && (strings.Contains(failed.Message, "can be spread") || strings.Contains(failed.Message, "takes an object")))
}

// analyse also tells whether something is done to a value of which nothing is known, which is
// called right whatever becomes of it.
func analyse(t interface{ Fatalf(string, ...any) }, source string, roots []workflow.Root) (found Analysis, blind bool) {
	c := Limits{}.compiler(source, names(roots))
	tree := c.tree(0, len(source))
	if c.expr(tree); len(c.faults) > 0 {
		t.Fatalf("%s\ndoes not compile: %v", source, c.faults)
	}
	x := newInference(c, roots, nil)
	return x.analysis(x.whole(tree)), x.blind
}

// TestWhatIsCalledRightNeverFailsForItsTypes composes expressions over values whose types are
// known. One that nothing is found in may fail for what values are, and never for their types,
// and it gives a value of the type that was found.
func TestWhatIsCalledRightNeverFailsForItsTypes(t *testing.T) {
	env := oracleEnv()
	roots := typedRoots(env)
	right := 0
	rapid.Check(t, func(rt *rapid.T) {
		for range 20 {
			g := &generator{t: rt}
			source := g.any(rapid.IntRange(1, 4).Draw(rt, "depth"))
			found, blind := analyse(rt, source, roots)
			p, err := Compile(source, names(roots)...)
			if err != nil {
				rt.Fatalf("%s\ndoes not compile: %v", source, err)
			}
			kind, err := execute(p.text, p.limits, p.slots, &env, func(m *Machine) any { return kindOfValue(p.run(m)) })
			if err == nil && found.Type.Kinds()&kind.(typing.Kind) == 0 {
				rt.Fatalf("%s\nis called %s, and gives a value of kind %b", source, found.Type, kind)
			}
			if len(found.Doubts) == 0 && !blind {
				right++
				if isOfType(err) {
					rt.Fatalf("%s\nis called right, and fails: %v", source, err)
				}
			}
		}
	})
	if right == 0 {
		t.Error("nothing was called right")
	}
}

// TestWhatIsCalledWrongFails calls each method on values of each type, and reads and spreads
// them. What is called an error fails whenever it is evaluated, and what fails for its type is
// at least warned of.
func TestWhatIsCalledWrongFails(t *testing.T) {
	env := oracleEnv()
	roots := typedRoots(env)
	values := []string{
		"input.amount", "input.name", "input.yes", "input.list", "input.object", "input.nothing", "input.missing", "undefined", "5", `"a"`, "[1]", "{ a: 1 }",
		"(input.yes ? 1 : \"a\")", "(input.no ? undefined : [1])", "input.list[9]", "input.items[0].id",
	}
	var sources []string
	for _, v := range values {
		for _, name := range sortedNames(methods) {
			arguments := ""
			if methods[name].each != nil {
				arguments = "x => 1, 0"
			}
			sources = append(sources, fmt.Sprintf("(%s).%s(%s)", v, name, arguments))
		}
		for _, form := range []string{"(%s).a", "[...(%s)]", "Math.max(...(%s))", "Object.keys(%s)", "Object.assign(%s, {})", "(([a]) => a)(%s)", "(({ a }) => a)(%s)", `"a" in (%s)`, "Object.hasOwn(%s, 'a')", "(%s)?.a", "(%s)?.[0].b"} {
			sources = append(sources, fmt.Sprintf(form, v))
		}
	}
	wrong := 0
	for _, source := range sources {
		found, blind := analyse(t, source, roots)
		p, err := Compile(source, names(roots)...)
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Evaluate(env)
		isWrong := false
		for _, d := range found.Doubts {
			isWrong = isWrong || !d.Warning
		}
		if isWrong {
			if wrong++; err == nil {
				t.Errorf("%s is called wrong, and does not fail: %v", source, found.Doubts)
			}
		}
		if isOfType(err) && len(found.Doubts) == 0 && !blind {
			t.Errorf("%s is called right, and fails: %v", source, err)
		}
	}
	if wrong < 100 {
		t.Errorf("only %d were called wrong", wrong)
	}
}

func TestNarrowing(t *testing.T) {
	customer := typing.NewObject().Set("note", typing.Of(typing.String|typing.Undefined)).Set("age", typing.Of(typing.Number|typing.String)).
		Set("address", typing.NewObject().Set("city", typing.Of(typing.String|typing.Null)).Type().Or(typing.Of(typing.Undefined))).Type()
	roots := []workflow.Root{{Name: "input", Type: customer}, {Name: "anything"}}
	for source, want := range map[string]int{
		"input.note.trim()":                                                      1,
		"input.note.trim() + input.note.trim()":                                  1, // each path once
		"input.note?.trim()":                                                     0,
		"input.note && input.note.trim()":                                        0,
		"!input.note || input.note.trim()":                                       0,
		"!input.note ? '' : input.note.trim()":                                   0,
		"input.note === undefined ? '' : input.note.trim()":                      0,
		"input.note != null && input.note.trim()":                                0,
		"input['note'] !== undefined && input.note.trim()":                       0,
		"input.note ?? input.note.trim()":                                        1,
		"input.note || input.note.trim()":                                        1,
		"input.address?.city === 'a' && input.address.city.length":               0,
		"input.address?.city?.startsWith('a') && input.address.city.length":      0,
		"input.address ? input.address.city.trim() : 0":                          1,
		"'note' in input && input.note.trim()":                                   0,
		"input.hasOwnProperty('note') && input.note.trim()":                      0,
		"typeof input.age === 'string' ? input.age.trim() : input.age.toFixed()": 0,
		"typeof input.age !== 'string' ? input.age.trim() : 0":                   1,
		"input.age.trim()":                                                       1,
		"[input.note].filter(Boolean).map(n => n.trim())":                        0,
		"[input].map(x => x.note && x.note.trim())":                              0,
		"[input].map(({ note }) => note && note.trim())":                         0,
		"[input].map(({ note = '' }) => note.trim())":                            0,
		"input.note && [1].map(input => input.note.trim())":                      2, // of another input
		"anything.a.b.c.trim()":                                                  0,
		"anything.a && anything.a.trim().b":                                      1, // what trim gives has no b
		"anything === undefined ? anything.a : 0":                                1,
	} {
		found, err := Limits{}.Analyse(source, roots, nil)
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		if len(found.Doubts) != want {
			t.Errorf("%s: %d doubts, not %d: %v", source, len(found.Doubts), want, found.Doubts)
		}
	}
}
