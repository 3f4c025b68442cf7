package event

import (
	"strconv"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/workflow"
)

// NewWorkflowPublished is the event of a version that became the active one of its
// workflow.
func NewWorkflowPublished(id ID, ver *workflow.Version) *Event {
	st := State{ID: id, Tenant: ver.Tenant(), SubTenant: ver.SubTenant(), Type: WorkflowPublished}
	data := `{"workflowId":` + quote(string(ver.Workflow())) + `,"workflowVersionId":` + quote(string(ver.ID())) +
		`,"version":` + strconv.Itoa(ver.Number())
	if at := ver.PublishedAt(); at != nil {
		st.At = *at
		data += `,"publishedAt":` + quote(at.UTC().Format(timeLayout))
	}
	st.Data = domain.RestoreDocument(data + `}`)
	return Restore(st)
}
