package run

import (
	"encoding/json"
	"fmt"
)

// Budget bounds what one [Run.Advance] computes. Members that are zero stand for the
// defaults.
type Budget struct {
	// Steps is after how many steps (see [Meter]) the run stops at the next node, to go on
	// with the next event. So whoever moves it can look meanwhile whether it should go on.
	Steps int64

	// ValueBytes is how much memory the values take that one node looks at, in bytes as they lie
	// there once they are read. A node that looks at more fails with [CodeValuesTooLarge].
	ValueBytes int64

	// OutputBytes is how much memory the values take that nodes give before the run stops at the
	// next node, in bytes as they lie there once they are read.
	OutputBytes int64
}

// The defaults of [Budget].
const (
	DefaultSteps       = 1_000_000 // some 30 ms of a processor
	DefaultValueBytes  = 64 << 20
	DefaultOutputBytes = 2 << 20
)

func (b Budget) orDefaults() Budget {
	if b.Steps <= 0 {
		b.Steps = DefaultSteps
	}
	if b.ValueBytes <= 0 {
		b.ValueBytes = DefaultValueBytes
	}
	if b.OutputBytes <= 0 {
		b.OutputBytes = DefaultOutputBytes
	}
	return b
}

// How many bytes of text cost one step when they are read as values, and when they are
// written.
const (
	readForStep  = 2
	writeForStep = 8
)

// charge counts work that is not that of an expression.
func (v view) charge(steps int) { v.meter.Add(int64(steps), 0) }

// chargeOnce counts reading a text when it is first looked at in a step, whether or not an
// earlier step has left its values: what a step costs depends on the run alone.
func (v view) chargeOnce(place int) {
	if v.charged == nil || v.charged.has(place+givenTexts) {
		return
	}
	v.charged.add(place + givenTexts)
	v.charge(len(v.text(place)) / readForStep)
}

// look is a view for somebody who only looks at a run.
func (r *Run) look(p *Plan) view { return view{plan: p, run: r, budget: Budget{}.orDefaults()} }

// spent says whether the machine stops before the next node.
func (m *machine) spent() bool {
	return m.meter.Steps >= m.budget.Steps || m.given >= m.budget.OutputBytes
}

// What a run is given has places of its own among the outputs that values come from.
const (
	placeOfPayload = -1
	placeOfItem    = -2
	placeOfOuter   = -3
	givenTexts     = 3
)

// given is what a run is given, by its place.
func (o *Origin) given(place int) json.RawMessage {
	switch place {
	case placeOfItem:
		return o.Item
	case placeOfOuter:
		return o.Outer
	}
	return o.Payload
}

// placeOfInput is that of what flows into the nodes at which the run begins.
func (o *Origin) placeOfInput() int {
	if o.Cause == CauseItem {
		return placeOfItem
	}
	return placeOfPayload
}

// source is the place of the text that a node's output is read from; ok is false where
// there is none.
func (v view) source(i int) (place int, ok bool) {
	switch n := v.node(i); {
	case n.Status == NodeFailed:
		return 0, false // what went wrong is small
	case n.OutputIsInput:
		return v.run.state.placeOfInput(), true
	case n.OutputOf != "":
		return v.source(v.plan.index[n.OutputOf])
	}
	return i, true
}

// value is what was read of the text at a place, and how much that takes.
func (v view) value(place int) *cached {
	c := &v.run.cache
	if place < 0 {
		return &c.given[-1-place]
	}
	if len(c.outputs) != len(v.plan.nodes) {
		c.outputs = make([]cached, len(v.plan.nodes))
	}
	return &c.outputs[place]
}

func (v view) weight(place int) int64 {
	return v.value(place).weigh(v.text(place))
}

// weigh is the weight of the value of a text, which is found once.
func (c *cached) weigh(text json.RawMessage) int64 {
	switch {
	case !AccountingEnabled:
		return 0
	case c.weight != 0:
	case c.shared != nil:
		c.weight = c.shared.weigh() + 1
	default:
		c.weight = weightOf(text) + 1
	}
	return c.weight
}

func (v view) text(place int) json.RawMessage {
	if place < 0 {
		return v.run.state.given(place)
	}
	return v.node(place).Output
}

