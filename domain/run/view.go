package run

import (
	"encoding/json"
	"maps"
	"math/bits"
	"slices"
	"time"

	"github.com/sluicehq/sluice/domain/workflow"
)

// view reads a run by its plan: what nodes gave and what flows into them.
type view struct {
	plan    *Plan
	run     *Run
	budget  Budget
	meter   *Meter  // nil where nothing is metered
	charged nodeSet // the texts that were counted as read; nil where nothing is metered
}

func (v view) node(i int) *NodeState { return &v.run.state.Nodes[i] }

// settled says whether it is certain which of the node's outgoing edges are taken.
func (v view) settled(i int) bool {
	switch n := v.node(i); n.Status {
	case NodeCompleted:
		return len(n.Undecided) == 0
	case NodeSkipped:
		return true
	case NodeFailed:
		return n.Handled
	}
	return false
}

// gave says whether the node has something for its edges to carry.
func (v view) gave(i int) bool {
	n := v.node(i)
	return n.Status == NodeCompleted || n.Status == NodeFailed && n.Handled
}

// taken says whether the edge was taken; its source is settled.
func (v view) taken(w *plannedEdge) bool {
	if !v.gave(w.source) {
		return false
	}
	for _, dead := range v.node(w.source).Dead {
		if dead == w.place {
			return false
		}
	}
	return true
}

// payload is what the run was started with.
func (v view) payload() any {
	return v.read(placeOfPayload)
}

// output is what a node gave: of one whose failure was taken, what went wrong.
func (v view) output(i int) any {
	if place, ok := v.source(i); ok {
		return v.read(place)
	}
	c := v.value(i)
	if !c.known {
		c.value, c.known = failureOutput(v.node(i)), true
	}
	return c.value
}

// read is the value at a place, which is read from its text once.
func (v view) read(place int) any {
	c := v.value(place)
	if !c.known {
		v.run.cache.read += v.weight(place)
		if c.shared != nil {
			c.pinned = c.shared.read()
			c.value = *c.pinned
		} else {
			c.value, _ = parse(v.text(place)) // it was checked when it came, or written by appendValue
		}
		c.known = true
	}
	return c.value
}

// failureOutput is what an edge for failures carries.
func failureOutput(n *NodeState) map[string]any {
	return map[string]any{"error": map[string]any{
		"code": n.Failure.Code, "message": n.Failure.Message, "nodeId": string(n.ID), "attempts": float64(n.Attempts),
	}}
}

// forget drops what was remembered of a node's output.
func (v view) forget(i int) {
	if i < len(v.run.cache.outputs) {
		if c := &v.run.cache.outputs[i]; c.known {
			v.run.cache.read -= c.weight
		}
		v.run.cache.outputs[i] = cached{}
	}
}

// carried is what an edge takes from its source; ok is false when the output has no
// such member.
func (v view) carried(w *plannedEdge) (value any, ok bool) {
	whole := v.output(w.source)
	if w.member == "" {
		return whole, true
	}
	object, _ := whole.(map[string]any)
	value, ok = object[w.member]
	return value, ok
}

// sole is the one edge whose value is a node's whole input; nil when there is none
// or the input is put together.
func (v view) sole(i int) *plannedEdge {
	var found *plannedEdge
	for _, e := range v.plan.nodes[i].in {
		w := &v.plan.edges[e]
		if !v.taken(w) {
			continue
		}
		if found != nil || w.into != "" {
			return nil
		}
		found = w
	}
	return found
}

// input is what flows into a node: the payload, or the item,
// where the run begins, one predecessor's output, else an object of what several gave, in
// the order of the edges. A value under its targetInputKey, or merged, replaces
// what an earlier edge brought under that name. An output that is no object cannot
// be merged and stands under the id of its node; null adds nothing. A member that
// the source did not give is left out.
func (v view) input(i int) any {
	if w := v.sole(i); w != nil {
		value, _ := v.carried(w)
		return value
	}
	var merged map[string]any
	for _, e := range v.plan.nodes[i].in {
		w := &v.plan.edges[e]
		if !v.taken(w) {
			continue
		}
		if merged == nil {
			merged = map[string]any{}
		}
		v.merge(merged, w)
	}
	if merged == nil {
		return v.read(v.run.state.placeOfInput())
	}
	return merged
}

