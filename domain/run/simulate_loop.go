package run

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sluicehq/sluice/domain/workflow"
)

// bodyKey is the body of a node of a plan.
type bodyKey struct {
	of   *Plan
	loop workflow.NodeID
}

// simulatedLoop is what becomes of the items of a node.
type simulatedLoop struct {
	at     time.Time // when the node need not wait any more
	ended  ItemsEnded
	paused bool              // nothing but pauses takes time
	open   []workflow.NodeID // nodes in the body that would need another answer; then it never ends
}

// loop simulates the items of a node, unless there is an answer for it.
func (s *simulation) loop(l LoopStart) error {
	if s.used[l.Node] < len(s.Answers[l.Node]) || s.Body == nil {
		return nil
	}
	key := bodyKey{s.plan, l.Node}
	if s.spent.bodies[key] == nil {
		s.spent.bodies[key] = s.Body(s.plan, l.Node)
		if err := s.spend(s.spent.bodies[key].Weight()); err != nil {
			return err
		}
	}
	items := loopSimulation{
		simulation: s, LoopStart: l, body: s.spent.bodies[key], free: make([]time.Time, min(l.Concurrency, len(l.Items))),
		found: simulatedLoop{at: s.now, ended: ItemsEnded{Node: l.Node, Count: len(l.Items)}, paused: true},
	}
	for i := range items.free {
		items.free[i] = s.now
	}
	effects := len(s.trace.Effects)
	if err := items.play(); err != nil {
		return err
	}
	if items.failed { // what the others would have done later they do not
		s.trace.Effects = slices.DeleteFunc(s.trace.Effects, func(e Effect) bool { effects--; return effects < 0 && e.At.After(items.found.at) })
	}
	s.loops[l.Node], s.trace.Loops = items.found, append(s.trace.Loops, items.outcomes())
	return nil
}

// loopSimulation simulates the items of a node, one after the other, each at its time.
type loopSimulation struct {
	*simulation
	LoopStart
	body   *Plan
	free   []time.Time // when each of those that may be under way is over
	found  simulatedLoop
	failed bool // at the time at which the node need not wait any more
	size   int  // of what the items gave
	ended  []timedOutcome
}

func (l *loopSimulation) play() error {
	for index, item := range l.Items {
		if len(l.free) == 0 {
			return nil // all that may be under way would need an answer
		}
		place := 0
		for i, at := range l.free {
			if at.Before(l.free[place]) {
				place = i
			}
		}
		begins := l.free[place]
		if l.failed && index >= l.Concurrency && !begins.Before(l.found.at) {
			return nil
		}
		below, err := l.item(index, item, begins)
		if err != nil {
			return err
		}
		if err := l.keepOutcome(index, below); err != nil {
			return err
		}
		l.trace.Effects = append(l.trace.Effects, below.trace.Effects...)
		l.found.paused = l.found.paused && !below.worked
		if !below.run.Status().Finished() {
			l.free = slices.Delete(l.free, place, place+1)
			l.open(below.trace.Open)
			continue
		}
		l.free[place] = below.now
		l.end(below.run.Outcome(), below.now)
	}
	return nil
}

// item simulates one item. Its nodes take the answers that are left.
func (l *loopSimulation) item(index int, item json.RawMessage, at time.Time) (*simulation, error) {
	id := ID(fmt.Sprintf("%s.%s.%d", l.run.ID(), l.Node, index)) // which code draws its random numbers from
	below := l.below(l.body, l.run.Item(l.Node, id, index, at).WithGiven(item, l.Outer), at, maps.Clone(l.Answers))
	below.used = l.used
	if len(l.Shown) > 1 && l.Shown[0] == (ItemPlace{l.Node, index}) {
		below.Shown = l.Shown[1:]
	}
	_, err := below.play()
	for node, n := range l.used { // what other runs gave is not for the next item, and what is pinned is for each
		l.used[node] = min(n, len(l.Answers[node]))
		if l.used[node] > 0 && l.Answers[node][0].Pinned {
			l.used[node] = 0
		}
	}
	return below, err
}

func (l *loopSimulation) open(nodes []workflow.NodeID) {
	for _, id := range nodes {
		if !l.failed && !slices.Contains(l.found.open, id) {
			l.found.open = append(l.found.open, id)
		}
	}
}

// end notes what became of an item.
func (l *loopSimulation) end(o Outcome, at time.Time) {
	f := &l.found
	switch {
	case l.FailFast && o.Status != StatusCompleted:
		if !l.failed || at.Before(f.at) {
			*f = simulatedLoop{at: at, paused: f.paused, ended: ItemsEnded{Node: f.ended.Node, Count: f.ended.Count, Items: []Outcome{o}}}
		}
		l.failed = true
	case !l.failed:
		if l.size += len(o.Output); l.size > MaxOutput {
			o.Output, f.ended.Omitted = nil, true
		}
		f.ended.Items = append(f.ended.Items, o)
		f.at = time.UnixMilli(max(f.at.UnixMilli(), at.UnixMilli())).UTC()
	}
}

// itemsNext is what a node that waits for its items is told next; ok is false where that would need
// an answer.
func (s *simulation) itemsNext(n *NodeState) (next upcoming, ok bool) {
	l, known := s.loops[n.ID]
	switch {
	case !known:
		s.trace.Open = append(s.trace.Open, n.ID)
	case len(l.open) > 0:
		s.trace.Open = append(s.trace.Open, l.open...)
	case l.paused && !n.Pause.RunPaused && l.at.After(s.now):
		return upcoming{at: s.now, fact: ItemsPaused{Node: n.ID, Paused: true}}, true
	default:
		return upcoming{at: l.at, fact: l.ended}, true
	}
	return upcoming{}, false
}

// itemsAnswered stands for all items of a node.
type itemsAnswered struct {
	node    workflow.NodeID
	failure *AttemptFailed
	output  json.RawMessage
}

func (itemsAnswered) fact() {}

func (m *machine) itemsAnswered(f itemsAnswered) {
	i, waits := m.awaitsItems(f.node)
	switch {
	case !waits:
	case f.failure != nil:
		m.fail(i, Failure{Code: f.failure.Code, Message: f.failure.Message})
	default:
		m.give(i, f.output, "")
	}
}
