package run_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/workflow"
)

// drawScenario draws a graph of up to nine nodes.
func drawScenario(t *rapid.T) *scenario {
	kinds := []string{"call", "call", "code", "code", "approve", "boom", "compute", "compute", "condition", "switch", "input", "wait", "event", "return", "pass", "sub"}
	s := &scenario{payload: map[string]any{}}
	n := rapid.IntRange(1, 9).Draw(t, "nodes")
	for g := range 3 {
		s.payload[fmt.Sprintf("g%d", g)] = rapid.Bool().Draw(t, "guard")
	}
	for i := range n {
		s.kinds = append(s.kinds, rapid.SampledFrom(kinds).Draw(t, "kind"))
		s.payload[fmt.Sprintf("c%d", i)] = rapid.Bool().Draw(t, "decision")
		s.payload[fmt.Sprintf("s%d", i)] = rapid.SampledFrom([]any{0.0, 1.0, 2.0, false, true, "0", "true", "x"}).Draw(t, "choice")
		s.cases = append(s.cases, [2]string{
			rapid.SampledFrom([]string{"0", `"0"`, `"false"`}).Draw(t, "case"), rapid.SampledFrom([]string{"1", `"1"`, `"true"`}).Draw(t, "case"),
		})
		f := behaviour{flaky: rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "flaky")}
		if rapid.IntRange(0, 3).Draw(t, "fails") == 0 {
			f.failure = "broken"
			if s.kinds[i] == "input" || s.kinds[i] == "event" {
				f.failure = "expired"
			}
		}
		s.behaviours = append(s.behaviours, f)
		var targets []int
		for range s.branches(i) {
			targets = append(targets, rapid.IntRange(-1, n-1).Draw(t, "target"))
		}
		s.targets = append(s.targets, targets)
	}
	for range rapid.IntRange(0, 2*n).Draw(t, "edges") {
		if n == 1 {
			break
		}
		l := link{source: rapid.IntRange(0, n-2).Draw(t, "source")}
		l.target = rapid.IntRange(l.source+1, n-1).Draw(t, "target")
		keys := []string{"", "", "", workflow.OnSuccess, workflow.OnError}
		if b := s.branches(l.source); b != nil {
			keys = append(keys, b...)
			keys = append(keys, b...)
		} else {
			keys = append(keys, "m")
		}
		l.key = rapid.SampledFrom(keys).Draw(t, "key")
		l.into = rapid.SampledFrom([]string{"", "", "k", "m"}).Draw(t, "into")
		l.guard = rapid.SampledFrom([]string{"", "", "", "", "", "", "m", "m", "g0", "g0", "g1", "g1", "g2", "g2", "late", "late", "x"}).Draw(t, "guard")
		if l.key == workflow.OnError && l.guard == "late" {
			l.guard = "x" // a failure is handled when it happens: nobody looks at the edge again
		}
		s.links = append(s.links, l)
	}
	return s
}

// plan is the graph as a client would write it.
func (s *scenario) plan(t tester) *run.Plan {
	lines := make([]string, len(s.kinds))
	for i, kind := range s.kinds {
		var target []string
		for _, to := range s.targets[i] {
			if target = append(target, ""); to >= 0 {
				target[len(target)-1] = name(to)
			}
		}
		timeout := ""
		if s.behaviours[i].failure != "" {
			timeout = `"timeoutMs": 60000`
		}
		switch kind {
		case "call", "approve":
			lines[i] = name(i) + " " + kind
		case "code":
			lines[i] = codeNode(name(i), "return input")
		case "boom":
			lines[i] = expr(name(i), "input.none.none")
		case "compute":
			lines[i] = expr(name(i), fmt.Sprintf("({m: %d, in: input})", i%3))
		case "condition":
			lines[i] = fmt.Sprintf(`%s condition {"condition": "payload.c%d", "trueBranch": %q, "falseBranch": %q}`, name(i), i, target[0], target[1])
		case "switch":
			lines[i] = fmt.Sprintf(`%s switch {"expression": "payload.s%d", "cases": [{"value": %s, "nodeId": %q}, {"value": %s, "nodeId": %q}], "defaultNode": %q}`,
				name(i), i, s.cases[i][0], target[0], s.cases[i][1], target[1], target[2])
		case "input":
			lines[i] = name(i) + " input {" + timeout + "}"
		case "sub":
			lines[i] = name(i) + ` callWorkflow {"workflowId": "wf_2"}`
		case "return":
			lines[i] = name(i) + ` return {"value": {"m": 2, "returned": "{{ input }}"}}`
		case "pass":
			lines[i] = name(i) + " return"
		case "wait":
			lines[i] = name(i) + fmt.Sprintf(` wait {"delayMs": %d}`, 1000*(i%3))
		case "event":
			if timeout != "" {
				timeout = ", " + timeout
			}
			lines[i] = fmt.Sprintf(`%s waitForEvent {"event": "%s"%s}`, name(i), name(i), timeout)
		}
	}
	links := make([]string, len(s.links))
	for i, l := range s.links {
		guard := map[string]string{
			"": "", "m": " result?.m > 1", "x": " result.none.none", "late": fmt.Sprintf(" now() >= %d || result.none.none", far.UnixMilli()),
		}
		if _, fixed := guard[l.guard]; !fixed {
			guard[l.guard] = " payload." + l.guard
		}
		links[i] = name(l.source) + "." + l.key + " -> " + name(l.target) + "." + l.into + guard[l.guard]
	}
	return plan(t, nodes(lines...), edges(links...))
}

