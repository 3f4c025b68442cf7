package httpapi

import (
	"encoding/json"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
)

// createTrigger answers POST /triggers.
func (a *API) createTrigger(c *gin.Context, who tenant.Caller) error {
	body, err := a.readBody(c)
	if err != nil {
		return err
	}
	draft := triggerDraft(body)
	run := func(once domain.Once) (*trigger.Trigger, error) {
		return a.ports.Triggers.Create(c.Request.Context(), who, once, draft)
	}
	return create(a, c, who, body, run, renderTrigger)
}

func triggerDraft(body jsonread.Object) trigger.Draft {
	var r domain.Rules
	var d trigger.Draft
	version, _ := body.String("workflowVersionId", &r)
	d.Version = workflow.VersionID(version)
	d.Name, _ = body.String("name", &r)
	kind, _ := body.String("type", &r)
	d.Type = trigger.Type(kind)
	d.Config = body.OptionalDocument("config", &r)
	d.Active = body.OptionalBool("isActive", &r)
	d.Malformed = r.Violations()
	return d
}

// triggerBody is a trigger as the specification shows it.
type triggerBody struct {
	ID                string          `json:"id"`
	TenantID          string          `json:"tenantId"`
	SubTenantID       string          `json:"subTenantId,omitempty"`
	WorkflowVersionID string          `json:"workflowVersionId"`
	Name              string          `json:"name"`
	Type              string          `json:"type"`
	Config            json.RawMessage `json:"config"`
	IsActive          bool            `json:"isActive"`
	CreatedAt         string          `json:"createdAt"`
	UpdatedAt         string          `json:"updatedAt"`
}

func renderTrigger(trg *trigger.Trigger) any {
	return triggerBody{
		ID: string(trg.ID()), TenantID: string(trg.Tenant()), SubTenantID: string(trg.SubTenant()),
		WorkflowVersionID: string(trg.Version()), Name: trg.Name(), Type: string(trg.Type()),
		Config: json.RawMessage(trg.Config().Document().String()), IsActive: trg.Active(),
		CreatedAt: timestamp(trg.CreatedAt()), UpdatedAt: timestamp(trg.UpdatedAt()),
	}
}
