package run

import (
	"time"

	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
)

// OpenPause is a question that waits for a person.
type OpenPause struct {
	ID        PauseID
	Tenant    tenant.ID
	SubTenant tenant.SubTenantID // empty for none
	Run       ID
	Workflow  workflow.ID
	Node      workflow.NodeID
	Entity    string
	Since     time.Time
	Until     *time.Time // when it expires; nil for never
	Question  *Question  // nil of one that an earlier version of the gateway asked
}

// PauseFilter narrows a list of questions; the zero value takes all of them.
type PauseFilter struct {
	Assignee  *string             // nil for any
	Entity    *string             // nil for any
	SubTenant *tenant.SubTenantID // nil for any
	Workflow  workflow.ID         // empty for any
}

// PauseSortFields lists what questions can be sorted by.
func PauseSortFields() []string { return []string{"createdAt"} }
