package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sluicehq/sluice/application/fixture"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// calls is a version with a node that calls another one, and what follows.
func (w *env) calls(ver *workflow.Version, config string) *workflow.Version {
	w.Helper()
	return w.NewVersion([]string{
		fmt.Sprintf(`call callWorkflow {"workflowId": %q%s}`, ver.Workflow(), config), `after transform {"expression": "({ got: input })"}`,
	}, []string{"call -> after"})
}

// childrenOf lists the runs that a run has started.
func (w *env) childrenOf(id run.ID) []run.Summary {
	w.Helper()
	page, err := domain.NewPageRequest(100, 0)
	if err != nil {
		w.Fatal(err)
	}
	var found domain.Page[run.Summary]
	w.Do(func(ctx context.Context, st outbound.Stores) (err error) {
		found, err = st.Runs.Runs.List(ctx, tenant.All(w.Owner), run.Filter{Parent: id}, domain.Query{PageRequest: page, Sorting: domain.Sorting{Ascending: true}})
		return err
	})
	return found.Items
}

// child waits for the first run that a run starts.
func (w *env) child(of run.ID, what string, holds func(*run.Run) bool) *run.Run {
	w.Helper()
	w.Eventually("a run is started", func() bool { return len(w.childrenOf(of)) > 0 })
	return w.Until(w.childrenOf(of)[0].ID, what, holds)
}

// gaveAfter is what the node after the call gave.
func gaveAfter(r *run.Run) string {
	output, _ := r.Output("after")
	return string(output)
}

func TestARunGetsTheOutputOfTheRunThatItCalls(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(w *env) {
		callee := w.NewVersion([]string{`give return {"value": "{{ payload.n + 1 }}"}`}, nil)
		ver := w.calls(callee, `, "input": {"n": "{{ input.n }}"}`)
		w.StartWorker()
		id := w.Accept(ver, 1, fixture.RunOptions{})[0]
		r := w.Until(id, "the run completes", fixture.Finished)
		children := w.childrenOf(id)
		if gaveAfter(r) != `{"got":2}` || len(children) != 1 {
			t.Fatalf("%s gave %s, and has %d children: %v", r.Status(), gaveAfter(r), len(children), r.Failure())
		}
		child := w.Get(children[0].ID)
		if child.Parent() != id || child.ParentNode() != "call" || child.Depth() != 1 || child.Cause() != run.CauseCall || child.Entity() != r.Entity() {
			t.Errorf("the child is %+v", child.Summary())
		}
		w.Same([]string{"run.started", "node.started call", "node.waiting call", "node.completed call", "node.completed after", "run.completed"}, w.History(id))
		w.Same([]string{"run.started", "run.completed"}, w.Events(id)) // and nothing of the child, which bears the id as well
		w.Same([]run.ID{id}, ids(w.RunsOf(w.Owner)))
		if err := w.Errors(); err != nil {
			t.Error(err)
		}
	})
}

func ids(of []run.Summary) (all []run.ID) {
	for _, s := range of {
		all = append(all, s.ID)
	}
	return all
}

func TestARunGoesOnToCallOthersBeyondTheBudgetOfItsTenant(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(w *env) {
		ver := w.calls(w.NewVersion([]string{`give return {"value": "{{ payload.n + 1 }}"}`}, nil), `, "input": {"n": "{{ input.n }}"}`)
		id := w.Accept(ver, 1, fixture.RunOptions{})[0]
		w.SetBudgets(tenant.Budgets{RunsPerMonth: 1, LiveRuns: 1})
		w.StartWorker()
		if r := w.Until(id, "the run completes", fixture.Finished); gaveAfter(r) != `{"got":2}` {
			t.Errorf("%s gave %s: %v", r.Status(), gaveAfter(r), r.Failure())
		}
	})
}

