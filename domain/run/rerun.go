package run

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/workflow"
)

// RerunVersion says which version repeats a run.
type RerunVersion string

// What may repeat a run: what it executes itself, or the active version of its workflow.
const (
	SameVersion   RerunVersion = "same"
	ActiveVersion RerunVersion = "active"
)

// RerunCall asks for a run to be repeated.
type RerunCall struct {
	From    *workflow.NodeID // nil for from the beginning
	Version *RerunVersion    // nil for the same
	Payload json.RawMessage  // any JSON value; nil for that of the run

	Malformed []domain.Violation
}

// Check returns what is wrong with the call, as [Call.Check] does. That there is such a node is
// looked up.
func (c RerunCall) Check() error {
	var r domain.Rules
	r.Add(c.Malformed...)
	if v := c.Version; v != nil {
		r.Check(*v == SameVersion || *v == ActiveVersion, "version", domain.NotAllowed, "must be %q or %q", SameVersion, ActiveVersion)
	}
	checkJSON(&r, c.Payload, "payload")
	return r.Err(callInvalid, callInvalidMessage)
}

// Active says whether the active version repeats the run.
func (c RerunCall) Active() bool { return c.Version != nil && *c.Version == ActiveVersion }

// Again is what a run is repeated with.
type Again struct {
	Source
	DedupeKey string
	Payload   json.RawMessage  // nil for that of the run
	From      *workflow.NodeID // nil for from the beginning
}

// Rerun makes a pending run that repeats this one, with its trigger, entity, retry policy and
// timeout. With a node to begin at it takes over the results of all other nodes that the node
// does not lead to, as far as everything before them has been taken over; which edges are taken
// is decided anew. What passed on the payload passes on that of the new run. The error is
// Invalid, about from, where a result is missing of what comes before the node, and a Conflict with the code run_of_item for the run of an item. The plan is that
// of the source; it is only looked at when there is a node to begin at.
func (r *Run) Rerun(p *Plan, id ID, a Again, now time.Time) (*Run, error) {
	if r.IsItem() {
		return nil, domain.Fail(domain.Conflict, "run_of_item", "The run is of an item of node %q of run %s: repeat that one, or retry this one where it has failed.", r.state.ParentNode, r.state.Parent)
	}
	o := r.state.Origin
	o.ID, o.RerunOf, o.Cause, o.CreatedAt = id, o.ID, CauseRerun, now
	o.Version, o.Snapshot, o.DedupeKey, o.ReplayOf = a.Version, a.Snapshot, a.DedupeKey, ""
	if len(a.Payload) > 0 {
		o.Payload = a.Payload
	}
	o.Parent, o.ParentNode, o.ParentWaits, o.Depth = "", "", false, 0 // nobody waits for it
	next := &Run{state: State{Origin: o, Status: StatusPending, UpdatedAt: now}}
	if a.From == nil {
		return next, nil
	}
	t := &takeover{of: r, plan: p, outside: newNodeSet(len(p.nodes)), taken: newNodeSet(len(p.nodes)), passed: newNodeSet(len(p.nodes))}
	if problem := t.choose(o.attachedTrigger(), *a.From); problem != "" {
		var rules domain.Rules
		rules.Check(false, "from", domain.Unknown, "%s", problem)
		return nil, rules.Err(callInvalid, callInvalidMessage)
	}
	next.state.Progress = t.progress()
	return next, nil
}

// attachedTrigger is the trigger that a run is of; the zero value for none.
func (o *Origin) attachedTrigger() (by workflow.AttachedTrigger) {
	if o.Trigger != "" {
		by = workflow.AttachedTrigger{ID: string(o.Trigger), Name: o.TriggerName, Type: string(o.TriggerType)}
	}
	return by
}

// takeover finds what a run can take over from another one. Nodes are the same by their ids.
type takeover struct {
	of      *Run
	plan    *Plan
	outside nodeSet // nodes that the run does not come to
	taken   nodeSet // nodes whose results are taken over
	passed  nodeSet // nodes that were skipped, and are decided anew
}

