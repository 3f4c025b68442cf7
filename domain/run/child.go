package run

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/domain/workflow"
)

// MaxDepth is below how many others a run may be, each of which called the next.
const MaxDepth = 8

// AttemptCalled is an attempt whose effect is another run, which starts with the step. It is
// refused like [AttemptCompleted].
type AttemptCalled struct {
	Node    workflow.NodeID
	Attempt int
	Call    CallStart
}

// AttemptPostponed is an attempt that has to wait for something else and is to be made again;
// it does not count as one that failed. It is refused like [AttemptCompleted].
type AttemptPostponed struct {
	Node    workflow.NodeID
	Attempt int
	Reason  string // for people
}

// ChildrenChanged says how far runs are that nodes wait for. Those that none waits for are
// passed over; it is never refused.
type ChildrenChanged struct{ Children []Outcome }

// Outcome is how far another run is.
type Outcome struct {
	Run     ID
	Index   int // of the item that it is of
	Status  Status
	Failure *Failure        // of a failed one
	Output  json.RawMessage // of a completed one; nil for none
	Omitted bool            // its output is too large
}

// Outcome says how far the run is.
func (r *Run) Outcome() Outcome {
	o := Outcome{Run: r.state.ID, Index: r.state.Index, Status: r.state.Status, Failure: r.state.Failure}
	o.Output, o.Omitted = r.Result(MaxOutput)
	return o
}

// CallStart is what a node starts another run with.
type CallStart struct {
	Run       ID // of the new run
	Workflow  workflow.ID
	Version   workflow.VersionID
	DedupeKey string // empty for none
	Payload   any    // JSON tree
	Waits     bool   // the node waits for the end of the run
}

// CallKey is the dedupe key of a run that another one calls: each workflow has its own.
func CallKey(of workflow.ID, key string) string { return string(of) + ":" + key }

func (m *machine) attemptCalled(i int, f AttemptCalled) {
	o, n := &m.s.Origin, m.node(i)
	payload, err := appendValue(nil, f.Call.Payload)
	m.charge(len(payload) / writeForStep)
	switch {
	case o.Depth >= MaxDepth:
		m.fail(i, Failure{Code: CodeCallTooDeep, Message: fmt.Sprintf("The run is below %d others, each of which called the next. It can call none.", MaxDepth)})
		return
	case err != nil:
		m.fail(i, Failure{Code: CodeInputInvalid, Message: fmt.Sprintf("The input must be a JSON value, but %v.", err)})
		return
	case len(payload) > MaxOutput:
		m.fail(i, Failure{Code: CodeInputInvalid, Message: fmt.Sprintf("The input must be at most %d bytes of JSON, not %d.", MaxOutput, len(payload))})
		return
	}
	m.s.Calls++
	m.step.Start = append(m.step.Start, m.child(n.ID, f.Call, payload))
	if !f.Call.Waits {
		m.give(i, map[string]any{"runId": string(f.Call.Run)}, "")
		return
	}
	n.Status, n.Failure, n.Pause = NodeWaiting, nil, &Pause{Kind: PauseRun, Since: m.at, Seq: m.s.Seq + 1, Run: f.Call.Run}
	m.record(Entry{Type: EntryNodeWaiting, Node: n.ID})
}

// child makes a run that a node calls. It belongs to the same sub-tenant and is about the same
// entity, and its time is no more than what this one has left.
func (m *machine) child(of workflow.NodeID, c CallStart, payload json.RawMessage) *Run {
	o := &m.s.Origin
	r := New(c.Run, Start{
		Tenant: o.Tenant, SubTenant: o.SubTenant, Workflow: c.Workflow, Version: c.Version, Entity: o.Entity, DedupeKey: c.DedupeKey,
		Cause: CauseCall, Payload: payload,
	}, m.at)
	s := &r.state
	s.Parent, s.ParentNode, s.ParentWaits, s.Depth = o.ID, of, c.Waits, o.Depth+1
	s.boundBy(m.run, m.at)
	return r
}

// Bounds of how long a postponed attempt waits.
const (
	minPostponed = time.Second
	maxPostponed = time.Minute
)

func (m *machine) attemptPostponed(i int, f AttemptPostponed) {
	n := m.node(i)
	at := truncated(m.at.Add(min(minPostponed<<min(n.Attempts-1, 10), maxPostponed)))
	n.AttemptsBeforeRetry++
	n.RetryAt = &at
	m.record(Entry{Type: EntryNodeRetrying, Node: n.ID, Attempt: n.Attempts, Message: f.Reason, Until: &at})
}

func (m *machine) childrenChanged(f ChildrenChanged) {
	for _, o := range f.Children {
		for i := range m.s.Nodes {
			n := m.node(i)
			if n.Status != NodeWaiting || n.Pause.Run != o.Run || m.s.Status.Finished() {
				continue
			}
			if o.Status.Finished() {
				m.called(i, o)
				continue
			}
			if paused := o.Status == StatusPaused; paused != n.Pause.RunPaused {
				p := *n.Pause
				p.RunPaused, n.Pause = paused, &p
				m.record(Entry{Type: EntryNodeWaiting, Node: n.ID})
			}
		}
	}
}

// called settles a node whose run has ended.
func (m *machine) called(i int, o Outcome) {
	output, failure := o.result()
	if failure != nil {
		m.fail(i, *failure)
		return
	}
	m.give(i, output, "")
}

// result is what an ended run gives to the node that called it.
func (o Outcome) result() (json.RawMessage, *Failure) {
	switch {
	case o.Status == StatusFailed && o.Failure != nil:
		return nil, &Failure{Code: CodeCallFailed, Message: fmt.Sprintf("Run %s failed with %s: %s", o.Run, o.Failure.Code, o.Failure.Message)}
	case o.Status != StatusCompleted:
		return nil, &Failure{Code: CodeCallCancelled, Message: fmt.Sprintf("Run %s was cancelled.", o.Run)}
	case o.Omitted:
		return nil, &Failure{Code: CodeOutputTooLarge, Message: fmt.Sprintf("The output of run %s is larger than %d bytes of JSON.", o.Run, MaxOutput)}
	case o.Output == nil:
		return json.RawMessage("null"), nil
	}
	return o.Output, nil
}

// Answers is the fact of an attempt that stands for a run that has ended.
func (o Outcome) Answers(at workflow.NodeID, attempt int) Fact {
	output, failure := o.result()
	if failure != nil {
		return AttemptFailed{Node: at, Attempt: attempt, Code: failure.Code, Message: failure.Message}
	}
	return AttemptCompleted{Node: at, Attempt: attempt, Output: output}
}

// WaitsFor lists the runs that nodes wait for.
func (r *Run) WaitsFor() (runs []ID) {
	for i := range r.state.Nodes {
		if n := &r.state.Nodes[i]; n.Status == NodeWaiting && n.Pause.Run != "" {
			runs = append(runs, n.Pause.Run)
		}
	}
	return runs
}

// Wants says whether a run that has not ended goes on, by how far its parent is: not when that
// was cancelled, and not when it has ended and would have waited.
func (r *Run) Wants(parent Status) bool {
	return parent != StatusCancelled && (!r.state.ParentWaits || !parent.Finished())
}

// Parent is the run that started this one; empty for none.
func (r *Run) Parent() ID { return r.state.Parent }

// ParentNode is the node of the parent that started the run; empty for none.
func (r *Run) ParentNode() workflow.NodeID { return r.state.ParentNode }

// Depth is how many runs are above the run.
func (r *Run) Depth() int { return r.state.Depth }

// Calls is how many other runs the run has started.
func (r *Run) Calls() int { return r.state.Calls }
