package httpapi

import (
	"encoding/json"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/adapters/httpapi/stream"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
)

// createTrigger answers POST /triggers.
func (a *API) createTrigger(c *gin.Context, who tenant.Caller) error {
	draft, err := exchange.ReadResource[triggerBody](c, triggerDraft)
	if err != nil {
		return err
	}
	return exchange.Execute(c, who, exchange.Command[*trigger.Trigger]{
		Status: http.StatusCreated, Render: renderTrigger, Revision: (*trigger.Trigger).Revision,
		Run: func(idempotency domain.IdempotencyKey) (*trigger.Trigger, error) {
			return a.ports.Triggers.Create(c.Request.Context(), who, idempotency, draft)
		},
	})
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
	d.Metadata = exchange.ReadMetadata(body, &r)
	d.Malformed = r.Violations()
	return d
}

// triggerBody is a trigger as the API shows it.
type triggerBody struct {
	triggerHead
	Config json.RawMessage `json:"config"`
	triggerTail
}

// triggerHead and triggerTail are what stands before and behind its configuration.
type triggerHead struct {
	ID                string `json:"id"`
	TenantID          string `json:"tenantId"`
	SubTenantID       string `json:"subTenantId,omitempty"`
	WorkflowVersionID string `json:"workflowVersionId"`
	Name              string `json:"name"`
	Type              string `json:"type"`
}

type triggerTail struct {
	Metadata  json.RawMessage `json:"metadata"`
	IsActive  bool            `json:"isActive"`
	CreatedAt string          `json:"createdAt"`
	UpdatedAt string          `json:"updatedAt"`
}

func headOfTrigger(trg *trigger.Trigger) triggerHead {
	return triggerHead{
		ID: string(trg.ID()), TenantID: string(trg.Tenant()), SubTenantID: string(trg.SubTenant()),
		WorkflowVersionID: string(trg.Version()), Name: trg.Name(), Type: string(trg.Type()),
	}
}

func tailOfTrigger(trg *trigger.Trigger) triggerTail {
	return triggerTail{Metadata: exchange.RenderMetadata(trg.Metadata()), IsActive: trg.Active(), CreatedAt: exchange.Timestamp(trg.CreatedAt()), UpdatedAt: exchange.Timestamp(trg.UpdatedAt())}
}

func renderTrigger(trg *trigger.Trigger) any {
	return triggerBody{headOfTrigger(trg), json.RawMessage(trg.Config().Document().String()), tailOfTrigger(trg)}
}

// writeTrigger writes the same.
func writeTrigger(e *stream.Encoder, trg *trigger.Trigger) {
	head, tail := headOfTrigger(trg), tailOfTrigger(trg)
	e.Open(&head)
	e.Compact("config", trg.Config().Document().String())
	e.Members(&tail)
	e.Close()
}

// getTrigger answers GET /triggers/{id}.
func (a *API) getTrigger(c *gin.Context, who tenant.Caller) error {
	trg, err := a.ports.Triggers.Get(c.Request.Context(), who, exchange.PathID[trigger.ID](c, "id", trigger.IDPrefix))
	return exchange.AnswerRecord(c, trg, err, renderTrigger)
}

// listTriggers answers GET /triggers.
func (a *API) listTriggers(c *gin.Context, who tenant.Caller) error {
	l, err := exchange.ReadList(c, trigger.SortFields()...)
	if err != nil {
		return err
	}
	filter := trigger.Filter{SubTenant: l.SubTenant(), Active: l.IsActive, Metadata: l.Metadata(), Search: l.Search}
	kind, _ := l.Params.OneOf("type", texts(trigger.Types()), &l.Rules)
	filter.Type = trigger.Type(kind)
	filter.Workflow = exchange.FilterID(l, "workflowId", workflow.IDPrefix, noWorkflow)
	filter.Version = exchange.FilterID(l, "workflowVersionId", workflow.VersionIDPrefix, noVersion)
	return exchange.AnswerLargeList(c, who, l, exchange.LargeList[*trigger.Trigger]{
		Cached: true, Render: renderTrigger, Write: writeTrigger,
		Read: func(q domain.Query) (domain.Page[*trigger.Trigger], error) {
			return a.ports.Triggers.List(c.Request.Context(), who, filter, q)
		},
	})
}

// noVersion is an identifier that no version has, for a filter that is spelled wrong.
const noVersion = workflow.VersionID("none")

// listTriggersOfVersion answers GET /triggers/workflow-version/{versionId}.
func (a *API) listTriggersOfVersion(c *gin.Context, who tenant.Caller) error {
	l, err := exchange.ReadList(c, trigger.SortFields()...)
	if err != nil {
		return err
	}
	filter := trigger.Filter{Version: versionID(c), Active: l.IsActive, Metadata: l.Metadata(), Search: l.Search}
	return exchange.AnswerLargeList(c, who, l, exchange.LargeList[*trigger.Trigger]{
		Cached: true, Render: renderTrigger, Write: writeTrigger,
		Read: func(q domain.Query) (domain.Page[*trigger.Trigger], error) {
			return a.ports.Triggers.OfVersion(c.Request.Context(), who, filter, q)
		},
	})
}

// updateTrigger answers PATCH /triggers/{id}.
func (a *API) updateTrigger(c *gin.Context, who tenant.Caller) error {
	patch, err := exchange.ReadResource[triggerBody](c, triggerPatch)
	if err != nil {
		return err
	}
	id := exchange.PathID[trigger.ID](c, "id", trigger.IDPrefix)
	trg, err := a.ports.Triggers.Update(c.Request.Context(), who, id, exchange.Expected(c), patch)
	return exchange.AnswerRecord(c, trg, err, renderTrigger)
}

func triggerPatch(body jsonread.Object) trigger.Patch {
	var r domain.Rules
	p := trigger.Patch{
		Name: body.OptionalString("name", &r), Config: body.OptionalDocument("config", &r), Active: body.OptionalBool("isActive", &r),
	}
	if version := body.OptionalString("workflowVersionId", &r); version != nil {
		p.Target = &trigger.Target{Version: workflow.VersionID(*version)}
	}
	p.Metadata = exchange.ReadMetadata(body, &r)
	p.Malformed = r.Violations()
	return p
}

// deleteTrigger answers DELETE /triggers/{id}.
func (a *API) deleteTrigger(c *gin.Context, who tenant.Caller) error {
	id := exchange.PathID[trigger.ID](c, "id", trigger.IDPrefix)
	return exchange.Delete(c, func() error {
		return a.ports.Triggers.Delete(c.Request.Context(), who, id, exchange.Expected(c))
	})
}
