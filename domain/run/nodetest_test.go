package run_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
)

// tested lets a node begin, and says what it wants to be executed.
func tested(t *testing.T, g workflow.Graph, of workflow.NodeID, c run.NodeTestCall) (run.NodeTest, *run.Plan, []run.Execute) {
	t.Helper()
	test := run.NewNodeTest(runID, start(""), g, of, c, noon)
	p := run.NewPlan(version, test.Graph, registry(t), expression.Compiler{})
	step, err := test.Run.Advance(p, run.Event{At: noon, Fact: run.TimeReached{}})
	if err != nil {
		t.Fatal(err)
	}
	return test, p, step.Execute
}

func outputsOf(pairs ...string) map[workflow.NodeID]json.RawMessage {
	outputs := map[workflow.NodeID]json.RawMessage{}
	for i := 0; i < len(pairs); i += 2 {
		outputs[workflow.NodeID(pairs[i])] = json.RawMessage(pairs[i+1])
	}
	return outputs
}

func TestATestedNodeGetsWhatTheCallHas(t *testing.T) {
	t.Parallel()
	see := `[input, payload, nodes, nodes.far]`
	g := workflow.RestoreGraph(nodes("far call", "cond condition "+`{"condition": "true"}`, "near call", expr("z", see), "after call"),
		edges("far -> near", "cond.true -> z", "near.body -> z.got", "z -> after", "far -> cond"))
	for claim, c := range map[string]struct {
		call run.NodeTestCall
		want string
	}{
		"its input":                       {run.NodeTestCall{Input: json.RawMessage(`{"a":1}`)}, `[{"a":1},{},{"input":{"a":1}},null]`},
		"an input that is null":           {run.NodeTestCall{Input: json.RawMessage(`null`), Payload: json.RawMessage(`7`)}, `[null,7,{"input":null},null]`},
		"the payload where nothing leads": {run.NodeTestCall{Payload: json.RawMessage(`7`)}, `[7,7,{"input":7},null]`},
		"the payload next to what is far": {run.NodeTestCall{Nodes: outputsOf("far", `"f"`)}, `[{},{},{"far":"f","input":{}},"f"]`},
		"what comes along the edges":      {run.NodeTestCall{Nodes: outputsOf("near", `{"body":5}`, "cond", `{"c":1}`)}, `[{"c":1,"got":5},{},{"cond":{"c":1},"near":{"body":5}},null]`},
		"with what is far":                {run.NodeTestCall{Nodes: outputsOf("near", `{"body":5}`, "far", `2`)}, `[{"got":5},{},{"far":2,"near":{"body":5}},2]`},
		"nothing of what comes after":     {run.NodeTestCall{Input: json.RawMessage(`1`), Nodes: outputsOf("after", `1`, "z", `2`)}, `[1,{},{"input":1},null]`},
		"an input, whatever others bring": {run.NodeTestCall{Input: json.RawMessage(`1`), Nodes: outputsOf("near", `{"body":5}`)}, `[1,{},{"input":1,"near":{"body":5}},null]`},
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			test, p, _ := tested(t, g, "z", c.call)
			if got, _ := test.Run.Output("z"); string(got) != c.want || test.Node().Status != run.NodeCompleted || !test.Run.Status().Finished() {
				t.Errorf("it gave %s, not %s; %+v", got, c.want, test.Node())
			}
			inputs, _, err := test.Run.ShownInputs(p, run.MaxOutput)
			if want := c.want[1:strings.Index(c.want, ",{\"")]; err != nil || !strings.HasPrefix(want+",", string(inputs["z"].Input)+",") {
				t.Errorf("its input is shown as %s: %v", inputs["z"].Input, err)
			}
		})
	}
}

// A node is executed once whatever its retry policy says, and nothing follows it.
func TestATestedNodeIsExecutedOnce(t *testing.T) {
	t.Parallel()
	list := nodes("before call", `get httpRequest {"url": "https://example.com/{{ input.id }}"}`, "after call", "failed call")
	list[1].Retry = &workflow.RetryPolicy{MaxRetries: 5}
	g := workflow.RestoreGraph(list, edges("before -> get", "get -> after", "get.onError -> failed"))
	for claim, c := range map[string]struct {
		fact run.Fact
		want string
	}{
		"an output":            {run.AttemptCompleted{Node: "get", Attempt: 1, Output: json.RawMessage(`{"status":200}`), Log: []string{"x"}}, `completed {"status":200} `},
		"a failure":            {run.AttemptFailed{Node: "get", Attempt: 1, Code: "http_503", Message: "down", Retryable: true}, "failed  http_503"},
		"an output of no kind": {run.AttemptCompleted{Node: "get", Attempt: 1, Output: json.RawMessage(`"` + strings.Repeat("x", run.MaxAnswer) + `"`)}, "failed  output_too_large"},
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			test, p, wanted := tested(t, g, "get", run.NodeTestCall{Nodes: outputsOf("before", `{"id":"a"}`)})
			if len(wanted) != 1 || wanted[0].Config["url"] != "https://example.com/a" || wanted[0].Attempt != 1 || test.Node().Status != run.NodeRunning {
				t.Fatalf("it wants %+v", wanted)
			}
			step, err := test.Run.Advance(p, run.Event{At: noon, Fact: c.fact})
			if err != nil || len(step.Execute) > 0 || !test.Run.Status().Finished() {
				t.Fatalf("then it wants %+v, %v", step.Execute, err)
			}
			output, _ := test.Run.Output("get")
			n, code := test.Node(), ""
			if n.Failure != nil {
				code = n.Failure.Code
			}
			if got := fmt.Sprintf("%s %s %s", n.Status, output, code); got != c.want {
				t.Errorf("it is %s, not %s", got, c.want)
			}
		})
	}
}

func TestWhatOnlyWaitsIsNotTested(t *testing.T) {
	t.Parallel()
	for _, line := range []string{`a wait {"delayMs": 1}`, "a input", `a waitForEvent {"event": "paid"}`, `a callWorkflow {"workflowId": "wf_1"}`} {
		var refused *domain.Error
		if err := run.CheckTestable(nodes(line)[0], registry(t)); !errors.As(err, &refused) || refused.Code != "node_not_testable" || refused.Kind != domain.Invalid {
			t.Errorf("%s: %v", line, err)
		}
	}
	for _, line := range []string{"a call", "a approve", "a httpRequest", "a transform", "a condition", "a switch", "a code", "a return", "a trigger_webhook", "a unknown"} {
		if err := run.CheckTestable(nodes(line)[0], registry(t)); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestACallOfATestNamesNodesOfTheVersion(t *testing.T) {
	t.Parallel()
	g := workflow.RestoreGraph(nodes("a call"), nil)
	err := run.NodeTestCall{
		Input: json.RawMessage(`{`), Payload: json.RawMessage("\"\xff\""), Nodes: outputsOf("a", `1`, "b", `1`, "c", `[`),
		Malformed: []domain.Violation{{Field: "x", Code: domain.WrongType}},
	}.Check(g)
	var refused *domain.Error
	if !errors.As(err, &refused) || refused.Code != "call_invalid" {
		t.Fatal(err)
	}
	var got []string
	for _, v := range refused.Violations {
		got = append(got, v.Field+" "+string(v.Code))
	}
	if diff := cmp.Diff([]string{"x wrong_type", "input bad_format", "payload bad_format", "nodes.b unknown", "nodes.c bad_format"}, got); diff != "" {
		t.Error(diff)
	}
}
