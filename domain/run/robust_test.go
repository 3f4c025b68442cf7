package run_test

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
)

// TestAnyFactsInAnyOrderKeepTheRunSound throws facts at a run that nobody asked
// for, with times that jump, and checks that it stays what it claims to be.
func TestAnyFactsInAnyOrderKeepTheRunSound(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawScenario(rt)
		p := s.plan(rt)
		w := &harness{t: rt, plan: p, run: run.New(runID, start(text(s.payload)), noon), now: noon, open: map[workflow.NodeID]run.Execute{}, tokens: map[workflow.NodeID]string{}}
		for range rapid.IntRange(1, 30).Draw(rt, "facts") {
			w.now = noon.Add(time.Duration(rapid.IntRange(-1000, 100_000).Draw(rt, "at")) * time.Millisecond)
			id := workflow.NodeID(name(rapid.IntRange(0, len(s.kinds)).Draw(rt, "node")))
			attempt := rapid.IntRange(0, 3).Draw(rt, "attempt")
			data := json.RawMessage(rapid.SampledFrom([]string{``, `null`, `1`, `"x"`, `{`, `{"value": "x"}`}).Draw(rt, "data"))
			w.does(rapid.SampledFrom([]run.Fact{
				run.Started{}, run.TimeReached{}, run.RetryRequested{}, run.CancelRequested{Reason: "r"},
				run.AttemptCompleted{Node: id, Attempt: attempt, Output: 1.0}, run.AttemptCompleted{Node: id, Attempt: w.open[id].Attempt, Output: data},
				run.AttemptFailed{Node: id, Attempt: w.open[id].Attempt, Code: "x", Retryable: attempt > 1},
				run.AttemptPaused{Node: id, Attempt: w.open[id].Attempt, Timeout: time.Duration(attempt) * time.Second},
				run.EventArrived{Event: string(id), Data: data}, run.Resumed{Token: w.tokens[id], Input: data}, run.Resumed{Token: "none"},
			}).Draw(rt, "fact"))
			sound(rt, w)
		}
	})
}

// sound checks what is true of a run whatever has happened.
func sound(t *rapid.T, w *harness) {
	state := w.run.State()
	count := map[run.NodeStatus]int{}
	for _, n := range state.Nodes {
		count[n.Status]++
		if (n.Status == run.NodeFailed || n.RetryAt != nil) && n.Failure == nil || n.RetryAt != nil && n.Status != run.NodeRunning || n.Status == run.NodeWaiting && n.Pause == nil {
			t.Fatalf("node %+v contradicts itself", n)
		}
		if len(n.Undecided) > 0 && (n.Status != run.NodeCompleted || state.Failure == nil || state.Failure.Node != n.ID || state.Failure.Edge != n.Undecided[0]) {
			t.Fatalf("the edges of node %+v are undecided in a run that failed with %+v", n, state.Failure)
		}
		if _, gave := w.run.Output(n.ID); gave != (n.Status == run.NodeCompleted) {
			t.Fatalf("node %s is %s and gave something: %v", n.ID, n.Status, gave)
		}
	}
	busy, waiting := count[run.NodeRunning] > 0, count[run.NodeWaiting] > 0
	ok := true
	switch state.Status {
	case run.StatusRunning:
		ok = busy && state.ActiveSince != nil && state.WakeAt != nil
	case run.StatusPaused:
		ok = !busy && waiting && state.ActiveSince == nil
	case run.StatusCompleted:
		ok = !busy && !waiting && count[run.NodePending] == 0 && state.Failure == nil
	case run.StatusFailed:
		ok = !busy && !waiting && state.Failure != nil && state.FinishedAt != nil
	case run.StatusCancelled, run.StatusPending:
		ok = !busy && !waiting
	}
	if !ok || state.Status.Finished() != (state.FinishedAt != nil) || state.Status.Finished() && state.WakeAt != nil || int(state.Seq) != len(w.history) {
		t.Fatalf("the run contradicts itself: %+v", stored(state))
	}
	for id, document := range w.run.Data() {
		if !json.Valid(document) {
			t.Fatalf("what %s gave is no JSON: %s", id, document)
		}
	}
	if progress := run.EncodeProgress(state.Progress); !json.Valid(progress) {
		t.Fatalf("the progress is no JSON: %s", progress)
	}
}

func TestAGraphWithACycleEnds(t *testing.T) {
	p := plan(t, nodes("a call", expr("b", "1"), expr("c", "1")), edges("a -> b", "b -> c", "c -> b", "none -> b"))
	w := begin(t, p, start(`{}`)).succeeds("a", "1")
	if w.run.Status() != run.StatusCompleted {
		t.Errorf("the run is %s with %s", w.run.Status(), w.nodes())
	}
}

func TestAPlanServesManyRunsAtOnce(t *testing.T) {
	p := plan(t, nodes(`t trigger_webhook {}`, expr("a", "({n: input.n + 1})"), `get httpRequest {"url": "https://example.com/{{ input.n }}"}`), edges("t -> a", "a -> get"))
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 50 {
				s := start(text(map[string]any{"n": i}))
				s.Trigger = fired(t, "trg_"+text(i), "t", "{}")
				r := run.New(runID, s, noon)
				step, err := r.Advance(p, run.Event{At: noon, Fact: run.Started{}})
				if err != nil || len(step.Execute) != 1 || step.Execute[0].Config["url"] != "https://example.com/"+text(i+1) {
					t.Errorf("run %d: %+v, %v", i, step, err)
				}
			}
		})
	}
	all.Wait()
}

func TestTheLargestGraphRunsThrough(t *testing.T) {
	lines, links := []string{`start condition {"condition": "true"}`}, []string{}
	for i := range workflow.MaxNodes - 2 {
		lines = append(lines, expr(name(i), "input"))
		links = append(links, "start -> "+name(i), name(i)+" -> join."+name(i))
	}
	lines = append(lines, expr("join", "Object.keys(input).length"))
	w := begin(t, plan(t, nodes(lines...), edges(links...)), start(`{}`))
	if got := w.output("join"); got != text(workflow.MaxNodes-2) {
		t.Errorf("the join saw %s outputs; the run is %s", got, w.run.Status())
	}
}
