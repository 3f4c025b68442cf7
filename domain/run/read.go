package run

import (
	"encoding/json"
	"iter"
	"slices"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
)

// ID identifies the run.
func (r *Run) ID() ID { return r.state.ID }

// Tenant owns the run.
func (r *Run) Tenant() tenant.ID { return r.state.Tenant }

// Lane bounds how many runs like it are live.
func (r *Run) Lane() Lane { return r.state.Lane }

// SubTenant is that of the workflow, empty for none.
func (r *Run) SubTenant() tenant.SubTenantID { return r.state.SubTenant }

// Workflow is what the run is of.
func (r *Run) Workflow() workflow.ID { return r.state.Workflow }

// Version is what the run executes.
func (r *Run) Version() workflow.VersionID { return r.state.Version }

// Source is what the run executes.
func (r *Run) Source() Source {
	s := Source{Version: r.state.Version, Snapshot: r.state.Snapshot}
	if r.IsItem() {
		s.Loop = r.state.ParentNode
	}
	return s
}

// index is the place of the item that the run is of; nil for none.
func (r *Run) index() *int {
	if !r.IsItem() {
		return nil
	}
	return domain.CopyOf(&r.state.Index)
}

// IsItem says whether the run is that of an item of a node of its parent.
func (r *Run) IsItem() bool { return r.state.Cause == CauseItem }

// RerunOf is the run that this one repeats; empty for none.
func (r *Run) RerunOf() ID { return r.state.RerunOf }

// ReplayOf is the delivery to a hook that the run repeats; empty for none.
func (r *Run) ReplayOf() string { return r.state.ReplayOf }

// TakesOver says whether a run that has not begun has results of another one.
func (r *Run) TakesOver() bool {
	return r.state.Status == StatusPending && slices.ContainsFunc(r.state.Nodes, func(n NodeState) bool { return n.TakenOver })
}

// Trigger started the run; empty when none did.
func (r *Run) Trigger() trigger.ID { return r.state.Trigger }

// Entity is what the run is about.
func (r *Run) Entity() string { return r.state.Entity }

// DedupeKey is unique among the runs of the trigger within 24 hours.
func (r *Run) DedupeKey() string { return r.state.DedupeKey }

// Engine is what the run finishes on; empty until a store has added it.
func (r *Run) Engine() Engine { return r.state.Engine }

// Cause says what started the run.
func (r *Run) Cause() Cause { return r.state.Cause }

// Payload is what the run was started with, any JSON value.
func (r *Run) Payload() json.RawMessage { return r.state.Payload }

// Status says where the run is in its life.
func (r *Run) Status() Status { return r.state.Status }

// Failure says why a failed run failed; nil for any other.
func (r *Run) Failure() *Failure { return r.state.Failure }

// Retries is how often the run was retried after it had failed.
func (r *Run) Retries() int { return r.state.Retries }

// More says that the run stopped computing, between two nodes or between two things that
// fell due together. It goes on with the next event, which may be a [TimeReached].
func (r *Run) More() bool {
	wake := r.wakeAt()
	return wake != nil && !wake.After(r.state.UpdatedAt)
}

// IsAtRest says whether nobody works on the run, or is about to, at a time: it waits or has ended, and no
// attempt of it was begun that has no result.
func (r *Run) IsAtRest(at time.Time) bool {
	if r.state.Status.Finished() || r.state.Status == StatusPending {
		return true
	}
	begun := slices.ContainsFunc(r.state.Nodes, func(n NodeState) bool { return n.Status == NodeRunning && n.RetryAt == nil })
	wake := r.wakeAt()
	return !begun && (wake == nil || wake.After(at))
}

// Seq is how many entries the history has: the fence of a store.
func (r *Run) Seq() int64 { return r.state.Seq }

// CreatedAt is when the run was accepted.
func (r *Run) CreatedAt() time.Time { return r.state.CreatedAt }

