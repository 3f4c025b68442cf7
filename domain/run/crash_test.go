package run_test

import (
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
	gave   map[workflow.NodeID]string // of the nodes that are stored as completed
	times  map[workflow.NodeID]int    // they are recorded as completed
}

func (w *wreck) read() *run.Run {
	return w.stored.restored(w)
}

// calls checks what a process is about to do outside.
func (w *wreck) calls(wanted []run.Execute) {
	for _, e := range wanted {
		if gave, completed := w.gave[e.Node]; completed {
			w.Fatalf("%s is called again, attempt %d, although it gave %s", e.Node, e.Attempt, gave)
		}
	}
}

// happens lets a process tell the run a fact, record the step and do what it asks for, unless
// it dies before it has recorded it.
func (w *wreck) happens(f run.Fact) {
	r := w.read()
	step, err := r.Advance(w.plan, run.Event{At: w.actor.now, Secret: secret, Fact: f})
	if err != nil {
		w.Fatal(err)
	}
	if rapid.IntRange(0, 3).Draw(w.T, "dies") == 0 {
		return
	}
	if failed, is := f.(run.AttemptFailed); is && step.Refused == nil && failed.Retryable {
		w.actor.made[failed.Node]++
	}
	for _, h := range step.Happened {
		if h.Token != "" {
			w.actor.tokens[h.Node] = h.Token
		}
	}
	w.stored = stored(r.State())
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
	w.calls(step.Execute)
}

// options are the facts that may come now, as from the world so from those who watch.
func (w *wreck) options() (facts []run.Fact) {
	r := w.read()
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
		for w.read().Status() == run.StatusPending {
			w.happens(run.Started{})
		}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			facts := w.options()
			if len(facts) == 0 {
				return
			}
			f := rapid.SampledFrom(facts).Draw(rt, "fact")
			switch f.(type) {
			case run.TimeReached:
				w.actor.now = *w.read().WakeAt()
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
