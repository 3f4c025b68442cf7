package run_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
)

// anHourOn is true from an hour after noon on, and cannot be computed before.
var anHourOn = fmt.Sprintf("now() >= %d || result.none.none", noon.Add(time.Hour).UnixMilli())

// entries renders a history: "type node edge".
func entries(history []run.Entry) []string {
	lines := make([]string, len(history))
	for i, e := range history {
		lines[i] = fmt.Sprintf("%s %s %s", e.Type, e.Node, e.Edge)
	}
	return lines
}

func TestAnEdgeThatCannotBeDecidedFailsTheRunAndNotItsNode(t *testing.T) {
	p := plan(t, nodes("charge call", "slow call", expr("b", "1"), expr("c", "1"), "refund call"),
		edges("charge -> b", "charge -> c result.none.none", "charge -> b.x result.gone.x > 1", "charge.onError -> refund"))
	w := begin(t, p, start(`{}`)).succeeds("charge", `{"id": 7}`)
	w.want(run.StatusFailed, "charge=completed slow=cancelled b=pending c=pending refund=pending")
	want := &run.Failure{
		Code: "edge_condition_failed", Node: "charge", Edge: "edge_1",
		Message: `The condition of edge edge_1 (charge -> c) cannot be computed: edges[1].condition: line 1, column 13: result.none is undefined; cannot read "none"; write ?. before it where it may be missing`,
	}
	if diff := cmp.Diff(want, w.run.Failure()); diff != "" {
		t.Error(diff)
	}
	if n := w.run.Nodes()[0]; !cmp.Equal(n.Undecided, []workflow.EdgeID{"edge_1", "edge_2"}) || !cmp.Equal(n.Dead, []int{0, 1, 2, 3}) || n.Failure != nil {
		t.Errorf("the node is %+v", n)
	}
	if got := w.output("charge"); got != `{"id":7}` {
		t.Errorf("the charge gave %s", got)
	}
	told := []run.DomainEvent{{Type: run.RunStarted, At: noon, Seq: 1}, {Type: run.RunFailed, At: noon, Seq: w.run.Seq(), Failure: want}}
	if diff := cmp.Diff(told, w.told); diff != "" {
		t.Error(diff)
	}
	lines := []string{
		"run.started  ", "node.started charge ", "node.started slow ", "node.completed charge ", "edge.failed charge edge_1", "edge.failed charge edge_2",
		"node.cancelled slow ", "run.failed charge edge_1",
	}
	if diff := cmp.Diff(lines, entries(w.history)); diff != "" {
		t.Error(diff)
	}
	if first, last := w.history[4], w.history[7]; first.Code != want.Code || first.Message != want.Message || last.Code != want.Code || last.Message != want.Message {
		t.Errorf("the history says %+v and %+v", first, last)
	}
	if data := w.data(); !cmp.Equal(w.run.Executed(), []workflow.NodeID{"charge"}) || data != `input={} charge={"id":7}` {
		t.Errorf("the context has %s", data)
	}
}