func TestWhatBecomesOfACall(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(w *env) {
		fails := w.NewVersion([]string{`boom transform {"expression": "input.none.none"}`}, nil)
		gone := workflow.RestoreVersion(workflow.VersionState{Workflow: "wf_gone"})
		w.StartWorker()
		for claim, c := range map[string]struct {
			callee       *workflow.Version
			config, code string
		}{
			"fails with the run that is called":    {fails, ``, run.CodeCallFailed},
			"fails where there is no workflow":     {gone, ``, run.CodeCallRefused},
			"does not fail where it does not wait": {fails, `, "wait": false`, ""},
		} {
			r := w.Until(w.Accept(w.calls(c.callee, c.config), 1, fixture.RunOptions{})[0], "the run ends", fixture.Finished)
			code := ""
			if f := r.Failure(); f != nil {
				code = f.Code
			}
			if code != c.code {
				t.Errorf("%s: %s with %+v", claim, r.Status(), r.Failure())
			}
			if c.code == "" && !strings.HasPrefix(gaveAfter(r), `{"got":{"runId":"run_`) {
				t.Errorf("%s: it gave %s", claim, gaveAfter(r))
			}
		}
	})
}

func TestARunCallsNoMoreThanEightOthersDeep(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(w *env) {
		ver := w.NewVersion([]string{`leaf transform {"expression": "1"}`}, nil)
		for range run.MaxDepth + 1 {
			ver = w.calls(ver, "")
		}
		w.StartWorker()
		id := w.Accept(ver, 1, fixture.RunOptions{})[0]
		r := w.Until(id, "the run ends", fixture.Finished)
		depth := 0
		for next := w.childrenOf(id); len(next) > 0; next = w.childrenOf(next[0].ID) {
			depth++
		}
		if r.Status() != run.StatusFailed || depth != run.MaxDepth || !strings.Contains(r.Failure().Message, run.CodeCallTooDeep) {
			t.Errorf("%s with %+v, %d runs below it", r.Status(), r.Failure(), depth)
		}
	})
}

// While all that a run waits for is paused, its own time stands still.
func TestARunIsPausedWhileTheRunIsThatItWaitsFor(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(w *env) {
		ver := w.calls(w.NewVersion([]string{fixture.WaitNode}, nil), "")
		w.StartWorker()
		id := w.Accept(ver, 1, fixture.RunOptions{})[0]
		child := w.child(id, "it is paused", fixture.Is(run.StatusPaused))
		r := w.Until(id, "the run is paused", fixture.Is(run.StatusPaused))
		if st := r.State(); st.ActiveSince != nil || st.WakeAt != nil {
			t.Errorf("its time goes on: %+v", st)
		}
		if st := child.State(); st.Timeout-st.Used > r.State().Timeout {
			t.Errorf("the child has %s less %s, more than %s", st.Timeout, st.Used, r.State().Timeout)
		}
		w.Ingest("e-1", run.ResumeOptions{Runs: []run.ID{child.ID()}})
		if r = w.Until(id, "the run completes", fixture.Finished); r.Status() != run.StatusCompleted {
			t.Errorf("%s: %+v", r.Status(), r.Failure())
		}
		history := w.History(id)
		if paused, resumed := slices.Index(history, "run.paused"), slices.Index(history, "run.resumed"); paused < 0 || resumed < paused {
			t.Errorf("%v", history)
		}
	})
}

