package httpapi

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
)

// questionBody is what a person is asked.
type questionBody struct {
	Title     string            `json:"title,omitempty"`
	Prompt    string            `json:"prompt,omitempty"`
	Assignee  string            `json:"assignee,omitempty"`
	InputType string            `json:"inputType,omitempty"`
	Form      node.Declarations `json:"form"`
}

func renderQuestion(q *run.Question) *questionBody {
	if q == nil {
		return nil
	}
	return &questionBody{Title: q.Title, Prompt: q.Prompt, Assignee: q.Assignee, InputType: q.Kind, Form: q.Form}
}

// actorBody is who did something.
type actorBody struct {
	Kind    string `json:"kind"`
	ID      string `json:"id,omitempty"`
	Subject string `json:"subject,omitempty"`
}

func renderActor(a *tenant.Actor) *actorBody {
	if a == nil {
		return nil
	}
	return &actorBody{string(a.Kind), a.ID, a.Subject}
}

// pauseBody is a question that waits for a person.
type pauseBody struct {
	ID          string        `json:"id"`
	TenantID    string        `json:"tenantId"`
	SubTenantID string        `json:"subTenantId,omitempty"`
	RunID       string        `json:"runId"`
	WorkflowID  string        `json:"workflowId"`
	NodeID      string        `json:"nodeId"`
	EntityID    string        `json:"entityId"`
	Question    *questionBody `json:"question,omitempty"`
	CreatedAt   string        `json:"createdAt"`
	Until       string        `json:"until,omitempty"`
}

func renderPause(p run.OpenPause) any {
	return pauseBody{
		ID: string(p.ID), TenantID: string(p.Tenant), SubTenantID: string(p.SubTenant), RunID: string(p.Run), WorkflowID: string(p.Workflow), NodeID: string(p.Node),
		EntityID: p.Entity, Question: renderQuestion(p.Question), CreatedAt: exchange.Timestamp(p.Since), Until: exchange.OptionalTimestamp(p.Until),
	}
}

// listPauses answers GET /pauses.
func (a *API) listPauses(c *gin.Context, who tenant.Caller) error {
	l, err := exchange.ReadList(c, run.PauseSortFields()...)
	if err != nil {
		return err
	}
	f := run.PauseFilter{SubTenant: l.SubTenant(), Workflow: exchange.FilterID(l, "workflowId", workflow.IDPrefix, noWorkflow)}
	if assignee, asked := l.Params.String("assignee", &l.Rules); asked {
		f.Assignee = &assignee
	}
	if entity, asked := l.Params.String("entityId", &l.Rules); asked {
		f.Entity = &entity
	}
	return exchange.AnswerList(c, l, renderPause, func(q domain.Query) (domain.Page[run.OpenPause], error) {
		return a.ports.Pauses.List(c.Request.Context(), who, f, q)
	})
}

// answerPause answers POST /pauses/{id}/answer.
func (a *API) answerPause(c *gin.Context, who tenant.Caller) error {
	call, err := exchange.ReadBody(c, func(body jsonread.Object) run.AnswerCall {
		return run.AnswerCall{Input: optionalJSON(body, "input")}
	})
	if err != nil {
		return err
	}
	return exchange.Execute(c, who, exchange.Command[nothing]{
		Status: http.StatusNoContent, Render: func(nothing) any { return nothing{} },
		Run: func(idempotency domain.IdempotencyKey) (nothing, error) {
			return nothing{}, a.ports.Pauses.Answer(c.Request.Context(), who, idempotency, run.PauseID(c.Param("id")), call)
		},
		Record: func(any) any { return nothing{} },
	})
}