// actor plays what is outside of a run: it may do things in any order, do them
// twice, and lose the run from memory.
type actor struct {
	*harness
	s      *scenario
	r      *rapid.T
	made   map[workflow.NodeID]int // failed attempts
	facts  []run.Fact              // that were accepted
	shadow *run.Run                // the same run, never dropped from memory
	slow   *run.Run                // the same run, which stops after each node and is dropped from memory then
	base   storedRun               // the same run, as it was last stored where its facts are kept elsewhere
	kept   run.Step                // what it has done since
	lines  []byte                  // the facts of that
}

// act does one thing that the run waits for; ok is false when it waits for nothing.
func (a *actor) act() (ok bool) {
	choices := []func(){}
	for i := range a.s.kinds {
		for _, n := range a.run.Nodes() {
			if string(n.ID) == name(i) {
				if f := a.fact(i, n); f != nil {
					choices = append(choices, func() { a.both(f, true) })
				}
			}
		}
	}
	if wake := a.run.WakeAt(); wake != nil && wake.Before(far.Add(24*time.Hour)) {
		choices = append(choices, func() { a.now = *wake; a.both(run.TimeReached{}, true) })
	}
	if len(choices) == 0 {
		return false
	}
	rapid.SampledFrom(choices).Draw(a.r, "act")()
	return true
}

// fact is what a node that runs or waits is to be told, nil for nothing.
func (a *actor) fact(i int, n run.NodeState) run.Fact {
	f := a.s.behaviours[i]
	switch {
	case n.Status == run.NodeRunning && n.RetryAt == nil:
		switch {
		case a.made[n.ID] < f.flaky:
			return run.AttemptFailed{Node: n.ID, Attempt: n.Attempts, Code: "flaky", Message: "Again.", Retryable: true}
		case a.s.kinds[i] == "sub":
			return run.AttemptCalled{Node: n.ID, Attempt: n.Attempts, Call: run.CallStart{Run: child(n), Workflow: "wf_2", Version: "wfv_2", Waits: true}}
		case f.failure != "":
			return run.AttemptFailed{Node: n.ID, Attempt: n.Attempts, Code: f.failure, Message: "No."}
		case a.s.kinds[i] == "approve":
			return run.AttemptPaused{Node: n.ID, Attempt: n.Attempts}
		}
		return run.AttemptCompleted{Node: n.ID, Attempt: n.Attempts, Output: wantedOutput(a.s, i)}
	case n.Status == run.NodeWaiting && n.Pause.Kind == run.PauseRun:
		ended := run.Outcome{Run: child(n), Status: run.StatusCompleted, Output: json.RawMessage(text(wantedOutput(a.s, i)))}
		if f.failure != "" {
			ended.Status, ended.Failure = run.StatusFailed, &run.Failure{Code: f.failure, Message: "No."}
		} else if !n.Pause.RunPaused && a.now.UnixMilli()%2 == 0 {
			ended.Status = run.StatusPaused
		}
		return run.ChildrenChanged{Children: []run.Outcome{ended}}
	case n.Status != run.NodeWaiting || f.failure != "":
		return nil
	case n.Pause.Kind == run.PauseInput:
		return run.Resumed{Token: a.tokens[n.ID], Input: json.RawMessage(text(name(i)))}
	case n.Pause.Kind == run.PauseCustom:
		return run.Resumed{Token: a.tokens[n.ID], Input: json.RawMessage(text(wantedOutput(a.s, i)))}
	case n.Pause.Kind == run.PauseEvent:
		return run.EventArrived{Event: name(i), Data: json.RawMessage(text(i))}
	}
	return nil
}

// child is the run that an attempt at a node calls.
func child(of run.NodeState) run.ID { return run.ID(fmt.Sprintf("run_%s_%d", of.ID, of.Attempts)) }

// sameRuns compares runs by what stores keep of them.
var sameRuns = cmp.Comparer(func(a, b *run.Run) bool { return cmp.Equal(stored(a.State()), stored(b.State())) })

