package inbound

import (
	"context"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
)

// Workflows is what can be done with workflows.
type Workflows interface {
	// Create makes an active workflow. A name that another workflow of the same
	// tenant and sub-tenant bears is a Conflict with the code workflow_name_taken.
	Create(ctx context.Context, who tenant.Caller, once domain.Once, d WorkflowDraft) (*workflow.Workflow, error)
}

// WorkflowDraft is what a workflow is made of.
type WorkflowDraft struct {
	SubTenant tenant.SubTenantID // empty for none
	workflow.Draft
}

// Versions is what can be done with the versions of a workflow.
type Versions interface {
	// Create saves a draft under the workflow's next number: 1, 2, 3 and so on,
	// without gaps however many are created at the same time. A workflow that does
	// not exist is an Invalid error about workflowId.
	Create(ctx context.Context, who tenant.Caller, once domain.Once, d VersionDraft) (*workflow.Version, error)
}

// VersionDraft is what a version is made of.
type VersionDraft struct {
	Workflow workflow.ID
	workflow.VersionDraft
}
