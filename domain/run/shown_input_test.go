package run_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
)

// joined is a run whose node z gets what several others gave, of the sizes.
func joined(t *testing.T, sizes ...int) (*run.Run, *run.Plan) {
	t.Helper()
	list, between := nodes("z call"), []string{}
	for i := range sizes {
		list = append(list, nodes(fmt.Sprintf("n%d call", i))...)
		between = append(between, fmt.Sprintf("n%d -> z.i%d", i, i))
	}
	list = append(list, nodes("alone call")...)
	p := run.NewPlan(version, workflow.RestoreGraph(list, edges(append(between, "n0 -> alone")...)), registry(t), expression.Compiler{})
	r := run.New(runID, start(`{"p": 1}`), noon)
	advance := func(f run.Fact) {
		if step, err := r.Advance(p, run.Event{At: noon, Fact: f}); err != nil || step.Refused != nil {
			t.Fatal(err, step.Refused)
		}
	}
	advance(run.Started{})
	for i, size := range sizes {
		advance(run.AttemptCompleted{Node: workflow.NodeID(fmt.Sprint("n", i)), Attempt: 1, Output: strings.Repeat("x", size-2)})
	}
	return r, p
}

func TestWhatFlowsIntoNodesIsShownWithinBounds(t *testing.T) {
	t.Parallel()
	r, p := joined(t, 100, 200)
	const merged = len(`{"i0":,"i1":}`) + 300
	for most, want := range map[int]run.InputOmitted{0: run.InputBusy, merged - 1: run.InputTooLarge, merged: "", 1 << 20: ""} {
		inputs, size, err := r.ShownInputs(p, most)
		if err != nil {
			t.Fatal(err)
		}
		z := inputs["z"]
		if z.Omitted != want || (len(z.Input) == merged) != (want == "") || size != len(z.Input) {
			t.Errorf("of at most %d bytes z is shown %d, omitted %q; all take %d", most, len(z.Input), z.Omitted, size)
		}
		whole, _, _ := r.Input(p, "z")
		if want == "" && string(z.Input) != string(whole) {
			t.Errorf("z got %s, and %s is shown", whole, z.Input)
		}
		output, _ := r.Output("n0")
		if alone := inputs["alone"]; &alone.Input[0] != &output[0] || string(inputs["n0"].Input) != `{"p": 1}` {
			t.Error("what is passed on is not shared")
		}
	}
	if diff := cmp.Diff(map[workflow.NodeID]run.ShownInput{
		"alone": {Omitted: run.InputBusy}, "n0": {Omitted: run.InputBusy}, "n1": {Omitted: run.InputBusy}, "z": {Omitted: run.InputBusy},
	}, r.OmitInputs(run.InputBusy)); diff != "" {
		t.Error(diff)
	}
}

// A few large outputs that many nodes put together are not read for ever, nor brought together
// without end.
func TestShowingInputsIsBounded(t *testing.T) {
	t.Parallel()
	list, between := nodes("a call", "b call"), []string{}
	for i := range 30 {
		list = append(list, nodes(fmt.Sprintf("m%d call", i))...)
		between = append(between, fmt.Sprintf("a -> m%d.a", i), fmt.Sprintf("b -> m%d.b", i))
	}
	list = append(list, nodes("many call")...)
	for i := range 40 {
		between = append(between, fmt.Sprintf("a -> many.a%d", i))
	}
	p := run.NewPlan(version, workflow.RestoreGraph(list, edges(between...)), registry(t), expression.Compiler{})
	r := run.New(runID, start(`{}`), noon)
	large := json.RawMessage(`"` + strings.Repeat("x", run.MaxOutput-2) + `"`)
	for _, f := range []run.Fact{run.Started{}, run.AttemptCompleted{Node: "a", Attempt: 1, Output: large}, run.AttemptCompleted{Node: "b", Attempt: 1, Output: large}} {
		if _, err := r.Advance(p, run.Event{At: noon, Fact: f}); err != nil {
			t.Fatal(err)
		}
	}
	for r.More() {
		if _, err := r.Advance(p, run.Event{At: noon, Fact: run.TimeReached{}}); err != nil {
			t.Fatal(err)
		}
	}
	inputs, size, err := r.ShownInputs(p, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	counted := map[run.InputOmitted]int{}
	for _, in := range inputs {
		counted[in.Omitted]++
	}
	if inputs["many"].Omitted != run.InputTooLarge || counted[run.InputTooCostly] < 5 || counted[""] < 5 || size > 64<<20 {
		t.Errorf("shown are %d bytes: %v, many %q", size, counted, inputs["many"].Omitted)
	}
}
