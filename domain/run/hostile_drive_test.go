package run_test

import (
	"encoding/json"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluicehq/sluice/adapters/expression"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
)

// Everything that hostile runs ask of the package stands in this file.

// driver plays the world's part in one run.
type driver struct {
	t      tester
	h      *hostileRun
	plan   *run.Plan
	run    *run.Run
	now    time.Time
	open   []run.Execute
	tokens []string
	wakeAt time.Time
}

// drive moves a run from its beginning to its end, and fails when that takes more facts
// than the graph can ask for, or when the run cannot be kept.
func drive(t tester, h *hostileRun) {
	d := &driver{t: t, h: h, plan: h.plan(t), now: noon}
	d.run = run.New(runID, start(string(h.payload)), noon)
	d.advance(run.Started{})
	most := 20 * (len(h.nodes) + 1)
	for facts := 0; !d.run.Status().Finished(); facts++ {
		if facts > most {
			t.Fatalf("after %d facts the run of %d nodes is %s", facts, len(h.nodes), d.run.Status())
		}
		d.advance(d.next(facts > most/2))
	}
}

// next is what happens next: an attempt ends, what a node waits for comes, or time passes.
// A run that stands still for too long is cancelled.
func (d *driver) next(late bool) run.Fact {
	if len(d.open) > 0 {
		e := d.open[0]
		d.open = d.open[1:]
		return d.h.outcome(e.Node, e.Attempt)
	}
	if late {
		return run.CancelRequested{Reason: "It takes too long."}
	}
	if awaits := d.run.Awaits(); len(awaits) > 0 {
		for _, a := range awaits {
			if a.Event != "" {
				return run.EventArrived{Event: a.Event, Data: d.h.brought}
			}
		}
		if len(d.tokens) > 0 {
			token := d.tokens[0]
			d.tokens = d.tokens[1:]
			return run.Resumed{Token: token, Input: d.h.brought}
		}
	}
	if d.wakeAt.IsZero() {
		return run.CancelRequested{Reason: "Nobody answers."}
	}
	if d.now.Before(d.wakeAt) {
		d.now = d.wakeAt
	}
	return run.TimeReached{}
}

// advance brings a fact, and looks at what a store would keep.
func (d *driver) advance(f run.Fact) {
	step, err := d.run.Advance(d.plan, run.Event{At: d.now, Secret: secret, Fact: f})
	if err != nil {
		d.t.Fatal(err)
	}
	d.wakeAt = step.WakeAt
	d.open = append(d.open, step.Execute...)
	for _, happened := range step.Happened {
		if happened.Token != "" {
			d.tokens = append(d.tokens, happened.Token)
		}
	}
	d.h.checkMemory(d.t)
	kept := stored(d.run.State())
	restored := kept.restored(d.t)
	if again := stored(restored.State()); !cmp.Equal(kept, again) {
		d.t.Fatalf("progress of %d bytes is read and written as %d others", len(kept.Progress), len(again.Progress))
	}
	if d.h.forgets {
		d.run = restored
	}
	d.h.checkMemory(d.t)
}

// plan prepares the graph as a worker does.
func (h *hostileRun) plan(t tester) *run.Plan {
	return run.NewPlan(version, workflow.RestoreGraph(h.nodes, h.edges), registry(t), expression.Compiler{})
}

// outcome is how an attempt ends.
func (h *hostileRun) outcome(id workflow.NodeID, attempt int) run.Fact {
	if attempt <= h.failures[id] {
		return run.AttemptFailed{Node: id, Attempt: attempt, Code: "unavailable", Message: "It did not work.", Retryable: true}
	}
	return run.AttemptCompleted{Node: id, Attempt: attempt, Output: h.answers[id]}
}

// simulate runs the same graph as a simulation does, with all that it would show.
func simulate(t tester, h *hostileRun) {
	answers := make(map[workflow.NodeID][]run.Answer)
	for id, output := range h.answers {
		answers[id] = []run.Answer{{Output: output}}
	}
	p := h.plan(t)
	trace, err := run.Simulate(p, runID, start(string(h.payload)), noon, run.Outside{Answers: answers})
	h.checkMemory(t)
	if err != nil {
		return // an answer for a node that never asked
	}
	inputs, err := trace.Run.Inputs(p)
	h.checkMemory(t)
	for id, input := range inputs {
		if err == nil && !json.Valid(input) {
			t.Fatalf("the input of %s is no JSON", id)
		}
	}
}
