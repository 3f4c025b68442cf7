package run

import (
	"bytes"
	"fmt"
)

// give completes a node with a value that it computed or that was brought.
func (m *machine) give(i int, value any, branch string) {
	n := m.node(i)
	most := m.plan.nodes[i].mostOutput()
	text, err := appendValue(nil, value)
	weight := weightOf(text)
	m.charge(len(text) / writeForStep)
	switch {
	case err != nil:
		m.fail(i, Failure{Code: CodeOutputInvalid, Message: fmt.Sprintf("The output must be a JSON value, but %v.", err)})
		return
	case len(text) > most:
		m.fail(i, Failure{Code: CodeOutputTooLarge,
			Message: fmt.Sprintf("The output must be at most %d bytes of JSON, not %d.", most, len(text))})
		return
	}
	total := len(text)
	for j := range m.s.Nodes {
		total += len(m.s.Nodes[j].Output)
	}
	if total > MaxOutputs {
		m.fail(i, Failure{Code: CodeRunTooLarge,
			Message: fmt.Sprintf("The outputs of all nodes must be at most %d bytes of JSON together, not %d.", MaxOutputs, total)})
		return
	}
	m.forget(i)
	m.given += weight
	n.Output = bytes.Clone(text) // which leaves no room behind the text
	if len(text) > InlineOutput {
		n.OutputSeq = m.s.Seq + 1
	}
	m.complete(i, branch)
}

// pass completes a node whose output is its input.
func (m *machine) pass(i int, branch string) {
	n := m.node(i)
	w := m.sole(i)
	switch {
	case w == nil && !m.merges(i):
		n.OutputIsInput = true
	case w != nil && w.member == "" && m.node(w.source).Status == NodeCompleted:
		source := m.node(w.source)
		n.OutputIsInput, n.OutputOf = source.OutputIsInput, source.OutputOf
		if !n.OutputIsInput && n.OutputOf == "" {
			n.OutputOf = source.ID
		}
	default:
		if failure := m.ready(i, uses{input: true}); failure != nil {
			m.fail(i, *failure)
			return
		}
		m.give(i, m.input(i), branch)
		return
	}
	m.complete(i, branch)
}

// merges says whether any edge to the node is taken.
func (v view) merges(i int) bool {
	for _, e := range v.plan.nodes[i].in {
		if v.taken(&v.plan.edges[e]) {
			return true
		}
	}
	return false
}

// complete settles a node that has its output, whatever its edges come to.
func (m *machine) complete(i int, branch string) {
	n := m.node(i)
	at, before := m.at, n.Status
	n.Status, n.Branch, n.Failure, n.FinishedAt = NodeCompleted, branch, nil, &at
	m.s.Executed = append(m.s.Executed, n.ID)
	m.goOn(before)
	by := m.by
	m.by = nil
	n.noteActor(by)
	m.record(Entry{Type: EntryNodeCompleted, Node: n.ID, Attempt: n.Attempts, Branch: branch, By: by})
	m.emitResumed(n, before)
	m.leave(i)
}

// fail settles a node that has no attempt left. Unless an edge for failures is
// taken, the run fails with it, at once: what runs next to it is cut off. An edge whose
// condition is false, or cannot be computed, takes nothing, whatever the others do: it
// says which failures its author has thought of, and a run that went on after any other
// would look well and be broken.
func (m *machine) fail(i int, f Failure) {
	n := m.node(i)
	at, before := m.at, n.Status
	f = f.storable()
	f.Node = n.ID
	n.Status, n.Failure, n.FinishedAt, n.RetryAt = NodeFailed, &f, &at, nil
	dead, doubts := m.decide(i, true)
	n.Handled = len(dead) < len(m.plan.nodes[i].out)
	if len(doubts) > 0 && !n.Handled { // or nobody would know why no edge was taken
		f.Message += " (No edge for failures was taken: " + doubts[0].reason + ")"
		f = f.storable()
	}
	if n.Handled {
		m.goOn(before)
	}
	m.record(Entry{Type: EntryNodeFailed, Node: n.ID, Attempt: n.Attempts, Code: f.Code, Message: f.Message})
	m.recordUndecided(i, doubts)
	if !n.Handled {
		m.finish(StatusFailed, &f, "")
		return
	}
	n.Dead = dead
	m.emitResumed(n, before)
	m.follow(i)
}

// emitResumed adds the event of a node that goes on and whose pause was reported.
func (m *machine) emitResumed(n *NodeState, before NodeStatus) {
	if before == NodeWaiting && !n.Pause.Kind.byRuns() {
		m.emit(DomainEvent{Type: RunResumed, Node: n.ID})
	}
}

// goOn ends the pause of a run when the first node goes on that waited in it, also where
// the run comes to its end, or to the next pause, without anything outside.
func (m *machine) goOn(before NodeStatus) {
	if before == NodeWaiting && m.s.Status == StatusPaused {
		m.activate(EntryRunResumed)
	}
}