// choose says what stands against beginning at a node, empty for nothing.
func (t *takeover) choose(by workflow.AttachedTrigger, from workflow.NodeID) (problem string) {
	for _, i := range t.plan.beginning(by).outside {
		t.outside.add(i)
	}
	at, known := t.plan.index[from]
	if !known || t.outside.has(at) {
		return "must be a node that runs of this version come to"
	}
	for _, id := range t.plan.graph.TopologicalOrder() {
		if i := t.plan.index[id]; i != at && !t.plan.nodes[i].before.has(at) && !t.outside.has(i) {
			t.consider(i)
		}
	}
	reached := len(t.plan.nodes[at].in) == 0
	for i := range t.plan.nodes {
		if !t.plan.nodes[at].before.has(i) || t.outside.has(i) {
			continue
		}
		if !t.taken.has(i) && !t.passed.has(i) {
			return "must be a node that the run can go on from: it has no result of " + strconv.Quote(string(t.plan.nodes[i].id)) + ", which comes before"
		}
	}
	for _, e := range t.plan.nodes[at].in {
		reached = reached || t.taken.has(t.plan.edges[e].source)
	}
	if !reached {
		return "must be a node that the run came to"
	}
	return ""
}

// consider takes the result of a node over whose predecessors were considered before.
func (t *takeover) consider(i int) {
	old, known := t.state(t.plan.nodes[i].id)
	for _, e := range t.plan.nodes[i].in {
		source := t.plan.edges[e].source
		known = known && (t.taken.has(source) || t.passed.has(source) || t.outside.has(source))
	}
	switch {
	case !known:
	case old.Status == NodeCompleted || old.Status == NodeFailed && old.Handled:
		t.taken.add(i)
	case old.Status == NodeSkipped:
		t.passed.add(i)
	}
}

func (t *takeover) state(id workflow.NodeID) (*NodeState, bool) {
	i := slices.IndexFunc(t.of.state.Nodes, func(n NodeState) bool { return n.ID == id })
	if i < 0 {
		return nil, false
	}
	return &t.of.state.Nodes[i], true
}

// progress is that of the new run.
func (t *takeover) progress() (p Progress) {
	p.Nodes = t.plan.untouched()
	for i := range p.Nodes {
		if !t.taken.has(i) {
			continue
		}
		n := &p.Nodes[i]
		old, _ := t.state(n.ID)
		*n = NodeState{
			ID: n.ID, Status: old.Status, Attempts: old.Attempts, Branch: old.Branch, Failure: old.Failure, Handled: old.Handled,
			Output: old.Output, OutputOf: old.OutputOf, OutputIsInput: old.OutputIsInput, TakenOver: true, StartedAt: old.StartedAt, FinishedAt: old.FinishedAt,
		}
		if source, known := t.plan.index[n.OutputOf]; n.OutputOf != "" && (!known || !t.taken.has(source)) {
			n.OutputOf = ""
			n.Output, _ = t.of.Output(n.ID)
		}
		if len(n.Output) > InlineOutput {
			n.OutputSeq = takenOverSeq
		}
	}
	for _, id := range t.of.state.Executed {
		if i, known := t.plan.index[id]; known && t.taken.has(i) && p.Nodes[i].Status == NodeCompleted {
			p.Executed = append(p.Executed, id)
		}
	}
	return p
}

// takenOverSeq is before every step of a run.
const takenOverSeq = -1

// untouched are the nodes of a run that has not begun.
func (p *Plan) untouched() []NodeState {
	nodes := make([]NodeState, len(p.nodes))
	for i := range p.nodes {
		nodes[i] = NodeState{ID: p.nodes[i].id, Status: NodePending}
	}
	return nodes
}

// goOnFromTaken decides where the run goes on from the nodes whose results it takes over. All
// of them are decided before the run can fail at one, so that a retry finds them so.
func (m *machine) goOnFromTaken() {
	var failure *Failure
	for _, id := range m.plan.graph.TopologicalOrder() {
		i := m.plan.index[id]
		n := m.node(i)
		if !n.TakenOver {
			continue
		}
		m.record(Entry{Type: EntryNodeTakenOver, Node: id, Attempt: n.Attempts, Branch: n.Branch})
		if n.Status == NodeCompleted {
			failure = cmp.Or(failure, m.decideEdges(i))
		} else if n.Dead, _ = m.decide(i, true); len(n.Dead) == len(m.plan.nodes[i].out) {
			n.Handled = false
			failure = cmp.Or(failure, n.Failure)
		}
		m.follow(i)
	}
	if failure != nil {
		m.finish(StatusFailed, failure, "")
	}
}
