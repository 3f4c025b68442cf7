package run_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
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
	p := run.NewBodyPlan(version, test.Graph, test.Run.Source().Loop, registry(t), expression.Compiler{})
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
			if got, _ := test.Run.Output("z"); string(got) != c.want || stateOf(test.Run, "z").Status != run.NodeCompleted || !test.Run.Status().Finished() {
				t.Errorf("it gave %s, not %s; %+v", got, c.want, stateOf(test.Run, "z"))
			}
			inputs, _, err := test.Run.ShownInputs(p, run.MaxOutput)
			if want := c.want[1:strings.Index(c.want, ",{\"")]; err != nil || !strings.HasPrefix(want+",", string(inputs["z"].Input)+",") {
				t.Errorf("its input is shown as %s: %v", inputs["z"].Input, err)
			}
		})
	}
}

// inBodies is a graph with a body, and one in it.
func inBodies() workflow.Graph {
	sees := func(names string) string { return "[input, item, index, payload, " + names + "]" }
	return workflow.RestoreGraph(nodes(
		"far call", "beside call", `each forEach {"items": "[7, payload]"}`,
		"each/first call", expr("each/low", sees("nodes.far, nodes.first, nodes.beside")), expr("each/root", sees("nodes.far, nodes.first")), "each/late call",
		`each/deep forEach {"items": "[item, 'inner']"}`, expr("deep/lowest", sees("nodes.far, nodes.first, nodes.low, nodes.late")), "deep/last call",
	), edges("far -> each", "first -> low", "low -> deep", "lowest -> last"))
}

func TestATestedNodeOfABodyGetsAnItem(t *testing.T) {
	t.Parallel()
	for claim, c := range map[string]struct {
		of   workflow.NodeID
		call run.NodeTestCall
		want string
	}{
		"which flows into it":              {"root", run.NodeTestCall{Item: json.RawMessage(`{"a":1}`), Index: new(7)}, `[{"a":1},{"a":1},7,{},null,null]`},
		"or null, the first":               {"root", run.NodeTestCall{Payload: json.RawMessage(`5`)}, `[null,null,0,5,null,null]`},
		"next to an input of its own":      {"root", run.NodeTestCall{Input: json.RawMessage(`2`), Item: json.RawMessage(`1`)}, `[2,1,0,{},null,null]`},
		"and what comes along an edge":     {"low", run.NodeTestCall{Item: json.RawMessage(`1`), Nodes: outputsOf("first", `"f"`)}, `["f",1,0,{},null,"f",null]`},
		"and what leads to its body":       {"low", run.NodeTestCall{Item: json.RawMessage(`1`), Nodes: outputsOf("far", `"o"`, "beside", `"b"`)}, `[1,1,0,{},"o",null,null]`},
		"of the innermost body":            {"lowest", run.NodeTestCall{Item: json.RawMessage(`1`), Index: new(9999)}, `[1,1,9999,{},null,null,null,null]`},
		"with what leads to all around it": {"lowest", run.NodeTestCall{Nodes: outputsOf("far", `1`, "first", `2`, "low", `3`, "late", `4`, "last", `5`, "deep", `6`, "each", `7`)}, `[null,null,0,{},1,2,3,null]`},
	} {
		test, p, _ := tested(t, inBodies(), c.of, c.call)
		if got, _ := test.Run.Output(c.of); string(got) != c.want || stateOf(test.Run, c.of).Status != run.NodeCompleted || !test.Run.Status().Finished() {
			t.Errorf("%s: it gave %s, not %s; %+v", claim, got, c.want, stateOf(test.Run, c.of))
		}
		if inputs, _, err := test.Run.ShownInputs(p, run.MaxOutput); err != nil || !strings.HasPrefix(c.want, "["+string(inputs[c.of].Input)+",") {
			t.Errorf("%s: its input is shown as %s: %v", claim, inputs[c.of].Input, err)
		}
	}
}

