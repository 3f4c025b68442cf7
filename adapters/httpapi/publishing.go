package httpapi

import (
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
)

// publishedBody is the answer of publishing.
type publishedBody struct {
	Message  string                 `json:"message"`
	Version  any                    `json:"version"`
	Triggers handoverBody           `json:"triggers"`
	Warnings []exchange.ErrorDetail `json:"warnings"`
}

// handoverBody is what became of the triggers of the version that was active before.
type handoverBody struct {
	Moved []trigger.ID `json:"moved"`
	Left  []leftBody   `json:"left"`
}

type leftBody struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

func renderPublished(p inbound.Published) any {
	body := publishedBody{
		Message: fmt.Sprintf("Version %d is published.", p.Number()), Version: renderVersion(p.CheckedVersion),
		Triggers: handoverBody{Moved: append([]trigger.ID{}, p.Moved...), Left: []leftBody{}}, Warnings: renderFindings(p.Warnings),
	}
	for _, left := range p.Left {
		body.Triggers.Left = append(body.Triggers.Left, leftBody{string(left.ID), left.Name, string(left.Reason)})
	}
	return body
}

// onPublish reads what is to become of triggers.
func onPublish(body jsonread.Object) trigger.PublishOptions {
	var r domain.Rules
	asked := trigger.PublishOptions{Triggers: (*tenant.TriggersOnPublish)(body.OptionalString("triggers", &r))}
	asked.Malformed = r.Violations()
	return asked
}

// publishVersion answers POST /workflow-versions/{id}/publish.
func (a *API) publishVersion(c *gin.Context, who tenant.Caller) error {
	return publishing[versionBody](c, who, func(idempotency domain.IdempotencyKey, asked trigger.PublishOptions) (inbound.Published, error) {
		return a.ports.Publishing.Publish(c.Request.Context(), who, idempotency, versionID(c), asked)
	})
}

// rollbackWorkflow answers POST /workflows/{id}/rollback.
func (a *API) rollbackWorkflow(c *gin.Context, who tenant.Caller) error {
	id := exchange.PathID[workflow.ID](c, "id", workflow.IDPrefix)
	return publishing[workflowBody](c, who, func(idempotency domain.IdempotencyKey, asked trigger.PublishOptions) (inbound.Published, error) {
		return a.ports.Publishing.Rollback(c.Request.Context(), who, idempotency, id, asked)
	})
}

// publishing publishes by way of a resource, which Answer has.
func publishing[Answer any](c *gin.Context, who tenant.Caller, run func(domain.IdempotencyKey, trigger.PublishOptions) (inbound.Published, error)) error {
	asked, err := exchange.ReadResource[Answer](c, onPublish)
	if err != nil {
		return err
	}
	return exchange.Execute(c, who, exchange.Command[inbound.Published]{
		Status: http.StatusOK, Render: renderPublished,
		Revision: func(p inbound.Published) int64 { return p.Revision() },
		Run:      func(idempotency domain.IdempotencyKey) (inbound.Published, error) { return run(idempotency, asked) },
	})
}

// validatedBody is the answer of validating.
type validatedBody struct {
	Valid    bool                   `json:"valid"`
	Details  []exchange.ErrorDetail `json:"details"`
	Warnings []exchange.ErrorDetail `json:"warnings"`
}

// validateVersion answers POST /workflow-versions/{id}/validate.
func (a *API) validateVersion(c *gin.Context, who tenant.Caller) error {
	asked, err := exchange.ReadResource[versionBody](c, onPublish)
	if err != nil {
		return err
	}
	return exchange.Execute(c, who, exchange.Command[workflow.Report]{
		Status: http.StatusOK, Render: renderReport,
		Run: func(idempotency domain.IdempotencyKey) (workflow.Report, error) {
			return a.ports.Publishing.Validate(c.Request.Context(), who, idempotency, versionID(c), asked)
		},
	})
}

func renderReport(found workflow.Report) any {
	return validatedBody{Valid: len(found.Details) == 0, Details: renderFindings(found.Details), Warnings: renderFindings(found.Warnings)}
}

func renderFindings(findings []workflow.Finding) []exchange.ErrorDetail {
	all := make([]exchange.ErrorDetail, len(findings))
	for i, f := range findings {
		all[i] = exchange.ErrorDetail{
			Field: f.Field, Message: f.Message, Code: string(f.Code), NodeID: string(f.NodeID), EdgeID: string(f.EdgeID),
			Position: exchange.PositionOf(f.At.Line, f.At.Column),
		}
	}
	return all
}
