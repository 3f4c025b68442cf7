package run

import (
	"slices"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/workflow"
)

// ItemPlace is an item of a node that runs a body.
type ItemPlace struct {
	Node  workflow.NodeID
	Index int
}

// SimulatedItems is what became of the items of a node.
type SimulatedItems struct {
	Node  workflow.NodeID
	Count int
	Items []ItemOutcome // [MaxSimulatedItems] at most, those that failed first
}

// ItemOutcome is how an item ended, or that it has not.
type ItemOutcome struct {
	Index  int
	Status Status
}

// MaxSimulatedItems is of how many items of a node a simulation says what became of them.
const MaxSimulatedItems = 1000

// ItemTrace is what a simulation did for one item.
type ItemTrace struct {
	Plan    *Plan // of the body
	Run     *Run
	History []Entry
	Loops   []SimulatedItems // within the body
}

// maxItemDepth is how many places say which item is shown: one for each body that it is in.
const maxItemDepth = 8

// checkShown records in r what is wrong with the place of the item that a simulation shows.
func checkShown(r *domain.Rules, places []ItemPlace) {
	r.Check(len(places) <= maxItemDepth, "item", domain.TooLong, "must hold at most %d places, not %d", maxItemDepth, len(places))
	for i, place := range places {
		field := domain.Member(domain.Index("item", i), "index")
		r.Check(place.Index >= 0, field, domain.TooSmall, "must be at least 0, not %d", place.Index)
	}
}

// checkShown demands that the item that is shown is of nodes that exist.
func (o Outside) checkShown(p *Plan) error {
	var r domain.Rules
	for i, place := range o.Shown {
		r.Check(p.graph.Whole().Has(place.Node), domain.Member(domain.Index("item", i), "nodeId"), domain.Unknown,
			"must be a node of this version; there is no %q", place.Node)
	}
	return r.Err("simulation_invalid", "The item that the simulation is to show is not valid.")
}

// timedOutcome is what became of an item, and when it came to that.
type timedOutcome struct {
	ItemOutcome
	at time.Time
}

// keepOutcome keeps how an item ended, and all of it where it is the one that is shown.
func (l *loopSimulation) keepOutcome(index int, below *simulation) error {
	l.ended = append(l.ended, timedOutcome{ItemOutcome{index, below.run.Status()}, below.now})
	switch {
	case len(l.Shown) == 0 || l.Shown[0] != ItemPlace{l.Node, index}:
		return nil
	case len(l.Shown) > 1:
		l.trace.Item = below.trace.Item
		return nil
	}
	l.trace.Item = &ItemTrace{Plan: l.body, Run: below.run, History: below.trace.History, Loops: below.trace.Loops}
	return l.spend(int64(below.run.Size()))
}

// outcomes is what became of all items. A failure that ends the node cancels those that had not ended by then,
// and none of them is shown: what their simulation did after it does not happen.
func (l *loopSimulation) outcomes() SimulatedItems {
	all := SimulatedItems{Node: l.Node, Count: len(l.Items)}
	for _, e := range l.ended {
		if l.failed && (!e.Status.Finished() || e.at.After(l.found.at)) {
			e.Status = StatusCancelled
			if len(l.Shown) > 0 && l.Shown[0] == (ItemPlace{l.Node, e.Index}) {
				l.trace.Item = nil
			}
		}
		all.Items = append(all.Items, e.ItemOutcome)
	}
	slices.SortStableFunc(all.Items, func(a, b ItemOutcome) int { return failedFirst(a) - failedFirst(b) })
	all.Items = all.Items[:min(len(all.Items), MaxSimulatedItems)]
	return all
}

func failedFirst(i ItemOutcome) int {
	if i.Status == StatusFailed {
		return 0
	}
	return 1
}
