package httpapi

import (
	"encoding/json"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
)

// workflowBody is a workflow as clients see it.
type workflowBody struct {
	ID          string          `json:"id"`
	TenantID    string          `json:"tenantId"`
	SubTenantID string          `json:"subTenantId,omitempty"`
	Name        string          `json:"name"`
	Description *string         `json:"description,omitempty"`
	Metadata    json.RawMessage `json:"metadata"`
	IsActive    bool            `json:"isActive"`
	RunDays     *int            `json:"runRetentionDays,omitempty"`
	CreatedAt   string          `json:"createdAt"`
	UpdatedAt   string          `json:"updatedAt"`
}

func renderWorkflow(wf *workflow.Workflow) any {
	return workflowBody{
		ID: string(wf.ID()), TenantID: string(wf.Tenant()), SubTenantID: string(wf.SubTenant()), Name: wf.Name(),
		Description: wf.Description(), Metadata: exchange.RenderMetadata(wf.Metadata()), IsActive: wf.Active(), RunDays: wf.RunDays(), CreatedAt: exchange.Timestamp(wf.CreatedAt()), UpdatedAt: exchange.Timestamp(wf.UpdatedAt()),
	}
}

// createWorkflow answers POST /workflows.
func (a *API) createWorkflow(c *gin.Context, who tenant.Caller) error {
	query, err := exchange.Parameters(c)
	if err != nil {
		return err
	}
	draft, err := exchange.ReadResource[workflowBody](c, func(body jsonread.Object) inbound.WorkflowDraft { return workflowDraft(body, query) })
	if err != nil {
		return err
	}
	return exchange.Execute(c, who, exchange.Command[*workflow.Workflow]{
		Status: http.StatusCreated, Render: renderWorkflow, Revision: (*workflow.Workflow).Revision,
		Run: func(idempotency domain.IdempotencyKey) (*workflow.Workflow, error) {
			return a.ports.Workflows.Create(c.Request.Context(), who, idempotency, draft)
		},
	})
}

// workflowDraft reads a new workflow. The sub-tenant stands in the query or in the
// body.
func workflowDraft(body jsonread.Object, query jsonread.Query) inbound.WorkflowDraft {
	var r domain.Rules
	var d inbound.WorkflowDraft
	d.Name, _ = body.String("name", &r)
	d.Description, _ = body.NullableString("description", &r)
	if !body.IsNull("runRetentionDays") {
		d.RunDays = body.OptionalInt("runRetentionDays", &r)
	}
	d.Metadata = exchange.ReadMetadata(body, &r)
	sub := body.OptionalString("subTenantId", &r)
	asked, inQuery := query.String("subTenantId", &r)
	switch {
	case sub != nil && inQuery && asked != *sub:
		r.Check(false, "subTenantId", domain.Conflicting, "must be the same in the query and in the body")
	case sub != nil:
		d.SubTenant = tenant.SubTenantID(*sub)
	case inQuery:
		d.SubTenant = tenant.SubTenantID(asked)
	}
	if sub != nil || inQuery {
		d.SubTenant.Check(&r, "subTenantId")
	}
	d.Malformed = r.Violations()
	return d
}

// getWorkflow answers GET /workflows/{id}.
func (a *API) getWorkflow(c *gin.Context, who tenant.Caller) error {
	wf, err := a.ports.Workflows.Get(c.Request.Context(), who, exchange.PathID[workflow.ID](c, "id", workflow.IDPrefix))
	return exchange.AnswerRecord(c, wf, err, renderWorkflow)
}

// listWorkflows answers GET /workflows.
func (a *API) listWorkflows(c *gin.Context, who tenant.Caller) error {
	l, err := exchange.ReadList(c, workflow.SortFields()...)
	if err != nil {
		return err
	}
	filter := workflow.Filter{SubTenant: l.SubTenant(), Active: l.IsActive, Metadata: l.Metadata(), Search: l.Search}
	return exchange.AnswerCached(c, l, renderWorkflow, func(q domain.Query) (domain.Page[*workflow.Workflow], error) {
		return a.ports.Workflows.List(c.Request.Context(), who, filter, q)
	})
}

// updateWorkflow answers PATCH /workflows/{id}.
func (a *API) updateWorkflow(c *gin.Context, who tenant.Caller) error {
	patch, err := exchange.ReadResource[workflowBody](c, workflowPatch)
	if err != nil {
		return err
	}
	id := exchange.PathID[workflow.ID](c, "id", workflow.IDPrefix)
	wf, err := a.ports.Workflows.Update(c.Request.Context(), who, id, exchange.Expected(c), patch)
	return exchange.AnswerRecord(c, wf, err, renderWorkflow)
}

func workflowPatch(body jsonread.Object) workflow.Patch {
	var r domain.Rules
	p := workflow.Patch{Name: body.OptionalString("name", &r), Active: body.OptionalBool("isActive", &r)}
	p.Description, p.RemoveDescription = changedDescription(body, &r)
	if p.RemoveRunDays = body.IsNull("runRetentionDays"); !p.RemoveRunDays {
		p.RunDays = body.OptionalInt("runRetentionDays", &r)
	}
	p.Metadata = exchange.ReadMetadata(body, &r)
	p.Malformed = r.Violations()
	return p
}

// changedDescription reads the description of a patch, which null removes.
func changedDescription(body jsonread.Object, r *domain.Rules) (text *string, remove bool) {
	text, present := body.NullableString("description", r)
	return text, present && text == nil
}

// toggleWorkflow answers PATCH /workflows/{id}/toggle-status.
func (a *API) toggleWorkflow(c *gin.Context, who tenant.Caller) error {
	if err := exchange.ReadNothing[workflowBody](c); err != nil {
		return err
	}
	id := exchange.PathID[workflow.ID](c, "id", workflow.IDPrefix)
	wf, err := a.ports.Workflows.Toggle(c.Request.Context(), who, id, exchange.Expected(c))
	return exchange.AnswerRecord(c, wf, err, renderWorkflow)
}

// deleteWorkflow answers DELETE /workflows/{id}.
func (a *API) deleteWorkflow(c *gin.Context, who tenant.Caller) error {
	id := exchange.PathID[workflow.ID](c, "id", workflow.IDPrefix)
	return exchange.Delete(c, func() error {
		return a.ports.Workflows.Delete(c.Request.Context(), who, id, exchange.Expected(c))
	})
}
