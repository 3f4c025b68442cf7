package run_test

import (
	"fmt"

	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
)

// A run is made, begun, and told what came of the attempt it asks for.
func ExampleRun_Advance() {
	graph := workflow.RestoreGraph(
		nodes(`get httpRequest {"url": "https://example.com/orders/{{ payload.order }}"}`, `total transform {"expression": "input.lines.length"}`),
		edges("get.body -> total"),
	)
	types := node.RegistryFor(owner, tenant.English, nil, nil)
	p := run.NewPlan(version, graph, types, expression.Compiler{})

	r := run.New(runID, start(`{"order": 7}`), noon)
	step, err := r.Advance(p, run.Event{At: noon, Fact: run.Started{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	call := step.Execute[0]
	fmt.Println(r.Status(), call.Node, call.Config["method"], call.Config["url"])

	answer := map[string]any{"status": 200, "body": map[string]any{"lines": []any{"a", "b"}}}
	step, err = r.Advance(p, run.Event{At: noon, Fact: run.AttemptCompleted{Node: call.Node, Attempt: call.Attempt, Output: answer}})
	if err != nil {
		fmt.Println(err)
		return
	}
	total, _ := r.Output("total")
	fmt.Println(r.Status(), step.Finished, string(total))
	// Output:
	// running get GET https://example.com/orders/7
	// completed true 2
}