func TestARetryDecidesTheEdgeAgainAndDoesNotCallTheNode(t *testing.T) {
	p := plan(t, nodes("charge call", "slow call", expr("b", "nodes.charge.id"), expr("c", "1"), expr("join", "input")),
		edges("charge -> b "+anHourOn, "charge -> c false", "slow -> join", "b -> join.b", "c -> join.c"))
	w := begin(t, p, start(`{}`)).succeeds("charge", `{"id": 7}`).after(time.Minute)
	w.want(run.StatusFailed, "charge=completed slow=cancelled b=pending c=pending join=pending")

	from := len(w.history)
	w.does(run.RetryRequested{}).want(run.StatusFailed, "charge=completed slow=cancelled b=pending c=pending join=pending")
	if diff := cmp.Diff([]string{"run.retried  ", "edge.failed charge edge_0", "run.failed charge edge_0"}, entries(w.history[from:])); diff != "" || len(w.last.Execute) != 0 {
		t.Errorf("a retry that comes to nothing asks for %+v: %s", w.last.Execute, diff)
	}
	if w.refusal() != "" || w.run.Retries() != 1 || !w.last.Finished || w.run.Failure().Edge != "edge_0" {
		t.Errorf("it is answered with %q after %d retries: %+v", w.refusal(), w.run.Retries(), w.run.Failure())
	}

	from = len(w.history)
	w.after(time.Hour).does(run.RetryRequested{}).want(run.StatusRunning, "charge=completed slow=running b=completed c=skipped join=pending")
	lines := []string{"run.retried  ", "node.started slow ", "node.completed b ", "node.skipped c "}
	if diff := cmp.Diff(lines, entries(w.history[from:])); diff != "" || len(w.last.Execute) != 1 || w.run.Failure() != nil {
		t.Errorf("the retry asks for %+v: %s", w.last.Execute, diff)
	}
	if n := w.run.Nodes()[0]; n.Attempts != 1 || !n.FinishedAt.Equal(noon) || n.Undecided != nil || !cmp.Equal(n.Dead, []int{1}) {
		t.Errorf("the charge is %+v", n)
	}
	w.succeeds("slow", `{"slow": true}`)
	if got := w.output("join"); got != `{"b":7,"slow":true}` || w.run.Status() != run.StatusCompleted {
		t.Errorf("the run is %s, the join gave %s", w.run.Status(), got)
	}
}

func TestAnEdgeIsUndecidedWhateverCompletesItsNode(t *testing.T) {
	for claim, c := range map[string]struct {
		node string
		does func(w *harness)
	}{
		"the payload that a trigger's node passes on": {"trigger_webhook", func(*harness) {}},
		"a branch that was chosen":                    {`condition {"condition": "true"}`, func(*harness) {}},
		"a value that was computed":                   {`transform {"expression": "1"}`, func(*harness) {}},
		"a time that has come":                        {`wait {"delayMs": 1000}`, func(w *harness) { w.wakes() }},
		"an answer":                                   {`input`, func(w *harness) { w.does(run.Resumed{Token: w.tokens["a"], Input: []byte(`"x"`)}) }},
		"an event":                                    {`waitForEvent {"event": "paid"}`, func(w *harness) { w.does(run.EventArrived{Event: "paid"}) }},
		"the second attempt":                          {`call`, func(w *harness) { w.fails("a", "http_503", true).wakes().succeeds("a", "1") }},
		"an answer to a custom node": {`approve`, func(w *harness) {
			w.does(run.AttemptPaused{Node: "a", Attempt: 1}).does(run.Resumed{Token: w.tokens["a"]})
		}},
	} {
		w := begin(t, plan(t, nodes("a "+c.node, expr("b", "1")), edges("a -> b "+anHourOn)), start(`{}`))
		if c.does(w); w.refusal() != "" {
			t.Errorf("%s: it is refused with %s", claim, w.refusal())
		}
		gave, began := w.output("a"), w.open["a"].Attempt
		if got := w.nodes(); w.run.Status() != run.StatusFailed || got != "a=completed b=pending" || w.run.Failure().Code != run.CodeEdgeCondition {
			t.Errorf("%s: the run is %s with %s", claim, w.run.Status(), got)
		}
		w.after(2 * time.Hour).does(run.RetryRequested{})
		if got := w.nodes(); w.run.Status() != run.StatusCompleted || got != "a=completed b=completed" || w.output("a") != gave || w.open["a"].Attempt != began {
			t.Errorf("%s: after the retry it is %s with %s", claim, w.run.Status(), got)
		}
	}
}