// inputText is the text of an input that flows into a node as it stands somewhere; ok is false
// where it is put together or taken apart.
func (v view) inputText(i int) (text json.RawMessage, ok bool) {
	place := v.run.state.placeOfInput()
	switch w := v.sole(i); {
	case w != nil && w.member != "":
		return nil, false
	case w != nil:
		place, ok = v.source(w.source)
	default:
		ok = !v.merges(i)
	}
	if !ok {
		return nil, false
	}
	return v.text(place), true
}

// mergeSteps is what it costs to merge a member.
const mergeSteps = 4

func (v view) merge(into map[string]any, w *plannedEdge) {
	value, ok := v.carried(w)
	switch object, isObject := value.(map[string]any); {
	case !ok:
	case w.into != "":
		into[w.into] = value
	case isObject:
		v.charge(mergeSteps * len(object))
		for name, member := range object {
			into[name] = member
		}
	case value != nil:
		into[string(v.plan.nodes[w.source].id)] = value
	}
}

// values makes the roots ready that an expression of the node looks at.
func (v view) values(i int, u uses, more map[string]any) map[string]any {
	values := make(map[string]any, 4+len(more))
	if u.input {
		values[workflow.RootInput] = v.input(i)
	}
	if u.payload {
		values[workflow.RootPayload] = v.payload()
	}
	if u.nodes {
		values[workflow.RootNodes] = v.outputsBefore(i, u)
	}
	if u.run {
		values[workflow.RootRun] = v.runRoot()
	}
	if v.run.IsItem() {
		if u.item {
			values[workflow.RootItem] = v.read(placeOfItem)
		}
		values[workflow.RootIndex] = float64(v.run.state.Index)
	}
	for name, value := range more {
		values[name] = value
	}
	return values
}

// outputsBefore are the outputs of the nodes that an expression of a node may look at.
func (v view) outputsBefore(i int, u uses) map[string]any {
	outputs := map[string]any{}
	if v.usesOuter(u) {
		outer, _ := v.read(placeOfOuter).(map[string]any)
		maps.Copy(outputs, outer)
	}
	v.eachBefore(i, u, func(j int) { outputs[string(v.plan.nodes[j].id)] = v.output(j) })
	return outputs
}

// usesOuter says whether what nodes around the body gave may be looked at.
func (v view) usesOuter(u uses) bool {
	if !u.nodes || len(v.run.state.Outer) == 0 {
		return false
	}
	return u.named == nil || slices.ContainsFunc(u.named, func(id workflow.NodeID) bool { _, own := v.plan.index[id]; return !own })
}

// eachBefore goes over the nodes that lead to a node and have given something, with itself
// for its edges: those whose outputs are used. Others are left out even when they have
// completed, for that may be so or not.
func (v view) eachBefore(i int, u uses, do func(j int)) {
	if u.named != nil {
		for _, id := range u.named {
			j, known := v.plan.index[id]
			if known && (v.plan.nodes[i].before.has(j) && v.gave(j) || u.result && j == i) {
				do(j)
			}
		}
		return
	}
	for word, set := range v.plan.nodes[i].before {
		for ; set != 0; set &= set - 1 {
			if j := word*64 + bits.TrailingZeros64(set); v.gave(j) {
				do(j)
			}
		}
	}
	if u.result {
		do(i)
	}
}

// runRoot is the root run: the run's ids.
func (v view) runRoot() map[string]any {
	if v.run.cache.run == nil {
		o := &v.run.state.Origin
		root := map[string]any{
			"id": string(o.ID), "tenantId": string(o.Tenant), "workflowId": string(o.Workflow),
			"workflowVersionId": string(o.Version), "entityId": o.Entity, "dedupeKey": o.DedupeKey,
		}
		if o.SubTenant != "" {
			root["subTenantId"] = string(o.SubTenant)
		}
		if o.Trigger != "" {
			root["triggerId"] = string(o.Trigger)
		}
		v.run.cache.run = root
	}
	return v.run.cache.run
}

// env is what an evaluation in the run sees.
func (v view) env(values map[string]any, now time.Time) Env {
	return Env{Values: values, Now: now, Meter: v.meter, Tenant: v.run.state.Tenant, Run: v.run.state.ID, Simulated: v.run.simulated}
}

// truncated is a time as the run keeps it.
func truncated(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
