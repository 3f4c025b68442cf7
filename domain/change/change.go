// Package change describes what changes in the lists that clients show.
package change

import (
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
)

// Kind says in which list something changed.
type Kind string

// The lists. A pause is a node that waits for somebody.
const (
	Run      Kind = "run"
	Pause    Kind = "pause"
	Delivery Kind = "delivery"
	Version  Kind = "version"
)

// Operation says what happened to a record. A pause is created when the node begins to wait, and
// deleted when it does no longer.
type Operation string

// The operations.
const (
	Created Operation = "created"
	Changed Operation = "changed"
	Deleted Operation = "deleted"
)

// Change says that a record of a list changed, and not what it is now: who shows it reads it.
type Change struct {
	Tenant    tenant.ID
	SubTenant tenant.SubTenantID // whose record it is, empty for nobody's
	Mixed     bool               // the record belongs to several sub-tenants, so that only who reaches all of them learns of it
	Kind      Kind               // empty where much changed at once, and all lists are to be read anew
	Operation Operation
	ID        string          // of a pause: of its run
	Node      workflow.NodeID // that waits
	Workflow  workflow.ID     // of a run, a pause or a version
	Parent    run.ID          // that started the run; empty for none
	Endpoint  event.EndpointID
}

// Within says whether somebody with the scope may learn of it.
func (c Change) Within(scope tenant.Scope) bool {
	if c.Kind == "" { // which says nothing of any record
		scope = scope.OfWorkflows(nil)
	}
	return scope.Tenant() == c.Tenant && scope.Covers(c.SubTenant, string(c.Workflow)) && (!c.Mixed || scope.SubTenant() == nil)
}

// Record names what changed.
type Record struct {
	Kind Kind
	ID   string
	Node workflow.NodeID
}

// Record returns what changed.
func (c Change) Record() Record { return Record{c.Kind, c.ID, c.Node} }

// After is what an earlier change of the same record and this one come to.
func (c Change) After(earlier Change) Change {
	if earlier.Operation == Created && c.Operation == Changed {
		c.Operation = Created
	}
	return c
}

// OfRun is a change of a run.
func OfRun(r *run.Run, op Operation) Change {
	return Change{
		Tenant: r.Tenant(), SubTenant: r.SubTenant(), Kind: Run, Operation: op, ID: string(r.ID()), Workflow: r.Workflow(), Parent: r.Parent(),
	}
}

// OfStep is what a step of a run changes that has appended to its history: the run as lists show
// it, and nodes that begin or cease to wait for somebody.
func OfStep(r *run.Run, history []run.Entry) (all []Change) {
	awaiting := make(map[workflow.NodeID]bool)
	for _, n := range r.Nodes() {
		awaiting[n.ID] = n.Pause != nil && n.Pause.Kind.ByOthers()
	}
	turned := false
	for _, e := range history {
		switch e.Type {
		case run.EntryRunStarted, run.EntryRunPaused, run.EntryRunResumed, run.EntryRunRetried, run.EntryRunCompleted, run.EntryRunFailed, run.EntryRunCancelled:
			turned = true
		case run.EntryNodeWaiting:
			all = appendPause(all, r, e, awaiting, Created)
		case run.EntryNodeCompleted, run.EntryNodeFailed, run.EntryNodeCancelled:
			all = appendPause(all, r, e, awaiting, Deleted)
		case run.EntryNodeStarted, run.EntryNodeRetrying, run.EntryNodeSkipped, run.EntryNodeTakenOver, run.EntryEdgeFailed:
		}
	}
	if turned {
		all = append(all, OfRun(r, Changed))
	}
	return all
}

func appendPause(all []Change, r *run.Run, e run.Entry, awaiting map[workflow.NodeID]bool, op Operation) []Change {
	if !awaiting[e.Node] {
		return all
	}
	c := OfRun(r, op)
	c.Kind, c.Node = Pause, e.Node
	return append(all, c)
}

// OfVersion is a change of a version.
func OfVersion(v *workflow.Version, op Operation) Change {
	return Change{Tenant: v.Tenant(), SubTenant: v.SubTenant(), Kind: Version, Operation: op, ID: string(v.ID()), Workflow: v.Workflow()}
}
