package run

import (
	"encoding/json"

	"github.com/sluicehq/sluice/domain/workflow"
)

// ShownInput is what flowed into a node, or why it is left out.
type ShownInput struct {
	Input   json.RawMessage
	Omitted InputOmitted // empty where the input is there
}

// InputOmitted says why the input of a node is left out.
type InputOmitted string

// Why an input is left out.
const (
	InputTooLarge    InputOmitted = "too_large"         // it, or all of them together
	InputTooCostly   InputOmitted = "too_costly"        // computing them takes too long
	InputVersionGone InputOmitted = "version_not_found" // what the run executed is not kept any more
	InputBusy        InputOmitted = "busy"              // there was no memory to compute it at the moment
)

// maxInputSteps is how much is computed of the inputs of one run.
const maxInputSteps = 4 * DefaultSteps

// ShownInputs computes what flowed into each node that the run has reached; see [Run.Input].
// Those that were put together take at most so many bytes of JSON together, and none of them is
// shown where that is 0: what was passed on as a whole is shared with what gave it. size is what
// they take. The error is that of [Run.Advance].
func (r *Run) ShownInputs(p *Plan, most int) (inputs map[workflow.NodeID]ShownInput, size int, err error) {
	if err := r.check(p); err != nil {
		return nil, 0, err
	}
	defer r.Forget()
	var used Meter
	v := r.look(p)
	v.meter, v.charged = &used, newNodeSet(len(p.nodes)+givenTexts)
	inputs = make(map[workflow.NodeID]ShownInput)
	for i := range r.state.Nodes {
		n := v.node(i)
		if n.StartedAt == nil {
			continue
		}
		text, shared := v.inputText(i)
		shown := ShownInput{Input: text}
		switch {
		case shared:
		case most == 0:
			shown.Omitted = InputBusy
		default:
			shown = v.shownInput(i, most-size)
			size += len(shown.Input)
		}
		inputs[n.ID] = shown
	}
	return inputs, size, nil
}

// OmitInputs gives one reason for all nodes that the run has reached.
func (r *Run) OmitInputs(why InputOmitted) map[workflow.NodeID]ShownInput {
	inputs := make(map[workflow.NodeID]ShownInput)
	for i := range r.state.Nodes {
		if n := &r.state.Nodes[i]; n.StartedAt != nil {
			inputs[n.ID] = ShownInput{Omitted: why}
		}
	}
	return inputs
}

// shownInput computes the input of one node, of at most so many bytes.
func (v view) shownInput(i, most int) ShownInput {
	switch {
	case v.inputBound(i) > MaxOutputs:
		return ShownInput{Omitted: InputTooLarge}
	case v.meter.Steps >= maxInputSteps:
		return ShownInput{Omitted: InputTooCostly}
	case v.ready(i, uses{input: true}) != nil:
		return ShownInput{Omitted: InputTooLarge}
	}
	text, err := appendValue(nil, v.input(i))
	v.charge(len(text) / writeForStep)
	if err != nil || len(text) > most {
		return ShownInput{Omitted: InputTooLarge}
	}
	return ShownInput{Input: text}
}

// inputBound is about how long the input is at most that a node's edges bring together.
func (v view) inputBound(i int) (size int) {
	for _, e := range v.plan.nodes[i].in {
		if w := &v.plan.edges[e]; v.taken(w) {
			if place, ok := v.source(w.source); ok {
				size += len(v.text(place))
			}
		}
	}
	return size
}