// sources lists the places that a node's input and the roots of its expressions are read
// from, each once.
func (v view) sources(i int, u uses) []int {
	var few [8]int
	places := few[:0]
	add := func(place int, ok bool) {
		for _, other := range places {
			ok = ok && other != place
		}
		if ok {
			places = append(places, place)
		}
	}
	add(placeOfPayload, u.payload)
	add(placeOfItem, u.item && v.run.IsItem())
	add(placeOfOuter, v.usesOuter(u))
	if u.input {
		merged := false
		for _, e := range v.plan.nodes[i].in {
			if w := &v.plan.edges[e]; v.taken(w) {
				merged = true
				add(v.source(w.source))
			}
		}
		add(v.run.state.placeOfInput(), !merged)
	}
	if u.result {
		add(v.source(i))
	}
	if u.nodes {
		v.eachBefore(i, u, func(j int) { add(v.source(j)) })
	}
	return places
}

// ready reads the values that a node is about to look at, unless they are too large
// together, and drops others where they would be too large with them.
func (v view) ready(i int, u uses) *Failure {
	places := v.sources(i, u)
	need, missing := int64(0), int64(0)
	for _, place := range places {
		weight := v.weight(place)
		if need += weight; !v.value(place).known {
			missing += weight
		}
		v.chargeOnce(place)
	}
	limit := v.budget.ValueBytes
	if need > limit {
		return &Failure{Code: CodeValuesTooLarge, Message: fmt.Sprintf(
			"The values that the node looks at take %d bytes of memory together, and at most %d are possible. Pass on less data, or name only the members that are needed.", need, limit)}
	}
	if missing > 0 && v.run.cache.read+missing > limit/keptValues {
		v.run.Forget()
	}
	for _, place := range places { // now, so that nothing is dropped between two looks
		v.read(place)
	}
	return nil
}

// keptValues is which part of what one node may look at stays in memory for the next.
const keptValues = 4

// Forget drops the values that were read from the run's texts. They are read again when
// they are needed.
func (r *Run) Forget() {
	c := &r.cache
	if c.read == 0 {
		return
	}
	c.read = 0
	for i := range c.given {
		c.given[i].forget()
	}
	for i := range c.outputs {
		c.outputs[i].forget()
	}
}

// Memory is about how many bytes the run takes besides its texts: the values that were read
// from them.
func (r *Run) Memory() int64 { return r.cache.read }

// Demand is about how much memory one [Run.Advance] with a fact takes at the most, besides
// the run's texts, in bytes.
func (r *Run) Demand(b Budget, f Fact) int64 {
	if !AccountingEnabled {
		return 0
	}
	b = b.orDefaults()
	c := &r.cache
	if len(c.outputs) != len(r.state.Nodes) {
		c.outputs = make([]cached, len(r.state.Nodes))
	}
	values := b.OutputBytes + weightOfFact(f)
	for i := range c.given {
		values += c.given[i].weigh(r.state.given(-1 - i))
	}
	for i := range r.state.Nodes {
		if text := r.state.Nodes[i].Output; len(text) > 0 {
			values += c.outputs[i].weigh(text)
		}
	}
	return min(values+MaxComputed, MaxDemand(b))
}

// MaxDemand is the greatest [Run.Demand] of any run with the budget.
func MaxDemand(b Budget) int64 {
	b = b.orDefaults()
	return b.ValueBytes + b.ValueBytes/keptValues + MaxComputed
}

func weightOfFact(f Fact) int64 {
	switch f := f.(type) {
	case AttemptCompleted:
		return weightOfContent(f.Output)
	case AttemptCalled:
		return weightOfTree(f.Call.Payload)
	case ChildrenChanged:
		weight := int64(0)
		for _, o := range f.Children {
			weight += weightOf(o.Output)
		}
		return weight
	case ItemsEnded:
		weight := int64(0)
		for _, o := range f.Items {
			weight += 2*textWeight + weightOf(o.Output)
		}
		return weight
	case Resumed:
		return weightOf(f.Input)
	case Answered:
		return weightOf(f.Input)
	case EventArrived:
		return weightOf(f.Data)
	}
	return 0
}

// weightOfContent is the weight of a tree once the texts in it are read as well.
func weightOfContent(value any) int64 {
	switch v := value.(type) {
	case json.RawMessage:
		return weightOf(v)
	case map[string]any:
		weight := weightOfMembers(len(v))
		for _, member := range v {
			weight += 2*textWeight + weightOfContent(member)
		}
		return weight
	}
	return weightOfTree(value)
}

// MaxComputed is at most how much memory one node takes for what it computes, besides the
// values that it looks at: what its expression creates, and the texts that are made of it.
const MaxComputed = 12 << 20
