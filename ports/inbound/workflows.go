package inbound

import (
	"context"
	"encoding/json"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
)

// Workflows is what can be done with workflows. An unknown id is NotFound with the
// code workflow_not_found; a revision that is not the expected one is a Conflict
// with the code precondition_failed.
type Workflows interface {
	// Create makes an active workflow. A name that another workflow of the same
	// tenant and sub-tenant bears is a Conflict with the code workflow_name_taken.
	Create(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, d WorkflowDraft) (*workflow.Workflow, error)

	Get(ctx context.Context, who tenant.Caller, id workflow.ID) (*workflow.Workflow, error)

	List(ctx context.Context, who tenant.Caller, f workflow.Filter, q domain.Query) (domain.Page[*workflow.Workflow], error)

	// Update changes what the patch names, with the conflict of Create.
	Update(ctx context.Context, who tenant.Caller, id workflow.ID, at domain.Expected, p workflow.Patch) (*workflow.Workflow, error)

	// Toggle makes an active workflow inactive and the reverse.
	Toggle(ctx context.Context, who tenant.Caller, id workflow.ID, at domain.Expected) (*workflow.Workflow, error)

	// Delete removes the workflow with its versions and their triggers.
	Delete(ctx context.Context, who tenant.Caller, id workflow.ID, at domain.Expected) error
}

// WorkflowDraft is what a workflow is made of.
type WorkflowDraft struct {
	SubTenant tenant.SubTenantID // empty for none
	workflow.Draft
}

// Versions is what can be done with the versions of a workflow. An unknown id is
// NotFound with the code version_not_found; a revision that is not the expected one
// is a Conflict with the code precondition_failed.
type Versions interface {
	// Create saves a draft under the workflow's next number: 1, 2, 3 and so on,
	// without gaps however many are created at the same time. A workflow that does
	// not exist is an Invalid error about workflowId, next to all other violations.
	Create(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, d VersionDraft) (CheckedVersion, error)

	Get(ctx context.Context, who tenant.Caller, id workflow.VersionID) (CheckedVersion, error)

	// List returns a page of one workflow's versions. A workflow that does not exist is
	// NotFound with the code workflow_not_found.
	List(ctx context.Context, who tenant.Caller, f workflow.VersionFilter, q domain.Query) (domain.Page[CheckedVersion], error)

	// Update replaces the nodes or the edges of a draft. A version that was published is
	// a Conflict with the code version_published.
	Update(ctx context.Context, who tenant.Caller, id workflow.VersionID, at domain.Expected, p workflow.VersionPatch) (CheckedVersion, error)

	// Delete removes a version with its triggers. The active one is a Conflict with the
	// code version_active.
	Delete(ctx context.Context, who tenant.Caller, id workflow.VersionID, at domain.Expected) error
}

// Publishing is what decides which version of a workflow is active. What is asked about
// triggers and cannot be is an Invalid error with the code publish_invalid.
type Publishing interface {
	// Publish checks everything and makes the version the only active one of its
	// workflow. What stands against it is an Invalid error with the code
	// version_not_publishable and every finding. The triggers of the version that was active
	// so far are attached to it, or stay behind. Publishing the active version again
	// changes nothing. An unknown id is NotFound with the code version_not_found.
	Publish(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id workflow.VersionID, asked trigger.PublishOptions) (Published, error)

	// Rollback does so with the version of the workflow that was active before; a second one
	// goes back again. Where there is none it is a Conflict with the code
	// no_previous_version. An unknown id is NotFound with the code workflow_not_found.
	Rollback(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, of workflow.ID, asked trigger.PublishOptions) (Published, error)

	// Validate returns what publishing would find, and changes nothing. An unknown id is
	// NotFound with the code version_not_found.
	Validate(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id workflow.VersionID, asked trigger.PublishOptions) (workflow.Report, error)
}

// Published is a version that is the active one, with what became of the triggers of the one
// that was active before.
type Published struct {
	CheckedVersion
	Moved    []trigger.ID
	Left     []trigger.LeftBehindTrigger
	Warnings []workflow.Finding
}

// VersionDraft is what a version is made of.
type VersionDraft struct {
	Workflow workflow.ID
	workflow.VersionDraft
}

// CheckedVersion is a version next to what its tenant's registry says of its nodes.
type CheckedVersion struct {
	*workflow.Version
	CanPause map[workflow.NodeID]bool // whether each node can pause a run; a node of unknown type cannot

	ShownPins workflow.Pins // none where the caller may not see them
}

// Completions help editors with the texts that somebody writes in a version.
type Completions interface {
	// Complete finds what could stand at a place of a text in a version, and what the text gives
	// with sample data; where there are none, with those that the caller may see of the latest
	// run. It changes nothing. An unknown version is NotFound version_not_found; see
	// workflow.Complete.
	Complete(ctx context.Context, who tenant.Caller, idempotency domain.IdempotencyKey, id workflow.VersionID, c workflow.CompletionCall, sample *run.Sample) (Completed, error)
}

// Bounds of the values in [Completed], in bytes of JSON.
const (
	MaxOfferedValue  = 256
	MaxComputedValue = 64 << 10
)

// Completed is what an editor can show at a place of a text.
type Completed struct {
	workflow.Completion
	Offers  workflow.Offers
	Values  map[string]json.RawMessage // what offers were last, by their names; those that are not too long
	Value   json.RawMessage            // of the whole text; nil where it has none, or a long one
	IsLong  bool                       // it has a value that is too long
	Problem string                     // why it has none with the sample data; empty for no reason
}
