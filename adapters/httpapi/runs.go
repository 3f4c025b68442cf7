package httpapi

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/adapters/httpapi/stream"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
)

func runID(c *gin.Context) run.ID { return exchange.PathID[run.ID](c, "id", run.IDPrefix) }

// shown is a run of which no resume token is to be shown.
func shown(r *run.Run) inbound.ShownRun { return inbound.ShownRun{Run: r} }

// The identifiers that nothing has, for those in queries and bodies that are spelled
// wrong.
const (
	noWorkflow = workflow.ID("none")
	noTrigger  = trigger.ID("none")
	noRun      = run.ID("none")
)

// includeChildren is what include says.
const includeChildren = "children"

// listRuns answers GET /runs.
func (a *API) listRuns(c *gin.Context, who tenant.Caller) error {
	l, err := exchange.ReadList(c, run.SortFields()...)
	if err != nil {
		return err
	}
	status, _ := l.Params.OneOf("status", texts(run.Statuses()), &l.Rules)
	f := run.Filter{
		Status: run.Status(status), SubTenant: l.SubTenant(), From: l.Time("from"), To: l.Time("to"),
		Workflow: exchange.FilterID(l, "workflowId", workflow.IDPrefix, noWorkflow),
		Version:  exchange.FilterID(l, "workflowVersionId", workflow.VersionIDPrefix, noVersion),
		Trigger:  exchange.FilterID(l, "triggerId", trigger.IDPrefix, noTrigger),
		Parent:   exchange.FilterID(l, "parentRunId", run.IDPrefix, noRun),
	}
	_, f.Children = l.Params.OneOf("include", []string{includeChildren}, &l.Rules)
	if entity, asked := l.Params.String("entityId", &l.Rules); asked {
		f.Entity = &entity
	}
	return exchange.AnswerList(c, l, renderSummary, func(q domain.Query) (domain.Page[run.Summary], error) {
		return a.ports.Runs.List(c.Request.Context(), who, f, q)
	})
}

// getRun answers GET /runs/{id}.
func (a *API) getRun(c *gin.Context, who tenant.Caller) error {
	held := stream.Reserve(a.memory.Pages, who.Tenant())
	defer held.Release()
	found, err := a.holdRun(c.Request.Context(), who, runID(c), &held)
	if err == nil {
		more := stream.Reserve(a.memory.Pages, who.Tenant())
		defer more.Release()
		found.Inputs = a.inputs(c.Request.Context(), who, found.Run, &more)
	}
	return exchange.Answer(c, found, err, renderRun)
}

// cancelRun answers POST /runs/{id}/cancel.
func (a *API) cancelRun(c *gin.Context, who tenant.Caller) error {
	var r domain.Rules
	reason, err := exchange.ReadResource[runMembers](c, func(body jsonread.Object) string {
		text, _ := body.String("reason", &r)
		return text
	})
	if err != nil {
		return err
	}
	if err := r.Err("call_invalid", "The call is not valid."); err != nil {
		return err
	}
	return a.changeRun(c, who, func(idempotency domain.IdempotencyKey) (run.Summary, error) {
		return a.ports.Runs.Cancel(c.Request.Context(), who, idempotency, runID(c), reason)
	})
}

// retryRun answers POST /runs/{id}/retry.
func (a *API) retryRun(c *gin.Context, who tenant.Caller) error {
	if err := exchange.ReadNothing[runMembers](c); err != nil {
		return err
	}
	return a.changeRun(c, who, func(idempotency domain.IdempotencyKey) (run.Summary, error) {
		return a.ports.Runs.Retry(c.Request.Context(), who, idempotency, runID(c))
	})
}

// changeRun answers a command on a run with its summary: the run itself may be large.
func (a *API) changeRun(c *gin.Context, who tenant.Caller, change func(domain.IdempotencyKey) (run.Summary, error)) error {
	return exchange.Execute(c, who, exchange.Command[run.Summary]{Status: http.StatusOK, Render: renderSummary, Run: change})
}
