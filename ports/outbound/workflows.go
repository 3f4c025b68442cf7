package outbound

import (
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
)

// WorkflowRepository keeps workflows.
type WorkflowRepository interface {
	// Insert reports a name that another workflow of the same tenant and sub-tenant
	// bears as a Conflict with the code workflow_name_taken.
	Insert(ctx context.Context, wf *workflow.Workflow) error

	// Get returns NotFound with the code workflow_not_found for an unknown id.
	Get(ctx context.Context, scope tenant.Scope, id workflow.ID) (*workflow.Workflow, error)

	List(ctx context.Context, scope tenant.Scope, f workflow.Filter, q domain.Query) (domain.Page[*workflow.Workflow], error)

	// Update has the conflict of Insert besides a stale revision.
	Update(ctx context.Context, wf *workflow.Workflow) error

	// Delete removes the workflow with its versions and their triggers. An unknown id
	// is NotFound.
	Delete(ctx context.Context, scope tenant.Scope, id workflow.ID) error

	// NextVersion returns the number that the workflow's next version bears: one more
	// than its last, 1 at first. Until the unit ends no other unit gets a number of the
	// same workflow, and a unit that does not commit gives the number back. An unknown
	// id is NotFound.
	NextVersion(ctx context.Context, scope tenant.Scope, id workflow.ID) (int, error)
}

// VersionRepository keeps the versions of workflows.
type VersionRepository interface {
	Insert(ctx context.Context, ver *workflow.Version) error

	// Get returns NotFound with the code version_not_found for an unknown id.
	Get(ctx context.Context, scope tenant.Scope, id workflow.VersionID) (*workflow.Version, error)

	// Parent returns what a version belongs to, without reading its graph or holding it.
	// An unknown id is NotFound with the code version_not_found.
	Parent(ctx context.Context, scope tenant.Scope, id workflow.VersionID) (VersionParent, error)

	List(ctx context.Context, scope tenant.Scope, f workflow.VersionFilter, q domain.Query) (domain.Page[*workflow.Version], error)

	// Update of an active version makes it the only active one of its workflow.
	Update(ctx context.Context, ver *workflow.Version) error

	// Delete removes the version with its triggers. An unknown id is NotFound.
	Delete(ctx context.Context, scope tenant.Scope, id workflow.VersionID) error
}

// SnapshotRepository keeps what drafts are when runs of them are started, since a draft may
// change while they go on. A snapshot goes with the last run that executes it.
type SnapshotRepository interface {
	// Keep keeps the graph of a draft for runs that are started in the same unit; several units
	// that do so keep it once. An unknown draft is NotFound with the code version_not_found,
	// one with another revision a Conflict with the code stale_revision.
	Keep(ctx context.Context, scope tenant.Scope, id workflow.VersionID, revision int64) (run.SnapshotID, error)

	// Hold keeps a snapshot for runs that are started in the same unit, also when the last run
	// that executed it goes at the same time. One that has gone is NotFound with the code
	// version_not_found.
	Hold(ctx context.Context, owner tenant.ID, id run.SnapshotID) error

	// Get returns the graph of a snapshot. One that has gone is NotFound with the code
	// version_not_found.
	Get(ctx context.Context, owner tenant.ID, id run.SnapshotID) (workflow.Graph, error)
}

// VersionParent is what a version belongs to.
type VersionParent struct {
	Workflow  workflow.ID
	SubTenant tenant.SubTenantID // empty for none
}
