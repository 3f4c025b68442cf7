package run

import (
	"fmt"

	"github.com/sluicehq/sluice/domain/workflow"
)

// leave decides where the run goes on from a completed node. All of its edges are decided
// together: where the condition of one cannot be computed none is followed, and the run
// fails at that edge, at once, as it does with a node. The node stays completed, so that
// what it did outside is not done again, and no edge for failures is taken, for it has
// none. ok is false when the run has failed.
func (m *machine) leave(i int) (ok bool) {
	if failure := m.decideEdges(i); failure != nil {
		m.finish(StatusFailed, failure, "")
		return false
	}
	m.follow(i)
	return true
}

// decideEdges notes which edges of a completed node are not taken. Where some cannot be
// decided it returns the failure of the first.
func (m *machine) decideEdges(i int) *Failure {
	n := m.node(i)
	dead, doubts := m.decide(i, false)
	if len(doubts) == 0 {
		n.Dead, n.Undecided = dead, nil
		return nil
	}
	n.Dead, n.Undecided = make([]int, len(m.plan.nodes[i].out)), make([]workflow.EdgeID, len(doubts))
	for place := range n.Dead {
		n.Dead[place] = place
	}
	for at, d := range doubts {
		n.Undecided[at] = d.edge.id
	}
	failure := m.recordUndecided(i, doubts)
	return &failure
}

// recordUndecided writes into the history which edges of a node could not be decided, and
// returns the failure of the first.
func (m *machine) recordUndecided(i int, doubts []undecidedEdge) (first Failure) {
	id := m.node(i).ID
	for at, d := range doubts {
		f := Failure{
			Code: CodeEdgeCondition, Node: id, Edge: d.edge.id,
			Message: fmt.Sprintf("The condition of edge %s (%s -> %s) cannot be computed: %s", d.edge.id, id, m.plan.nodes[d.edge.target].id, d.reason),
		}.storable()
		m.record(Entry{Type: EntryEdgeFailed, Node: id, Edge: d.edge.id, Code: f.Code, Message: f.Message})
		if at == 0 {
			first = f
		}
	}
	return first
}

// maxUndecided bounds how many undecided edges of a node are in the history.
const maxUndecided = 5

// undecidedEdge is one whose condition cannot be computed.
type undecidedEdge struct {
	edge   *plannedEdge
	reason string // begins with the path of the condition
}

// decide finds the outgoing edges that are not taken: those of another outcome or branch,
// and those whose condition does not hold. doubts are the undecided ones; of a completed
// node, no further edges are looked at after the first [maxUndecided], and of a failed one
// they are not taken.
func (m *machine) decide(i int, failed bool) (dead []int, doubts []undecidedEdge) {
	n, before := m.node(i), m.used.Steps
	for _, e := range m.plan.nodes[i].out {
		w := &m.plan.edges[e]
		open := w.open(failed, n.Branch)
		if open && w.guard != nil {
			holds, f := m.holds(i, w, before)
			if f != nil {
				if len(doubts) < maxUndecided {
					doubts = append(doubts, undecidedEdge{w, f.Message})
				}
				if !failed && len(doubts) == maxUndecided {
					return nil, doubts
				}
			}
			open = holds
		}
		if !open {
			dead = append(dead, w.place)
		}
	}
	return dead, doubts
}

// maxDecideSteps bounds what the conditions of a node's edges compute together.
const maxDecideSteps = 1_000_000

// holds says whether the condition of an edge is true. before is how much was computed
// before the first edge of its node.
func (m *machine) holds(i int, w *plannedEdge, before int64) (bool, *Failure) {
	if m.used.Steps-before > maxDecideSteps {
		return false, &Failure{Code: CodeExpression, Message: fmt.Sprintf(
			"%s: the conditions of the edges that leave a node must be decided within %d steps together", w.guard.field, maxDecideSteps)}
	}
	if f := m.ready(i, w.guard.uses); f != nil {
		return false, f
	}
	value, f := w.guard.evaluate(m.view, i, m.at, map[string]any{workflow.RootResult: m.output(i)})
	return f == nil && truthy(value), f
}

// FailedEdge is the edge of a node that a run failed at, the first one that could not be
// decided; empty when they were. A store that keeps the rest of [State.Failure] in columns
// finds its Edge by its Node.
func (p *Progress) FailedEdge(source workflow.NodeID) workflow.EdgeID {
	for i := range p.Nodes {
		if n := &p.Nodes[i]; n.ID == source && len(n.Undecided) > 0 {
			return n.Undecided[0]
		}
	}
	return ""
}
