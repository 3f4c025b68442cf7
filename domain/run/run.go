package run

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
)

// Run is one execution of a workflow version. Build one with [New] or [Restore]
// and move it with [Run.Advance]. It is not for several goroutines at once.
type Run struct {
	state     State
	cache     cache
	simulated bool // it is one of a simulation, and nowhere to be found
}

// Start is what a run is started with.
type Start struct {
	Tenant    tenant.ID
	SubTenant tenant.SubTenantID // that of the workflow, empty for none
	Workflow  workflow.ID
	Version   workflow.VersionID
	Snapshot  SnapshotID       // of a draft; empty for a published version
	Trigger   *trigger.Trigger // nil when somebody starts the run by hand: it begins at the nodes without an incoming edge
	Entity    string
	DedupeKey string
	Cause     Cause
	Payload   json.RawMessage // any JSON value; nil means null
	ReplayOf  string          // the delivery to a hook that the run repeats; empty for none
	Lane      Lane
}

// New makes a pending run. Retry policy and timeout are those of the trigger as it
// is now, else the defaults: a later change of the trigger does not change the run.
// The payload is trusted to be JSON.
func New(id ID, s Start, now time.Time) *Run {
	o := Origin{
		ID: id, Tenant: s.Tenant, SubTenant: s.SubTenant, Workflow: s.Workflow, Version: s.Version, Snapshot: s.Snapshot,
		Entity: s.Entity, DedupeKey: s.DedupeKey, Cause: s.Cause, Payload: s.Payload, Lane: s.Lane, ReplayOf: s.ReplayOf,
		Retry: trigger.DefaultRetryPolicy(), Timeout: trigger.DefaultTimeout, CreatedAt: now,
	}
	if len(o.Payload) == 0 {
		o.Payload = json.RawMessage("null")
	}
	if t := s.Trigger; t != nil {
		o.Trigger, o.TriggerName, o.TriggerType = t.ID(), t.Name(), t.Type()
		o.Retry, o.Timeout = t.Config().RetryPolicy(), t.Config().Timeout()
	}
	return &Run{state: State{Origin: o, Status: StatusPending, UpdatedAt: now}}
}

// Restore rebuilds a run from what a store kept, without applying any rule.
func Restore(s State) *Run { return &Run{state: s.clone()} }

// State returns what a store has to keep. The texts of JSON in it are shared and
// must not be changed.
func (r *Run) State() State { return r.state.clone() }

// more says whether the run stopped computing between two nodes.
func (p *Progress) more() bool { return len(p.Begin)+len(p.Consider) > 0 }

func (s State) clone() State {
	s.Nodes, s.Executed = slices.Clone(s.Nodes), slices.Clone(s.Executed)
	s.Result = slices.Clone(s.Result)
	s.Begin, s.Consider = slices.Clone(s.Begin), slices.Clone(s.Consider)
	return s // what pointers and slices of a node lead to is replaced and never changed
}
