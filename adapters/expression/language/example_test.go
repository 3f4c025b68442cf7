package language_test

import (
	"fmt"
	"time"

	"github.com/sluicehq/sluice/adapters/expression/language"
	"github.com/sluicehq/sluice/domain/run"
)

func ExampleCompile() {
	condition, err := language.Compile(`input.amount > 100 && payload.kind === "a"`, "input", "payload")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(condition.Evaluate(run.Env{Values: map[string]any{
		"input":   map[string]any{"amount": 120.5},
		"payload": map[string]any{"kind": "a"},
	}}))
	// Output: true <nil>
}

func ExampleCompile_problems() {
	_, err := language.Compile("inputs.amount = 100", "input")
	fmt.Println(err)
	_, err = language.Compile("input.list.filter(x => { return x })", "input")
	fmt.Println(err)
	// Output:
	// line 1, column 1: an assignment is not permitted; compare with ===
	// line 1, column 24: the body of an arrow function must be one expression; put an object literal in parentheses: x => ({ … })
}

func ExampleProgram_Evaluate() {
	program, err := language.Compile("{ total: input.items.reduce((sum, { price, count }) => sum + price * count, 0), at: now() }", "input")
	if err != nil {
		fmt.Println(err)
		return
	}
	env := run.Env{Now: time.UnixMilli(1_700_000_000_000), Values: map[string]any{
		"input": map[string]any{"items": []any{
			map[string]any{"price": 2.5, "count": 2.0},
			map[string]any{"price": 10.0, "count": 1.0},
		}},
	}}
	fmt.Println(program.Evaluate(env))

	_, err = program.Evaluate(run.Env{Values: map[string]any{"input": map[string]any{}}})
	fmt.Println(err)
	// Output:
	// map[at:1.7e+12 total:15] <nil>
	// line 1, column 22: input.items is undefined; cannot call "reduce"; write ?. before it where it may be missing
}

func ExampleLimits_Compile() {
	program, err := language.Limits{Memory: 1 << 10}.Compile(`"x".repeat(1e9)`)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = program.Evaluate(run.Env{})
	fmt.Println(err)
	// Output: line 1, column 5: must be done within 1024 bytes of memory; build less text and fewer values
}