func TestCancellingARunCancelsAllThatItHasStarted(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(w *env) {
		waits := w.NewVersion([]string{fixture.WaitNode}, nil)
		middle := w.calls(waits, "")
		ver := w.NewVersion([]string{
			fmt.Sprintf(`one callWorkflow {"workflowId": %q}`, middle.Workflow()), fmt.Sprintf(`two callWorkflow {"workflowId": %q, "wait": false}`, waits.Workflow()),
			`ask input {"prompt": "?"}`,
		}, nil)
		w.StartWorker()
		id := w.Accept(ver, 1, fixture.RunOptions{})[0]
		w.Eventually("it has started two", func() bool { return len(w.childrenOf(id)) == 2 })
		w.Until(id, "the run is paused", fixture.Is(run.StatusPaused))
		if _, err := w.Runs.Cancel(w.Context(), w.Caller, domain.IdempotencyKey{}, id, "enough"); err != nil {
			t.Fatal(err)
		}
		for _, child := range w.childrenOf(id) {
			w.Until(child.ID, "the child is cancelled", fixture.Is(run.StatusCancelled))
			for _, below := range w.childrenOf(child.ID) {
				w.Until(below.ID, "what it has started is", fixture.Is(run.StatusCancelled))
			}
		}
		if err := w.Errors(); err != nil {
			t.Error(err)
		}
	})
}

// A run that fails takes along what it waits for, and nothing else.
func TestAFailureCancelsWhatTheRunWaitsFor(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(w *env) {
		waits := w.NewVersion([]string{fixture.WaitNode}, nil)
		ver := w.NewVersion([]string{
			fmt.Sprintf(`awaited callWorkflow {"workflowId": %q}`, waits.Workflow()), fmt.Sprintf(`free callWorkflow {"workflowId": %q, "wait": false}`, waits.Workflow()),
			`rest wait {"delayMs": 300}`, `boom transform {"expression": "input.none.none"}`,
		}, []string{"rest -> boom"})
		w.StartWorker()
		id := w.Accept(ver, 1, fixture.RunOptions{})[0]
		w.Until(id, "the run fails", fixture.Is(run.StatusFailed))
		for _, child := range w.childrenOf(id) {
			want := run.StatusCancelled
			if child.ParentNode == "free" {
				want = run.StatusPaused
			}
			w.Until(child.ID, string("the child of "+child.ParentNode+" is "+workflow.NodeID(want)), fixture.Is(want))
		}
	})
}

// A run may start another one and fail in the same step.
func TestARunThatStartsOneAndFailsAtOnceLeavesNoneBehind(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(w *env) {
		callee := w.NewVersion([]string{fixture.WaitNode}, nil)
		ver := w.NewVersion([]string{
			fmt.Sprintf(`call callWorkflow {"workflowId": %q}`, callee.Workflow()), fmt.Sprintf(`free callWorkflow {"workflowId": %q, "wait": false}`, callee.Workflow()),
			`boom transform {"expression": "input.none.none"}`,
		}, []string{"free -> boom"})
		w.StartWorker()
		for _, id := range w.Accept(ver, 5, fixture.RunOptions{}) {
			w.Until(id, "the run fails", fixture.Is(run.StatusFailed))
			for _, child := range w.childrenOf(id) {
				want := run.StatusCancelled
				if child.ParentNode == "free" {
					want = run.StatusPaused
				}
				w.Until(child.ID, string("the child of "+child.ParentNode+" is "+workflow.NodeID(want)), fixture.Is(want))
			}
		}
	})
}

func TestARetryCallsTheWorkflowAnew(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(w *env) {
		var works atomic.Bool
		w.NodeRunner.Answer = func(context.Context, outbound.NodeCall) (outbound.NodeOutcome, error) {
			if works.Load() {
				return outbound.NodeCompleted{Output: json.RawMessage(`{"ok":1}`)}, nil
			}
			return outbound.NodeFailed{Code: "http_404", Message: "No."}, nil
		}
		ver := w.calls(w.NewVersion([]string{"a " + fixture.CallNode}, nil), "")
		w.StartWorker()
		id := w.Accept(ver, 1, fixture.RunOptions{})[0]
		w.Until(id, "the run fails", fixture.Is(run.StatusFailed))
		works.Store(true)
		if _, err := w.Runs.Retry(w.Context(), w.Caller, domain.IdempotencyKey{}, id); err != nil {
			t.Fatal(err)
		}
		r := w.Until(id, "the run completes", fixture.Is(run.StatusCompleted))
		if children := w.childrenOf(id); gaveAfter(r) != `{"got":{"ok":1}}` || len(children) != 2 || children[0].Status != run.StatusFailed {
			t.Errorf("it gave %s, with %+v", gaveAfter(r), children)
		}
	})
}

