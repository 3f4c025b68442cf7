package run_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
)

type answers = map[workflow.NodeID][]run.Answer

func output(text string) run.Answer { return run.Answer{Output: json.RawMessage(text)} }

func TestASimulationRunsOnAVirtualClock(t *testing.T) {
	p := plan(t, nodes(
		`get httpRequest {"url": "https://example.com/"}`, `post httpRequest {"url": "https://example.com/", "method": "POST"}`,
		`wait wait {"delayMs": 3600000}`, `ask input {"inputType": "number"}`, `late input {"timeoutMs": 60000}`, expr("z", "input"), `approve approve`,
	), edges("get -> wait", "wait -> ask", "ask.value -> z.answer", "late.onError -> z.late", "post -> approve"))
	trace, err := run.Simulate(p, runID, start(`{}`), noon, run.Outside{Answers: answers{
		"get": {{Failure: &run.AttemptFailed{Code: "http_503", Retryable: true}, After: time.Second}, {Output: json.RawMessage(`"body"`), After: time.Second}},
		"ask": {{Output: json.RawMessage(`5`), After: time.Minute}}, "post": {output(`1`)},
		"approve": {{Pause: &run.AttemptPaused{}}, output(`true`)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range trace.History {
		got = append(got, fmt.Sprintf("%v %s %s", e.At.Sub(noon).Truncate(time.Second), e.Type, e.Node))
	}
	want := []string{
		"0s run.started ", "0s node.started get", "0s node.started post", "0s node.waiting late",
		"0s node.completed post", "0s node.started approve", "0s node.waiting approve", "0s node.completed approve",
		"1s node.retrying get", "1s node.started get", "2s node.completed get", "2s node.waiting wait", "2s run.paused ",
		"1m0s run.resumed ", "1m0s node.failed late", "1m0s run.paused ",
		"1h0m2s run.resumed ", "1h0m2s node.completed wait", "1h0m2s node.waiting ask", "1h0m2s run.paused ",
		"1h1m2s run.resumed ", "1h1m2s node.completed ask", "1h1m2s node.completed z", "1h1m2s run.completed ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var effects []string
	for _, e := range trace.Effects {
		effects = append(effects, fmt.Sprint(e.Node, e.Attempt, e.MayRepeat))
	}
	if diff := cmp.Diff([]string{"get1 false", "post1 true", "approve1 true", "get2 false"}, effects); diff != "" {
		t.Error(diff)
	}
	z, _ := trace.Run.Output("z")
	if trace.Run.Status() != run.StatusCompleted || len(trace.Open) != 0 || bare(z) != `{"answer":5,"late":{"error":"expired"}}` {
		t.Errorf("the run is %s, open is %v, z gave %s", trace.Run.Status(), trace.Open, z)
	}
}

func TestASimulationEndsWhereAnAnswerIsMissing(t *testing.T) {
	p := plan(t, nodes("a call", "ask input", "b call", `w wait {"delayMs": 1000}`), edges("ask -> b"))
	trace, err := run.Simulate(p, runID, start(`{}`), noon, run.Outside{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]workflow.NodeID{"a", "ask"}, trace.Open); diff != "" || trace.Run.Status() != run.StatusRunning {
		t.Errorf("the run is %s with %s", trace.Run.Status(), diff)
	}
	if _, over := trace.Run.Output("w"); !over {
		t.Error("time does not pass for a node that waits for nothing else")
	}
	trace, err = run.Simulate(p, runID, start(`{}`), noon, run.Outside{Answers: answers{"a": {{After: time.Hour}}}})
	if err != nil {
		t.Fatal(err)
	}
	if f := trace.Run.Failure(); f == nil || f.Code != "timeout" || len(trace.Open) != 0 {
		t.Errorf("a run whose time is over is %s with %+v, open is %v", trace.Run.Status(), f, trace.Open)
	}
}

func TestASimulationRefusesWhatDoesNotFit(t *testing.T) {
	p := plan(t, nodes(`ask input {"inputType": "number"}`, "a call", "approve approve", `get httpRequest {"url": "https://x.test/"}`), nil)
	for want, given := range map[string]answers{
		`answers.other[0] must be for a node of this version; there is no "other"`:                                                  {"other": {output(`1`)}},
		`answers.ask[0] must not be an error: the node waits for an output, and fails only when its time is over without an answer`: {"ask": {{Failure: &run.AttemptFailed{}}}},
		`answers.approve[1] must not be a pause: the node waits already, for an output`:                                             {"approve": {{Pause: &run.AttemptPaused{}}, {Pause: &run.AttemptPaused{}}}},
		`answers.get[0] must not be a pause: only custom nodes ask for one`:                                                         {"get": {{Pause: &run.AttemptPaused{}}}},
		`answers.ask[0] does not fit what the node waits for: input must be a number, not a string`:                                 {"ask": {output(`"x"`)}},
	} {
		_, err := run.Simulate(p, runID, start(`{}`), noon, run.Outside{Answers: given})
		var e *domain.Error
		if !errors.As(err, &e) || e.Code != "simulation_invalid" || e.Violations[0].String() != want {
			t.Errorf("it is refused with %v, not %s", err, want)
		}
	}
}

func TestAnAttemptInASimulationTakesItsTimeFromItsStart(t *testing.T) {
	p := plan(t, nodes("slow call", "quick call", "next call"), edges("quick -> next"))
	trace, err := run.Simulate(p, runID, start(`{}`), noon, run.Outside{Answers: answers{
		"slow": {{After: 10 * time.Second}}, "quick": {{After: 4 * time.Second}}, "next": {{After: 5 * time.Second}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []time.Duration{10 * time.Second, 4 * time.Second, 9 * time.Second} {
		if n := trace.Run.Nodes()[i]; n.FinishedAt == nil || n.FinishedAt.Sub(noon) != want {
			t.Errorf("%s finished at %v, not after %v", n.ID, n.FinishedAt, want)
		}
	}
}

func TestWhatFlowsThroughASimulationIsBounded(t *testing.T) {
	var all []string
	for i := range 65 { // each gets the payload by itself
		all = append(all, expr(fmt.Sprint("n", i), "1"))
	}
	p := plan(t, nodes(all...), nil)
	for size, want := range map[int]error{100: nil, 1 << 20: run.SimulationTooLarge()} {
		payload, err := json.Marshal(strings.Repeat("x", size))
		if err != nil {
			t.Fatal(err)
		}
		trace, err := run.Simulate(p, runID, start(string(payload)), noon, run.Outside{})
		if err != nil {
			t.Fatal(err)
		}
		inputs, err := trace.Run.Inputs(p)
		if fmt.Sprint(err) != fmt.Sprint(want) || (err == nil) != (len(inputs) == 65) {
			t.Errorf("with %d bytes: %d inputs, %v", size, len(inputs), err)
		}
	}
}

// What a version keeps as sample data is all that a node gives, unless the call says otherwise.
func TestASimulationTakesWhatIsPinned(t *testing.T) {
	p := plan(t, nodes("get call", "ask input", `event waitForEvent {"event": "paid"}`, expr("z", "nodes")), edges("get -> ask", "ask -> event", "event -> z"))
	pinned := map[workflow.NodeID]json.RawMessage{
		"get": json.RawMessage(`{"from":"pins"}`), "ask": json.RawMessage(`{"value":"yes"}`), "event": json.RawMessage(`{"event":"paid","eventData":{"amount":5}}`),
		"z": json.RawMessage(`"computed anyway"`),
	}
	simulate := func(c run.SimulationCall) (*run.Run, error) {
		trace, err := run.Simulate(p, runID, start(`{}`), noon, run.Outside{Answers: c.AnswersOr(maps.All(pinned))})
		return trace.Run, err
	}
	for _, c := range []struct {
		answers answers
		want    string
	}{
		{nil, `{"ask":{"value":"yes"},"event":{"event":"paid","eventData":{"amount":5}},"get":{"from":"pins"}}`},
		{answers{"get": {output(`1`)}, "event": {output(`{"eventData":2}`)}}, `{"ask":{"value":"yes"},"event":{"event":"paid","eventData":{"eventData":2}},"get":1}`},
	} {
		r, err := simulate(run.SimulationCall{Answers: c.answers})
		if err != nil {
			t.Fatal(err)
		}
		if z, _ := r.Output("z"); string(z) != c.want {
			t.Errorf("z gave %s, not %s", z, c.want)
		}
	}
	pinned["ask"] = json.RawMessage(`{"value":5}`)
	_, err := simulate(run.SimulationCall{})
	var invalid *domain.Error
	if !errors.As(err, &invalid) || invalid.Code != "simulation_invalid" || invalid.Violations[0].Field != "pins.ask" {
		t.Errorf("sample data that does not fit: %v", err)
	}
}
