package run_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
)

// calling is a run whose node "call" is about to call another workflow.
func calling(t *testing.T, more ...string) *harness {
	t.Helper()
	return begin(t, plan(t, nodes(append([]string{`call callWorkflow {"workflowId": "wf_2"}`, expr("after", "({ got: input })")}, more...)...),
		edges("call -> after", "call.onError -> after")), start(`{}`))
}

func (w *harness) calls(c run.CallStart) *harness {
	w.t.Helper()
	c.Run, c.Workflow, c.Version = "run_2", "wf_2", "wfv_2"
	return w.does(run.AttemptCalled{Node: "call", Attempt: w.open["call"].Attempt, Call: c})
}

func (w *harness) child(o run.Outcome) *harness {
	w.t.Helper()
	o.Run = "run_2"
	return w.does(run.ChildrenChanged{Children: []run.Outcome{o}})
}

func TestARunStartsAnotherOneWithItsStep(t *testing.T) {
	w := calling(t).after(time.Minute).calls(run.CallStart{Payload: map[string]any{"n": 1.0}, DedupeKey: "wf_2:k", Waits: true})
	if len(w.last.Start) != 1 {
		t.Fatalf("it starts %d", len(w.last.Start))
	}
	got := w.last.Start[0].State()
	want := run.New("run_2", run.Start{
		Tenant: owner, Workflow: "wf_2", Version: "wfv_2", Entity: "order-7", DedupeKey: "wf_2:k", Cause: run.CauseCall, Payload: []byte(`{"n":1}`),
	}, w.now).State()
	want.Parent, want.ParentNode, want.ParentWaits, want.Depth, want.Used = runID, "call", true, 1, time.Minute
	if diff := cmp.Diff(stored(want), stored(got)); diff != "" {
		t.Error(diff)
	}
	w.want(run.StatusRunning, "call=waiting after=pending")
	if len(w.last.Happened) > 0 || len(w.run.Awaits()) > 0 || w.run.Calls() != 1 {
		t.Errorf("it tells %v, waits for %v, has called %d", w.last.Happened, w.run.Awaits(), w.run.Calls())
	}
	if w.does(run.Resumed{Token: ""}); w.refusal() != "run_not_found" {
		t.Errorf("an answer got %q", w.refusal())
	}
}

// What a run had left when it called another is no bound for what repeats that one, or retries it.
func TestARunThatWasCalledHasAllOfItsTimeAgain(t *testing.T) {
	w := calling(t).after(trigger.DefaultTimeout - time.Second).calls(run.CallStart{Waits: true})
	called := &harness{t: t, plan: run.NewPlan("wfv_2", workflow.RestoreGraph(nodes(`b httpRequest {"url": "https://example.com"}`), nil), registry(t), expression.Compiler{}), run: w.last.Start[0], now: w.now, open: map[workflow.NodeID]run.Execute{}, tokens: map[workflow.NodeID]string{}}
	if called.does(run.Started{}).after(time.Second).does(run.TimeReached{}); called.run.Failure() == nil || called.run.Failure().Code != run.CodeTimeout {
		t.Fatalf("it is %s: %+v", called.run.Status(), called.run.Failure())
	}
	again, err := called.run.Rerun(nil, "run_3", run.Again{}, called.now)
	if err != nil || again.State().Timeout != trigger.DefaultTimeout || again.State().Used != 0 {
		t.Errorf("what repeats it has %s, %v", again.State().Timeout, err)
	}
	called.does(run.RetryRequested{}).after(time.Minute).does(run.TimeReached{})
	called.want(run.StatusRunning, "b=running")
}