func TestARunThatFailedAtAnEdgeHasEnded(t *testing.T) {
	failed := func() *harness {
		p := plan(t, nodes("a call", "b call", "ask input"), edges("a -> b result.none.none"))
		return begin(t, p, start(`{}`)).succeeds("a", "1")
	}
	for claim, c := range map[string]struct {
		fact    run.Fact
		refused string
	}{
		"so that nobody can cancel it":                    {run.CancelRequested{}, "run_finished"},
		"so that its time does not run":                   {run.TimeReached{}, ""},
		"so that nobody answers what it waited for":       {run.Resumed{Token: failed().tokens["ask"]}, "not_paused"},
		"so that no event continues it":                   {run.EventArrived{Event: "paid"}, "not_paused"},
		"and its node does not take another output":       {run.AttemptCompleted{Node: "a", Attempt: 1, Output: 2.0}, "attempt_stale"},
		"and its node does not fail after it has given 1": {run.AttemptFailed{Node: "a", Attempt: 1, Code: "x"}, "attempt_stale"},
	} {
		w := failed().after(48 * time.Hour).does(c.fact)
		if w.refusal() != c.refused || w.last.Changed() || !w.last.WakeAt.IsZero() || w.output("a") != "1" {
			t.Errorf("%s: it is answered with %q and changes: %v", claim, w.refusal(), w.last.Changed())
		}
	}
}

func TestOnlySomeOfManyUndecidedEdgesAreTold(t *testing.T) {
	steps, lines := []string{"a call"}, []string{}
	for i := range 9 {
		steps, lines = append(steps, expr(name(i), "1")), append(lines, "a -> "+name(i)+" result.none.none")
	}
	w := begin(t, plan(t, nodes(steps...), edges(lines...)), start(`{}`)).succeeds("a", "1")
	want := []workflow.EdgeID{"edge_0", "edge_1", "edge_2", "edge_3", "edge_4"}
	if diff := cmp.Diff(want, w.run.Nodes()[0].Undecided); diff != "" || len(w.history) != 2+1+len(want)+1 {
		t.Errorf("%s%v", diff, entries(w.history))
	}
	state := w.run.State()
	for node, edge := range map[workflow.NodeID]workflow.EdgeID{"a": "edge_0", "n0": "", "none": ""} {
		if got := state.FailedEdge(node); got != edge {
			t.Errorf("the run failed at edge %q of %s, not %q", got, node, edge)
		}
	}
}

// TestARunThatWasStoredWhenAnEdgeFailedItsNode is of a run whose node lost its output to an
// edge: there is nothing to go on from but the node.
func TestARunThatWasStoredWhenAnEdgeFailedItsNode(t *testing.T) {
	const progress = `{"nodes":[{"id":"a","status":"failed","attempts":1,"failure":{"code":"expression_failed","message":"edges[0].condition: gone","node":"a"},
		"startedAt":1772366400000,"finishedAt":1772366400000},{"id":"b"}]}`
	at := time.UnixMilli(1772366400000).UTC()
	kept := storedRun{Payload: `{}`, Progress: progress, State: run.State{
		Origin: stored(run.New(runID, start(`{}`), at).State()).State.Origin, Status: run.StatusFailed, Seq: 4, UpdatedAt: at, StartedAt: &at, FinishedAt: &at,
		Failure: &run.Failure{Code: "expression_failed", Message: "edges[0].condition: gone", Node: "a"},
	}}
	w := begin(t, plan(t, nodes("a call", expr("b", "1")), edges("a -> b true")), start(`{}`))
	w.run, w.history = kept.restored(t), make([]run.Entry, 4)
	w.does(run.RetryRequested{}).want(run.StatusRunning, "a=running b=pending")
	w.succeeds("a", "1").want(run.StatusCompleted, "a=completed b=completed")
}

// A gateway of the version before, which may serve next to this one, would take the edges
// for dead and complete the run at a retry. It fails to read the run instead.
func TestAVersionThatKnowsOfNoUndecidedEdgesReadsNoRunThatHasSome(t *testing.T) {
	p := plan(t, nodes("charge call", expr("b", "1"), expr("c", "1")), edges("charge -> b result.none.none", "charge -> c false"))
	for claim, c := range map[string]struct {
		output string
		reads  bool
	}{
		"the edges are decided": {`{"none": {"none": true}}`, true},
		"an edge cannot be":     {`{}`, false},
	} {
		w := begin(t, p, start(`{}`)).succeeds("charge", c.output)
		var before struct {
			Nodes []struct{ Dead []int }
		}
		if err := json.Unmarshal(run.EncodeProgress(w.run.State().Progress), &before); (err == nil) != c.reads {
			t.Errorf("%s: %v", claim, err)
		}
	}
}
