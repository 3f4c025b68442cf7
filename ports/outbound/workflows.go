package outbound

import (
	"context"

	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
)

// WorkflowRepository keeps workflows.
type WorkflowRepository interface {
	// Insert reports a name that another workflow of the same tenant and sub-tenant
	// bears as a Conflict with the code workflow_name_taken.
	Insert(ctx context.Context, wf *workflow.Workflow) error

	// Get returns NotFound with the code workflow_not_found for an unknown id.
	Get(ctx context.Context, owner tenant.ID, id workflow.ID) (*workflow.Workflow, error)

	// Update has the conflict of Insert besides a stale revision.
	Update(ctx context.Context, wf *workflow.Workflow) error
}

// VersionRepository keeps the versions of workflows.
type VersionRepository interface {
	// NextNumber returns the number that the workflow's next version bears: one more
	// than its last, 1 at first. Until the unit ends no other unit gets a number of
	// the same workflow. An unknown workflow is NotFound with the code
	// workflow_not_found.
	NextNumber(ctx context.Context, owner tenant.ID, of workflow.ID) (int, error)

	Insert(ctx context.Context, ver *workflow.Version) error

	// Get returns NotFound with the code version_not_found for an unknown id.
	Get(ctx context.Context, owner tenant.ID, id workflow.VersionID) (*workflow.Version, error)

	// SubTenant returns the sub-tenant that a version belongs to, empty for none,
	// without reading its graph. An unknown id is NotFound with the code
	// version_not_found.
	SubTenant(ctx context.Context, owner tenant.ID, id workflow.VersionID) (tenant.SubTenantID, error)
}