func TestWhatARunMakesOfTheEndOfAnother(t *testing.T) {
	for claim, c := range map[string]struct {
		ended run.Outcome
		want  string
	}{
		"its output":                   {run.Outcome{Status: run.StatusCompleted, Output: []byte(`{"a": 1}`)}, `{"got":{"a": 1}}`},
		"null where there is none":     {run.Outcome{Status: run.StatusCompleted}, `{"got":null}`},
		"its failure":                  {run.Outcome{Status: run.StatusFailed, Failure: &run.Failure{Code: "boom", Message: "No."}}, `call_failed|Run run_2 failed with boom: No.`},
		"that it was cancelled":        {run.Outcome{Status: run.StatusCancelled}, `call_cancelled|Run run_2 was cancelled.`},
		"that its output is too large": {run.Outcome{Status: run.StatusCompleted, Omitted: true}, `output_too_large|The output of run run_2`},
	} {
		w := calling(t).calls(run.CallStart{Waits: true}).child(c.ended)
		for part := range strings.SplitSeq(c.want, "|") {
			if got := strings.ReplaceAll(w.output("after"), `"a":1`, `"a": 1`); !strings.Contains(got, part) || w.run.Status() != run.StatusCompleted {
				t.Errorf("%s: %s, %s", claim, w.run.Status(), got)
			}
		}
	}
}

func TestARunThatDoesNotWaitGoesOnAtOnce(t *testing.T) {
	w := calling(t).calls(run.CallStart{})
	if got := w.output("after"); got != `{"got":{"runId":"run_2"}}` || w.last.Start[0].State().ParentWaits {
		t.Errorf("it gave %s", got)
	}
	w.want(run.StatusCompleted, "call=completed after=completed")
}

func TestTheTimeOfARunStandsStillWhileAllThatItWaitsForIsPaused(t *testing.T) {
	w := calling(t, "ask input").calls(run.CallStart{Waits: true}).after(time.Minute).child(run.Outcome{Status: run.StatusPaused})
	w.want(run.StatusPaused, "call=waiting after=pending ask=waiting")
	w.after(time.Hour).child(run.Outcome{Status: run.StatusRunning})
	w.want(run.StatusRunning, "call=waiting after=pending ask=waiting")
	if used := w.run.State().Used; used != time.Minute {
		t.Errorf("it has used %s", used)
	}
	w.child(run.Outcome{Status: run.StatusPaused}).child(run.Outcome{Status: run.StatusCompleted})
	w.want(run.StatusPaused, "call=completed after=completed ask=waiting")
	if w.child(run.Outcome{Status: run.StatusFailed}); w.last.Changed() {
		t.Error("a second end changes something")
	}
}

func TestCallsThatCannotBeMadeFail(t *testing.T) {
	w := calling(t)
	st := w.run.State()
	st.Depth = run.MaxDepth
	w.run = run.Restore(st)
	if w.calls(run.CallStart{Waits: true}); !strings.Contains(w.output("after"), run.CodeCallTooDeep) || len(w.last.Start) > 0 {
		t.Errorf("below %d others it gave %s", run.MaxDepth, w.output("after"))
	}
	w = calling(t).calls(run.CallStart{Payload: strings.Repeat("x", run.MaxOutput)})
	if !strings.Contains(w.output("after"), run.CodeInputInvalid) || len(w.last.Start) > 0 {
		t.Errorf("with too large an input it gave %s", w.output("after"))
	}
}

func TestAPostponedAttemptIsMadeAgainAndDoesNotCount(t *testing.T) {
	w := calling(t)
	for n, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		w.does(run.AttemptPostponed{Node: "call", Attempt: n + 1, Reason: "Not yet."})
		if wait := w.last.WakeAt.Sub(w.now); wait != want {
			t.Errorf("attempt %d waits %s", n+1, wait)
		}
		w.wakes()
	}
	w.fails("call", "broken", true) // the first that counts
	if n := w.run.Nodes()[0]; n.Status != run.NodeRunning || n.RetryAt == nil {
		t.Errorf("%+v", n)
	}
}

func TestWhatARunThatHasEndedWouldStillWant(t *testing.T) {
	for _, c := range []struct {
		parent    run.Status
		waits, on bool
	}{
		{run.StatusRunning, true, true}, {run.StatusPaused, true, true}, {"", true, true}, {run.StatusFailed, true, false}, {run.StatusCancelled, true, false},
		{run.StatusFailed, false, true}, {run.StatusCompleted, false, true}, {run.StatusCancelled, false, false},
	} {
		st := run.New(runID, start(`{}`), noon).State()
		st.Parent, st.ParentWaits = "run_1", c.waits
		if got := run.Restore(st).Wants(c.parent); got != c.on {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
