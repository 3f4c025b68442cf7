package execution

import (
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// Startable says why a workflow cannot be started by hand, or by a node. The version is the one
// that is named, if any.
func Startable(found outbound.FiringVersion, named workflow.VersionID) error {
	switch {
	case named != "" && found.Version == "":
		var r domain.Rules
		r.Check(false, "workflowVersionId", domain.Unknown, "must be the id of a version of this workflow")
		return r.Err("call_invalid", "The call is not valid.")
	case !found.WorkflowActive:
		return WorkflowInactive()
	case found.Version == "":
		return domain.Fail(domain.Conflict, "version_not_published", "The workflow has no active version. Publish one first, or name one that was published.")
	case !found.Published:
		return domain.Fail(domain.Conflict, "version_not_published", "The version that is named is a draft. Publish it first, or simulate it.")
	}
	return nil
}

// WorkflowInactive is why a workflow cannot be started that was switched off.
func WorkflowInactive() error {
	return domain.Fail(domain.Conflict, "workflow_inactive", "The workflow is inactive. Activate it first.")
}