// UpdatedAt is when the run last changed.
func (r *Run) UpdatedAt() time.Time { return r.state.UpdatedAt }

// StartedAt is when the run began, nil while it is pending.
func (r *Run) StartedAt() *time.Time { return domain.CopyOf(r.state.StartedAt) }

// FinishedAt is when the run ended, nil until then.
func (r *Run) FinishedAt() *time.Time { return domain.CopyOf(r.state.FinishedAt) }

// WakeAt is when the run needs a [TimeReached] by itself, nil when it does not.
func (r *Run) WakeAt() *time.Time { return domain.CopyOf(r.state.WakeAt) }

// Executed lists the completed nodes in the order of their completion.
func (r *Run) Executed() []workflow.NodeID { return r.state.clone().Executed }

// Nodes lists what has become of each node, in the order of the version's graph;
// none while the run is pending, unless it takes results over. See [Run.Output] for what they gave.
func (r *Run) Nodes() []NodeState { return r.state.clone().Nodes }

// Output is what a completed node gave; ok is false for any other node.
func (r *Run) Output(id workflow.NodeID) (output json.RawMessage, ok bool) {
	for i := range r.state.Nodes {
		switch n := &r.state.Nodes[i]; {
		case n.ID != id:
		case n.Status != NodeCompleted:
			return nil, false
		case n.OutputIsInput:
			return r.state.given(r.state.placeOfInput()), true
		case n.OutputOf != "":
			return r.Output(n.OutputOf)
		default:
			return n.Output, true
		}
	}
	return nil, false
}

// Input is what flows into a node, as far as the nodes before it have given
// something; ok is false for a node that the run has not reached. The error is that
// of [Run.Advance].
func (r *Run) Input(p *Plan, id workflow.NodeID) (input json.RawMessage, ok bool, err error) {
	if err = r.check(p); err != nil {
		return nil, false, err
	}
	i, known := p.index[id]
	if !known || i >= len(r.state.Nodes) || r.state.Nodes[i].StartedAt == nil {
		return nil, false, nil
	}
	v := r.look(p)
	if failure := v.ready(i, uses{input: true}); failure != nil {
		return nil, false, domain.Fail(domain.Invalid, failure.Code, "%s", failure.Message)
	}
	input, err = appendValue(nil, v.input(i))
	if err != nil {
		return nil, false, domain.Fail(domain.Internal, "run_state_broken", "The input of node %q cannot be written.", id).Because(err)
	}
	return input, true, nil
}

// Data walks the data of the run's context, each document
// with the id that it is under: first the payload, which is under input, then what the
// nodes gave, in the order of their completion. A node whose id is input does not hide the
// payload.
func (r *Run) Data() iter.Seq2[workflow.NodeID, json.RawMessage] {
	return func(yield func(workflow.NodeID, json.RawMessage) bool) {
		if !yield(workflow.RootInput, r.state.Payload) {
			return
		}
		for _, id := range r.state.Executed {
			if output, ok := r.Output(id); ok && id != workflow.RootInput && !yield(id, output) {
				return
			}
		}
	}
}

// Summary is the run without its documents. Unlike in lists, its failure names the edge.
func (r *Run) Summary() Summary {
	s := &r.state
	return Summary{
		Index: r.index(),
		ID:    s.ID, Tenant: s.Tenant, SubTenant: s.SubTenant, Workflow: s.Workflow, Version: s.Version, Trigger: s.Trigger, RerunOf: s.RerunOf, ReplayOf: s.ReplayOf,
		Entity: s.Entity, DedupeKey: s.DedupeKey, Parent: s.Parent, ParentNode: s.ParentNode, Cause: s.Cause, Status: s.Status, Seq: s.Seq, Failure: domain.CopyOf(s.Failure),
		CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt, StartedAt: domain.CopyOf(s.StartedAt), FinishedAt: domain.CopyOf(s.FinishedAt), WakeAt: domain.CopyOf(s.WakeAt),
	}
}
