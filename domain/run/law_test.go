package run_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
)

// TestRunsAgreeWithTheReference drives drawn graphs in a drawn order, with facts
// that come twice and processes that die, and compares what became of them with
// the reference, which knows no order. A failed run is retried with the fault
// fixed until it is done or nothing can be fixed.
func TestRunsAgreeWithTheReference(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawScenario(rt)
		a := newActor(rt, s)
		a.play()
		agree(rt, a)
		for range len(s.kinds) {
			failed := a.run.Failure()
			if failed == nil {
				return
			}
			i := 0
			_, _ = fmt.Sscanf(string(failed.Node), "n%d", &i)
			if failed.Edge != "" {
				if !decided(rt, a, i) {
					return
				}
				continue
			}
			if s.kinds[i] == "boom" {
				return // what computes wrong computes wrong again
			}
			s.behaviours[i].failure = ""
			if s.kinds[i] == "input" || s.kinds[i] == "event" {
				return // its time is part of the graph
			}
			a.both(run.RetryRequested{}, true)
			a.play()
			agree(rt, a)
		}
	})
}

// decided retries a run that failed at edges of a node, once before their conditions can be
// computed and once after; ok is false where they never can.
func decided(t *rapid.T, a *actor, source int) (ok bool) {
	before := a.nodes()
	a.both(run.RetryRequested{}, true)
	if after := a.nodes(); after != before || len(a.last.Execute) > 0 {
		t.Fatalf("a retry that comes to nothing makes %s of %s and asks for %v", after, before, a.last.Execute)
	}
	agree(t, a)
	v := newReference(a.s).verdict(source)
	for at, l := range a.s.links {
		if l.guard == "x" && slices.Contains(v.doubts, workflow.EdgeID(fmt.Sprint("edge_", at))) {
			return false
		}
	}
	a.s.fixed, a.now = true, far
	a.both(run.RetryRequested{}, true)
	a.play()
	agree(t, a)
	return true
}

// agree compares a run that has ended with the reference.
func agree(t *rapid.T, a *actor) {
	ref := newReference(a.s)
	unhandled, undecided := map[string]bool{}, map[string]workflow.EdgeID{}
	for i := range a.s.kinds {
		switch v := ref.verdict(i); {
		case v.status == run.NodeFailed && !v.handled:
			unhandled[name(i)] = true
		case v.status == run.NodeCompleted && len(v.doubts) > 0:
			undecided[name(i)] = v.doubts[0]
		}
	}
	if want := len(unhandled)+len(undecided) == 0; want != (a.run.Status() == run.StatusCompleted) {
		t.Fatalf("the run is %s with %s, but unhandled are %v, undecided %v", a.run.Status(), a.nodes(), unhandled, undecided)
	}
	if f := a.run.Failure(); f != nil && (f.Edge != undecided[string(f.Node)] || f.Edge == "" && !unhandled[string(f.Node)]) {
		t.Fatalf("the run failed with %+v, but unhandled are %v, undecided %v", f, unhandled, undecided)
	}
	for i, n := range a.run.Nodes() {
		v := ref.verdict(i)
		cut := n.Status == run.NodePending || n.Status == run.NodeCancelled
		switch {
		case cut && a.run.Status() == run.StatusFailed:
			continue
		case n.Status != v.status || n.Handled != v.handled || n.Branch != v.branch:
			t.Fatalf("%s is %s with branch %q, handled %v; the reference says %+v (%s)", n.ID, n.Status, n.Branch, n.Handled, v, a.nodes())
		case n.Status == run.NodeCompleted:
			if !slices.Equal(n.Undecided, v.doubts[:min(5, len(v.doubts))]) {
				t.Fatalf("of %s undecided are %v; the reference says %v", n.ID, n.Undecided, v.doubts)
			}
			if got, want := bare([]byte(a.output(n.ID))), text(v.output); got != want {
				t.Fatalf("%s gave %s; the reference says %s", n.ID, got, want)
			}
		}
	}
	if result, _ := a.run.Result(run.MaxOutput); a.run.Status() != run.StatusCompleted && result != nil ||
		a.run.Status() == run.StatusCompleted && !slices.Contains(ref.results(), bare(result)) {
		t.Fatalf("the run is %s and gave %s; the reference says %v (%s)", a.run.Status(), result, ref.results(), a.nodes())
	}
	orderly(t, a)
}

// orderly checks what holds of every history.
func orderly(t *rapid.T, a *actor) {
	completed, ended := map[string]int{}, 0
	attempts := map[string]int{}
	pausesEnd(t, a.history)
	for i, e := range a.history {
		if e.Seq != int64(i+1) {
			t.Fatalf("entry %d bears %d", i+1, e.Seq)
		}
		switch e.Type {
		case run.EntryNodeCompleted, run.EntryNodeSkipped:
			completed[string(e.Node)]++
		case run.EntryNodeStarted:
			if completed[string(e.Node)] > 0 {
				t.Fatalf("%s is called again by entry %d, after it was completed", e.Node, e.Seq)
			}
			if attempts[string(e.Node)]++; e.Attempt != attempts[string(e.Node)] {
				t.Fatalf("%s has attempt %d after %d", e.Node, e.Attempt, attempts[string(e.Node)]-1)
			}
		case run.EntryRunCompleted, run.EntryRunFailed:
			ended++
		case run.EntryRunRetried:
			ended--
		}
	}
	for id, times := range completed {
		if times > 1 {
			t.Fatalf("%s was completed or skipped %d times", id, times)
		}
	}
	if a.run.Seq() != int64(len(a.history)) || ended != 1 || !a.last.Finished && a.last.Changed() {
		t.Fatalf("the run has seq %d after %d entries and ended %d times", a.run.Seq(), len(a.history), ended)
	}
}

// pausesEnd checks that nothing happens in a run that is paused, unless it goes on first or
// comes to an end that nobody waited for.
func pausesEnd(t *rapid.T, history []run.Entry) {
	paused := false
	for _, e := range history {
		switch e.Type {
		case run.EntryRunPaused, run.EntryRunResumed:
			if paused == (e.Type == run.EntryRunPaused) {
				t.Fatalf("entry %d is %s in a run of which paused is %v", e.Seq, e.Type, paused)
			}
			paused = !paused
		case run.EntryRunFailed, run.EntryRunCancelled:
			paused = false
		case run.EntryNodeFailed, run.EntryEdgeFailed, run.EntryNodeCancelled: // with the whole run
		default:
			if paused {
				t.Fatalf("entry %d is %s in a run that is paused", e.Seq, e.Type)
			}
		}
	}
}
