package run_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
)

func codeNode(id, source string) string {
	text, _ := json.Marshal(source)
	return id + ` code {"source": ` + string(text) + `}`
}

func TestCodeGetsWhatItNamesAndNothingElse(t *testing.T) {
	n := nodes(expr("a", "payload.n + 1"), codeNode("b", "return input + nodes.a"), codeNode("c", "return [payload.n, run.id]"), codeNode("d", "return 1"))
	p := plan(t, n, edges("a -> b"))
	w := begin(t, p, start(`{"n": 1}`))
	got := map[workflow.NodeID]any{}
	for _, e := range w.open {
		if !e.Computes || e.IdempotencyKey != string(runID)+":"+string(e.Node) || !e.ReachedAt.Equal(noon) || e.Timeout != time.Second || e.Config["memoryMb"] == nil {
			t.Errorf("%+v", e)
		}
		text, err := json.Marshal(e.Input)
		if err != nil {
			t.Fatal(err)
		}
		got[e.Node] = string(text)
	}
	want := map[workflow.NodeID]any{"b": `{"input":2,"nodes":{"a":2}}`, "d": `{}`}
	if c, _ := got["c"].(string); len(c) < 20 {
		t.Errorf("c gets %s", c)
	}
	delete(got, "c")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheLogOfAnAttemptIsKeptWithWhatBecameOfIt(t *testing.T) {
	w := begin(t, plan(t, nodes(codeNode("a", "return 1"), codeNode("b", "return 2")), edges("a -> b")), start(`{}`))
	w.does(run.AttemptFailed{Node: "a", Attempt: 1, Code: "code_crashed", Message: "It ended.", Retryable: true, Log: []string{"first"}})
	if diff := cmp.Diff(map[workflow.NodeID][]string{"a": {"first"}}, w.run.Logs(w.history)); diff != "" {
		t.Error(diff)
	}
	w.wakes()
	w.does(run.AttemptCompleted{Node: "a", Attempt: 2, Output: 1.0, Log: []string{"second", "line"}})
	w.does(run.AttemptCompleted{Node: "b", Attempt: 1, Output: 2.0})
	var got []string
	for _, e := range w.history {
		if len(e.Log) > 0 {
			got = append(got, fmt.Sprint(e.Type, " ", e.Node, " ", e.Attempt, " ", e.Log))
		}
	}
	if diff := cmp.Diff([]string{"node.retrying a 1 [first]", "node.completed a 2 [second line]"}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[workflow.NodeID][]string{"a": {"second", "line"}}, w.run.Logs(w.history)); diff != "" || !w.run.Logged() {
		t.Error(diff)
	}
}

func TestASimulationRunsCodeWhereNobodyAnswersForIt(t *testing.T) {
	p := plan(t, nodes(codeNode("a", "return 1"), codeNode("b", "return 2"), expr("c", "[nodes.a, nodes.b]")), edges("a -> b", "b -> c"))
	computed := func(e run.Execute, taken int64) (run.Fact, error) {
		if taken < e.Weight {
			t.Errorf("%s: %d bytes are taken, and its input has %d", e.Node, taken, e.Weight)
		}
		return run.AttemptCompleted{Node: e.Node, Attempt: e.Attempt, Output: string(e.Node), Log: []string{"here"}}, nil
	}
	trace, err := run.Simulate(p, runID, start(`{}`), noon, run.Outside{Answers: answers{"b": {output(`"given"`)}}, Compute: computed})
	if err != nil {
		t.Fatal(err)
	}
	c, _ := trace.Run.Output("c")
	if string(c) != `["a","given"]` || len(trace.Effects) != 0 || len(trace.Open) != 0 {
		t.Errorf("c gave %s, effects are %v, open is %v", c, trace.Effects, trace.Open)
	}
	if diff := cmp.Diff(map[workflow.NodeID][]string{"a": {"here"}}, trace.Run.Logs(trace.History)); diff != "" {
		t.Error(diff)
	}
	if trace, err = run.Simulate(p, runID, start(`{}`), noon, run.Outside{}); err != nil || !cmp.Equal(trace.Open, []workflow.NodeID{"a"}) {
		t.Errorf("without anybody who computes, open is %v, %v", trace.Open, err)
	}
	broken := errors.New("there is no process")
	if _, err = run.Simulate(p, runID, start(`{}`), noon, run.Outside{Compute: func(run.Execute, int64) (run.Fact, error) { return nil, broken }}); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	failing := func(e run.Execute, _ int64) (run.Fact, error) {
		return run.AttemptFailed{Node: e.Node, Attempt: e.Attempt, Code: "code_crashed", Retryable: true}, nil
	}
	if trace, err = run.Simulate(p, runID, start(`{}`), noon, run.Outside{Compute: failing}); err != nil || trace.Run.Failure() == nil || trace.Run.Failure().Code != "code_crashed" {
		t.Errorf("failing code: %v, %v", trace.Run, err)
	}
}
