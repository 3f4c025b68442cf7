package run_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
)

// shownItem describes what a simulation shows of an item: how it ended, and what each of its nodes got and gave.
func shownItem(t *testing.T, item *run.ItemTrace) (lines []string) {
	t.Helper()
	if item == nil {
		return nil
	}
	inputs, err := item.Run.Inputs(item.Plan)
	if err != nil {
		t.Fatal(err)
	}
	lines = append(lines, string(item.Run.Status()))
	for _, n := range item.Run.Nodes() {
		output, _ := item.Run.Output(n.ID)
		lines = append(lines, fmt.Sprintf("%s %s: %s → %s", n.ID, n.Status, inputs[n.ID], output))
	}
	return lines
}

func TestASimulationShowsOneItem(t *testing.T) {
	p := plan(t, nodes(
		expr("first", "1000"), `each forEach {"items": "[1, 2, 3]", "onItemError": "continue"}`,
		expr("each/check", "item === 2 ? input.none.none : item * 10"), expr("each/sum", "input + nodes.first"),
		`each/inner forEach {"items": "[item, index]"}`, expr("inner/twice", "item * 2"),
	), edges("first -> each", "check -> sum", "sum -> inner"))
	for claim, c := range map[string]struct {
		shown []run.ItemPlace
		want  []string
	}{
		"none unless it is asked for": {nil, nil},
		"what its nodes got and gave, with what stands before the loop": {
			[]run.ItemPlace{{Node: "each", Index: 2}},
			[]string{"completed", "check completed: 3 → 30", "sum completed: 30 → 1030", `inner completed: 1030 → {"count":2,"failed":[],"results":[6,4]}`},
		},
		"one that fails":                                       {[]run.ItemPlace{{Node: "each", Index: 1}}, []string{"failed", "check failed: 2 → ", "sum pending:  → ", "inner pending:  → "}},
		"one in the body of another":                           {[]run.ItemPlace{{Node: "each", Index: 2}, {Node: "inner"}}, []string{"completed", "twice completed: 3 → 6"}},
		"none where there is no such item":                     {[]run.ItemPlace{{Node: "each", Index: 3}}, nil},
		"none in the body of an item that does not come to it": {[]run.ItemPlace{{Node: "each", Index: 1}, {Node: "inner"}}, nil},
	} {
		trace, err := run.Simulate(p, runID, start(`{}`), noon, run.Outside{Body: bodies(t), Shown: c.shown})
		if err != nil {
			t.Errorf("%s: %v", claim, err)
			continue
		}
		if diff := cmp.Diff(c.want, shownItem(t, trace.Item)); diff != "" {
			t.Errorf("%s: %s", claim, diff)
		}
		want := []run.SimulatedItems{{Node: "each", Count: 3, Items: []run.ItemOutcome{{1, run.StatusFailed}, {0, run.StatusCompleted}, {2, run.StatusCompleted}}}}
		if diff := cmp.Diff(want, trace.Loops); diff != "" {
			t.Errorf("%s: %s", claim, diff)
		}
	}
}

func TestItemsThatAFailureEndsAreCancelled(t *testing.T) {
	p := plan(t, nodes(`each forEach {"items": "[1, 2, 3]", "concurrency": 2}`, "each/ask call", "each/two call"), edges("ask -> two"))
	fails := run.Answer{Failure: &run.AttemptFailed{Code: "no"}, After: time.Second}
	later := run.Answer{Output: []byte("1"), After: time.Minute}
	for name, given := range map[string]answers{
		"one that would have ended later": {"ask": {later, fails}, "two": {later}},
		"one that waits for an answer":    {"ask": {{Output: []byte("1")}, fails}},
	} {
		t.Run(name, func(t *testing.T) {
			for shown, isShown := range []bool{false, true} { // the one that failed is
				trace, err := run.Simulate(p, runID, start(`{}`), noon, run.Outside{
					Body: bodies(t), Answers: given, Shown: []run.ItemPlace{{Node: "each", Index: shown}},
				})
				if err != nil {
					t.Fatal(err)
				}
				want := []run.SimulatedItems{{Node: "each", Count: 3, Items: []run.ItemOutcome{{1, run.StatusFailed}, {0, run.StatusCancelled}}}}
				if diff := cmp.Diff(want, trace.Loops); diff != "" {
					t.Error(diff)
				}
				if (trace.Item != nil) != isShown {
					t.Errorf("item %d is shown as %+v", shown, trace.Item)
				}
			}
		})
	}
}

func TestTheItemThatIsShownIsOfANodeThatExists(t *testing.T) {
	p := plan(t, nodes(`each forEach {"items": "[1]"}`, expr("each/one", "1")), nil)
	_, err := run.Simulate(p, runID, start(`{}`), noon, run.Outside{Body: bodies(t), Shown: []run.ItemPlace{{Node: "each"}, {Node: workflow.NodeID("none")}}})
	var failure *domain.Error
	if !errors.As(err, &failure) || failure.Code != "simulation_invalid" || failure.Violations[0].Field != "item[1].nodeId" {
		t.Errorf("it gave %v", err)
	}
}