// A node of a body gives the same when it is run, simulated and tested with what is pinned.
func TestATestOfANodeInABodyAgreesWithRunsAndSimulations(t *testing.T) {
	t.Parallel()
	const sees = "[input, item, index, payload, nodes.far, nodes.first]"
	g := workflow.RestoreGraph(nodes("far call", `each forEach {"items": "payload"}`, "each/first call", expr("each/low", sees),
		`each/deep forEach {"items": "[item, input]"}`, expr("deep/lowest", sees+".concat(nodes.low)")), edges("far -> each", "first -> low", "low -> deep"))
	pins := outputsOf("far", `"far"`, "first", `{"of":"first"}`)
	pinned := answers{"far": {{Output: pins["far"], Pinned: true}}, "first": {{Output: pins["first"], Pinned: true}}}
	whole := run.NewPlan(version, g, registry(t), expression.Compiler{})
	trace, err := run.Simulate(whole, runID, start(`["a", "b"]`), noon, run.Outside{Answers: pinned, Body: bodies(t)})
	if err != nil {
		t.Fatal(err)
	}
	simulated, _ := trace.Run.Output("each")
	var lowest []string
	for i := range 2 {
		each := itemOf(t, begin(t, whole, start(`["a", "b"]`)).succeeds("far", `"far"`), g, i).succeeds("first", `{"of":"first"}`)
		given := run.NodeTestCall{Payload: json.RawMessage(`["a", "b"]`), Nodes: pins, Item: json.RawMessage([]string{`"a"`, `"b"`}[i]), Index: &i}
		test, _, _ := tested(t, g, "low", given)
		if got, _ := test.Run.Output("low"); string(got) != each.output("low") {
			t.Errorf("a test of low gives %s, a run %s", got, each.output("low"))
		}
		given.Nodes = maps.Clone(pins)
		given.Nodes["low"] = json.RawMessage(each.output("low"))
		for j, item := range each.last.Loops[0].Items {
			given.Item, given.Index = item, &j
			test, _, _ := tested(t, g, "lowest", given)
			got, _ := test.Run.Output("lowest")
			if ran := itemOf(t, each, g, j).output("lowest"); string(got) != ran {
				t.Errorf("a test of lowest gives %s, a run %s", got, ran)
			}
			lowest = append(lowest, string(got))
		}
	}
	const loop = `{"count":2,"failed":[],"results":[%s,%s]}`
	want := fmt.Sprintf(loop, fmt.Sprintf(loop, lowest[0], lowest[1]), fmt.Sprintf(loop, lowest[2], lowest[3]))
	if string(simulated) != want {
		t.Errorf("simulated is %s, tested %s", simulated, want)
	}
}

// itemOf begins the run of an item of the node that has begun to run its body.
func itemOf(t *testing.T, of *harness, g workflow.Graph, index int) *harness {
	t.Helper()
	began := of.last.Loops[0]
	item := of.run.Item(began.Node, run.ID(fmt.Sprint("run_", began.Node, index)), index, of.now).WithGiven(began.Items[index], began.Outer)
	w := &harness{
		t: t, plan: run.NewBodyPlan(version, g, began.Node, registry(t), expression.Compiler{}), run: item, now: of.now,
		open: map[workflow.NodeID]run.Execute{}, tokens: map[workflow.NodeID]string{},
	}
	return w.does(run.Started{})
}

func TestAnItemIsForANodeOfABody(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		of   workflow.NodeID
		call run.NodeTestCall
	}{
		"item: not_allowed, index: not_allowed": {"far", run.NodeTestCall{Item: json.RawMessage(`null`), Index: new(0)}},
		"item: bad_format":                      {"low", run.NodeTestCall{Item: json.RawMessage(`[`), Index: new(0)}},
		"index: too_small":                      {"low", run.NodeTestCall{Index: new(-1)}},
		"index: too_large":                      {"lowest", run.NodeTestCall{Item: json.RawMessage(`1`), Index: new(run.MaxItems)}},
		"":                                      {"lowest", run.NodeTestCall{Item: json.RawMessage(`1`), Index: new(run.MaxItems - 1)}},
	} {
		if got := strings.Join(violations(t, c.call.Check(inBodies(), c.of)), ", "); got != want {
			t.Errorf("%q, not %q", got, want)
		}
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
			if len(wanted) != 1 || wanted[0].Config["url"] != "https://example.com/a" || wanted[0].Attempt != 1 || stateOf(test.Run, "get").Status != run.NodeRunning {
				t.Fatalf("it wants %+v", wanted)
			}
			step, err := test.Run.Advance(p, run.Event{At: noon, Fact: c.fact})
			if err != nil || len(step.Execute) > 0 || !test.Run.Status().Finished() {
				t.Fatalf("then it wants %+v, %v", step.Execute, err)
			}
			output, _ := test.Run.Output("get")
			n, code := stateOf(test.Run, "get"), ""
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
	}.Check(g, "a")
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

// stateOf is what has become of a node.
func stateOf(r *run.Run, of workflow.NodeID) run.NodeState {
	nodes := r.Nodes()
	return nodes[slices.IndexFunc(nodes, func(n run.NodeState) bool { return n.ID == of })]
}
