package run

import (
	"time"

	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
)

// Filter narrows a list of runs; the zero value takes all of them.
type Filter struct {
	Status    Status              // empty for any
	Workflow  workflow.ID         // empty for any
	Version   workflow.VersionID  // empty for any
	Trigger   trigger.ID          // empty for any
	Entity    *string             // nil for any
	Parent    ID                  // only those that this run started; empty for any
	Children  bool                // runs that others started, too; without it and without Parent only those that none did
	SubTenant *tenant.SubTenantID // nil for any
	From      *time.Time          // those that were created then or later
	To        *time.Time          // those that were created before
}

// SortFields lists what runs can be sorted by.
func SortFields() []string { return []string{"createdAt", "updatedAt"} }

// Summary is what a list shows of a run: everything but its payload and what its
// nodes did, which can be megabytes.
type Summary struct {
	ID         ID
	Tenant     tenant.ID
	SubTenant  tenant.SubTenantID // empty for none
	Workflow   workflow.ID
	Version    workflow.VersionID
	Trigger    trigger.ID // empty when no trigger started the run
	RerunOf    ID         // the run that this one repeats; empty for none
	ReplayOf   string     // see Origin.ReplayOf
	Entity     string
	DedupeKey  string
	Parent     ID // that started the run; empty for none
	ParentNode workflow.NodeID
	Index      *int // of the item that the run is of; nil for none
	Cause      Cause
	Status     Status
	Seq        int64
	Failure    *Failure // of a failed run; of an edge it names the node only, and the edge in its message
	CreatedAt  time.Time
	UpdatedAt  time.Time
	StartedAt  *time.Time // nil while pending
	FinishedAt *time.Time // nil until finished
	WakeAt     *time.Time // see Run.WakeAt
}

// OperatorFilter narrows a list of the runs of all tenants; the zero value takes all of them.
type OperatorFilter struct {
	Tenant tenant.ID  // empty for any
	Status Status     // empty for any
	Before *time.Time // those that were created before
}

// OperatorSortFields lists what the runs of all tenants can be sorted by.
func OperatorSortFields() []string { return []string{"createdAt"} }

// Waiting is a run that a worker could move on and that none has.
type Waiting struct {
	Run    ID
	Tenant tenant.ID
	Since  time.Time
}

// Standing is a run and where it stands among those that wait for a worker.
type Standing struct {
	Summary
	Engine      Engine
	FreeAt      *time.Time // when a worker can next have it; nil for never
	Worker      string     // that has it; empty for none
	LeasedUntil *time.Time // until when; what is past may have been left by a process that ended
}
