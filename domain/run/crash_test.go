package run_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
)

// wreck is a run whose processes die at any point. What is stored of it is all that the
// next one knows.
type wreck struct {
	*rapid.T
	plan   *run.Plan
	actor  *actor // what the world answers
	stored storedRun
	seq    int64                      // of stored
	ahead  *run.Run                   // how far the process is that has not stored all; nil when it has
	held   run.Step                   // what it has not stored, as one step
	gave   map[workflow.NodeID]string // of the nodes that are stored as completed
	times  map[workflow.NodeID]int    // they are recorded as completed
}

func (w *wreck) read() *run.Run {
	return w.stored.restored(w)
}

// latest is the run as the process has it that works on it.
func (w *wreck) latest() *run.Run {
	if w.ahead != nil {
		return w.ahead
	}
	return w.read()
}

// dies loses what is not stored.
func (w *wreck) dies() { w.ahead, w.held = nil, run.Step{} }

// calls checks what a process is about to do outside.
func (w *wreck) calls(wanted []run.Execute) {
	for _, e := range wanted {
		if gave, completed := w.gave[e.Node]; completed {
			w.Fatalf("%s is called again, attempt %d, although it gave %s", e.Node, e.Attempt, gave)
		}
	}
}

// happens lets a process tell the run a fact, record the step and do what it asks for, unless
// it dies before it has recorded it. Where the step may wait, it is recorded with the next one, or
// never. What others tell, they tell the run as it is stored.
func (w *wreck) happens(f run.Fact) {
	switch f.(type) {
	case run.Resumed, run.EventArrived, run.ChildrenChanged, run.RetryRequested:
		w.dies() // what it had ahead would be refused
	}
	r := w.latest()
	step, err := r.Advance(w.plan, run.Event{At: w.actor.now, Secret: secret, Fact: f})
	if err != nil {
		w.Fatal(err)
	}
	if !step.Changed() {
		return
	}
	if rapid.IntRange(0, 3).Draw(w.T, "dies") == 0 {
		w.dies()
		return
	}
	if failed, is := f.(run.AttemptFailed); is && step.Refused == nil && failed.Retryable {
		w.actor.made[failed.Node]++
	}
	asked := step.Execute
	if w.ahead != nil {
		step = w.held.Then(step)
	}
	if w.ahead, w.held = r, step; step.MayWait() && rapid.Bool().Draw(w.T, "waits") {
		w.held.Execute = nil
		w.onlyComputes(f, asked)
		return
	}
	w.store(f)
	w.calls(asked)
}

// onlyComputes checks a step that is not stored: nothing outside came with it or is called by it.
func (w *wreck) onlyComputes(f run.Fact, asked []run.Execute) {
	nodes := make([]workflow.NodeID, 0, len(asked)+1)
	switch f := f.(type) {
	case run.Started, run.TimeReached:
	case run.AttemptCompleted:
		nodes = append(nodes, f.Node)
	case run.AttemptFailed:
		nodes = append(nodes, f.Node)
	default:
		w.Fatalf("%+v is not stored", f)
	}
	for _, e := range asked {
		nodes = append(nodes, e.Node)
	}
	for _, id := range nodes {
		i := 0
		if _, err := fmt.Sscanf(string(id), "n%d", &i); err != nil || w.actor.s.kinds[i] != "code" {
			w.Fatalf("%s has an effect, and the step after %+v that asks for %v is not stored", id, f, nodes)
		}
	}
}

// store records what the process has not stored, after a fact.
func (w *wreck) store(f run.Fact) {
	r, step := w.ahead, w.held
	w.dies()
	if step.History[0].Seq != w.seq+1 || r.Seq() != w.seq+int64(len(step.History)) {
		w.Fatalf("%d is stored, and what follows is %+v", w.seq, step.History)
	}
	w.stored, w.seq = stored(r.State()), r.Seq()
	for _, h := range step.Happened {
		if h.Token != "" {
			w.actor.tokens[h.Node] = h.Token
		}
	}
	for _, e := range step.History {
		if e.Type == run.EntryNodeCompleted {
			if w.times[e.Node]++; w.times[e.Node] > 1 {
				w.Fatalf("%s is recorded as completed %d times", e.Node, w.times[e.Node])
			}
			output, _ := r.Output(e.Node)
			w.gave[e.Node] = string(output)
		}
	}
	for id, gave := range w.gave {
		if output, ok := r.Output(id); !ok || string(output) != gave {
			w.Fatalf("%s gave %s and now %s (%v), after %+v", id, gave, output, ok, f)
		}
	}
}

// options are the facts that may come now, as from the world so from those who watch.
func (w *wreck) options() (facts []run.Fact) {
	r := w.latest()
	for i, n := range r.Nodes() {
		if f := w.actor.fact(i, n); f != nil {
			facts = append(facts, f)
		}
	}
	if r.Status() == run.StatusFailed {
		facts = append(facts, run.RetryRequested{})
	}
	if wake := r.WakeAt(); wake != nil && wake.Before(far.Add(24*time.Hour)) {
		facts = append(facts, run.TimeReached{})
	}
	return facts
}

// TestNoNodeThatCompletedIsCalledAgain drives drawn graphs, some of whose edges cannot be
// decided, through crashes and retries: what a node gave is recorded once and stays, and
// the node is not called after that.
func TestNoNodeThatCompletedIsCalledAgain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := drawScenario(rt)
		w := &wreck{
			T: rt, plan: s.plan(rt), stored: stored(run.New(runID, start(text(s.payload)), noon).State()),
			actor: &actor{s: s, made: map[workflow.NodeID]int{}, harness: &harness{now: noon, tokens: map[workflow.NodeID]string{}}},
			gave:  map[workflow.NodeID]string{}, times: map[workflow.NodeID]int{},
		}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			if w.latest().Status() == run.StatusPending {
				w.happens(run.Started{})
				continue
			}
			facts := w.options()
			if len(facts) == 0 {
				return
			}
			f := rapid.SampledFrom(facts).Draw(rt, "fact")
			switch f.(type) {
			case run.TimeReached:
				w.actor.now = *w.latest().WakeAt()
			case run.RetryRequested:
				if rapid.Bool().Draw(rt, "fixed") && w.actor.now.Before(far) {
					w.actor.now = far
				}
			}
			w.happens(f)
			if rapid.IntRange(0, 3).Draw(rt, "taken over") == 0 {
				open, err := w.read().Outstanding(w.plan)
				if err != nil {
					rt.Fatal(err)
				}
				w.calls(open)
			}
		}
	})
}