// both tells the run and its shadow, which must stay the same.
func (a *actor) both(f run.Fact, accepted bool) {
	a.t.Helper()
	a.does(f)
	step, err := a.shadow.Advance(a.plan, run.Event{At: a.now, Secret: secret, Fact: f})
	if err != nil {
		a.t.Fatal(err)
	}
	if diff := cmp.Diff(a.last, step, sameRuns); diff != "" {
		a.t.Fatalf("a run that was read again steps differently after %+v: %s", f, diff)
	}
	want := stored(a.run.State())
	if diff := cmp.Diff(want, stored(a.shadow.State())); diff != "" {
		a.t.Fatalf("after %+v the run that stayed in memory differs: %s", f, diff)
	}
	if diff := cmp.Diff(want, a.stepwise(f)); diff != "" {
		a.t.Fatalf("after %+v the run that stops after each node differs: %s", f, diff)
	}
	a.keep(f, step, want)
	if accepted != (step.Refused == nil) || !accepted && step.Changed() {
		a.t.Fatalf("%+v is answered with %v, changed %v", f, step.Refused, step.Changed())
	}
	if failed, ok := f.(run.AttemptFailed); ok && accepted && failed.Retryable {
		a.made[failed.Node]++
	}
	if _, timed := f.(run.TimeReached); accepted && !timed {
		a.facts = append(a.facts, f)
	}
}

// keep checks that whoever has the run as it was last stored comes to the same by the facts that were kept
// since, also where it is given them twice.
func (a *actor) keep(f run.Fact, step run.Step, want storedRun) {
	a.t.Helper()
	line, known := run.EncodeFact(run.PastFact{At: a.now, Fact: f})
	if a.kept = a.kept.Then(step); !known || !a.kept.MayBeKept() || step.Refused != nil {
		a.base, a.kept, a.lines = want, run.Step{}, nil
		return
	}
	a.lines = append(a.lines, line...)
	facts, err := run.DecodeFacts(slices.Concat(a.lines, a.lines))
	if err != nil {
		a.t.Fatal(err)
	}
	behind := a.base.restored(a.t)
	for _, fact := range facts {
		if _, err := behind.Advance(a.plan, run.Event{At: fact.At, Secret: secret, Fact: fact.Fact}); err != nil {
			a.t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, stored(behind.State())); diff != "" {
		a.t.Fatalf("after %+v the run that was given what was kept differs: %s\n%s", f, diff, a.lines)
	}
}

// stepwise tells the run that stops after each node, and returns its state when it has
// gone on to the end.
func (a *actor) stepwise(f run.Fact) storedRun {
	a.t.Helper()
	for range 100 {
		if _, err := a.slow.Advance(a.plan, run.Event{At: a.now, Secret: secret, Fact: f, Budget: run.Budget{Steps: 1}}); err != nil {
			a.t.Fatal(err)
		}
		state := stored(a.slow.State())
		if a.slow = state.restored(a.t); !a.slow.More() {
			return state
		}
		if wake := a.slow.WakeAt(); wake == nil || wake.After(a.now) {
			a.t.Fatalf("a run that has more to do wakes at %v", wake)
		}
		f = run.TimeReached{}
	}
	a.t.Fatal("the run never comes to what it waits for")
	return storedRun{}
}

// repeat tells something again that was accepted before.
func (a *actor) repeat() {
	f := rapid.SampledFrom(a.facts).Draw(a.r, "again")
	switch f.(type) {
	case run.EventArrived: // it may well be the answer that another node waits for
		return
	case run.ChildrenChanged: // it is never refused
		return
	}
	if _, retried := f.(run.RetryRequested); retried {
		return
	}
	a.both(f, false)
}

// takeOver checks that another process would make the attempts that are open.
func (a *actor) takeOver() {
	open, err := a.run.Outstanding(a.plan)
	if err != nil {
		a.t.Fatal(err)
	}
	for _, e := range open {
		asked := a.open[e.Node]
		e.Deadline, asked.Deadline = time.Time{}, time.Time{} // a pause has moved it
		if diff := cmp.Diff(asked, e); diff != "" {
			a.t.Fatalf("the attempt is another one when the run is taken over: %s", diff)
		}
	}
}

// play drives a run to its end.
func (a *actor) play() {
	for range 400 {
		if rapid.IntRange(0, 3).Draw(a.r, "disturbance") == 0 {
			a.repeat()
		}
		a.takeOver()
		if a.run.Status().Finished() {
			return
		}
		if !a.act() {
			a.t.Fatalf("the run is %s and waits for nothing: %s", a.run.Status(), a.nodes())
		}
	}
	a.t.Fatalf("the run does not end: %s", a.nodes())
}

func newActor(rt *rapid.T, s *scenario) *actor {
	p := s.plan(rt)
	started := start(text(s.payload))
	started.Trigger = fired(rt, "trg_1", "t", `{"timeoutMs": 999999999999}`)
	a := &actor{s: s, r: rt, made: map[workflow.NodeID]int{}, shadow: run.New(runID, started, noon), facts: []run.Fact{run.Started{}}}
	if _, err := a.shadow.Advance(p, run.Event{At: noon, Secret: secret, Fact: run.Started{}}); err != nil {
		rt.Fatal(err)
	}
	a.harness = begin(rt, p, started)
	a.slow = run.New(runID, started, noon)
	a.base = a.stepwise(run.Started{})
	return a
}