// The worker has the parent while its child ends: what it records then may not lose that.
func TestAnEndIsNoticedWhileAnotherNodeOfTheParentIsCalled(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(w *env) {
		callee := w.NewVersion([]string{`give return {"value": 7}`}, nil)
		ver := w.NewVersion([]string{
			fmt.Sprintf(`call callWorkflow {"workflowId": %q}`, callee.Workflow()), `after transform {"expression": "({ got: input })"}`, "slow " + fixture.CallNode,
		}, []string{"call -> after"})
		answered := make(chan struct{})
		w.NodeRunner.Answer = func(ctx context.Context, call outbound.NodeCall) (outbound.NodeOutcome, error) {
			select {
			case <-answered:
			case <-ctx.Done():
			}
			return outbound.NodeCompleted{Output: json.RawMessage(`{}`)}, nil
		}
		w.StartWorker()
		id := w.Accept(ver, 1, fixture.RunOptions{})[0]
		w.Until(id, "the node after the call completes", func(r *run.Run) bool { return gaveAfter(r) == `{"got":7}` })
		close(answered)
		w.Until(id, "the run completes", fixture.Is(run.StatusCompleted))
	})
}

func TestACallWithAKeyGetsTheRunThatWasStartedWithIt(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(w *env) {
		callee := w.NewVersion([]string{fixture.WaitNode}, nil)
		ver := w.calls(callee, `, "dedupeKey": "k-{{ payload.n }}"`)
		w.StartWorker()
		runs := w.Accept(ver, 3, fixture.RunOptions{})
		var started []run.ID
		w.Eventually("one of them has started a run", func() bool {
			started = nil
			for _, id := range runs {
				started = append(started, ids(w.childrenOf(id))...)
			}
			return len(started) > 0
		})
		w.Until(started[0], "it is paused", fixture.Is(run.StatusPaused))
		w.Ingest("e-1", run.ResumeOptions{Runs: started[:1]})
		for _, id := range runs {
			if r := w.Until(id, "the run completes", fixture.Finished); r.Status() != run.StatusCompleted || !strings.Contains(gaveAfter(r), `"event":"paid"`) {
				t.Errorf("%s gave %s: %+v", r.Status(), gaveAfter(r), r.Failure())
			}
		}
		if other := w.Until(w.Accept(ver, 1, fixture.RunOptions{Payload: `{"n": 2}`})[0], "another key waits", fixture.Is(run.StatusPaused)); len(w.childrenOf(other.ID())) != 1 {
			t.Error("another key started nothing")
		}
	})
}

// What a process had begun another one takes up, where it is recorded and where it is not.
func TestAFamilyGoesOnAfterItsProcessDied(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(w *env) {
		ver := w.calls(w.NewVersion([]string{`rest wait {"delayMs": 250}`, `give return {"value": 7}`}, []string{"rest -> give"}), "")
		runs := w.Accept(ver, 12, fixture.RunOptions{})
		for _, n := range []int{13, 20, 25, 36} { // of 12 at first and 48 in the end
			stop := w.Work(w.NewWorker(w.Raw, w.Signals, fixture.ShortLeaseOptions))
			w.Eventually("it is some way into it", func() bool { return w.progress() >= n })
			stop()
		}
		w.StartWorker()
		for _, id := range runs {
			r := w.Until(id, "the run completes", fixture.Finished)
			if gaveAfter(r) != `{"got":7}` || len(w.childrenOf(id)) != 1 {
				t.Errorf("%s gave %s with %d children: %+v", r.Status(), gaveAfter(r), len(w.childrenOf(id)), r.Failure())
			}
		}
	})
}
