package httpapi

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/inbound"
)

func runID(c *gin.Context) run.ID { return pathID[run.ID](c, "id", run.IDPrefix) }

// shown is a run of which no resume token is to be shown.
func shown(r *run.Run) inbound.ShownRun { return inbound.ShownRun{Run: r} }

// The identifiers that nothing has, for those in queries and bodies that are spelled
// wrong.
const (
	noWorkflow = workflow.ID("none")
	noTrigger  = trigger.ID("none")
	noRun      = run.ID("none")
)

// listRuns answers GET /runs.
func (a *API) listRuns(c *gin.Context, who tenant.Caller) error {
	l, err := readList(c, run.SortFields()...)
	if err != nil {
		return err
	}
	status, _ := l.query.OneOf("status", texts(run.Statuses()), &l.rules)
	f := run.Filter{
		Status: run.Status(status), SubTenant: l.subTenant(), From: l.time("from"), To: l.time("to"),
		Workflow: filterID(l, "workflowId", workflow.IDPrefix, noWorkflow),
		Version:  filterID(l, "workflowVersionId", workflow.VersionIDPrefix, noVersion),
		Trigger:  filterID(l, "triggerId", trigger.IDPrefix, noTrigger),
	}
	if entity, asked := l.query.String("entityId", &l.rules); asked {
		f.Entity = &entity
	}
	if err := l.err(); err != nil {
		return err
	}
	found, err := a.ports.Runs.List(c.Request.Context(), who, f, l.wanted())
	if err != nil {
		return err
	}
	return answerList(c, l, found, renderSummary)
}

// filterID reads a filter that is an identifier: empty when it is absent, none when it
// is spelled wrong.
func filterID[T ~string](l *listRequest, name, prefix string, none T) T {
	text, asked := l.query.String(name, &l.rules)
	if !asked {
		return ""
	}
	if id := knownID[T](text, prefix); id != "" {
		return id
	}
	return none
}

// getRun answers GET /runs/{id}.
func (a *API) getRun(c *gin.Context, who tenant.Caller) error {
	body, err := a.wholeRun(c.Request.Context(), func(ctx context.Context) ([]byte, error) {
		found, err := a.ports.Runs.Get(ctx, who, runID(c))
		if err != nil {
			return nil, err
		}
		return encode(renderRun(found))
	})
	if err != nil {
		return err
	}
	write(c, http.StatusOK, body)
	return nil
}

// wholeRuns is how many whole runs are read, rendered or simulated at the same time. Each
// holds up to 16 MiB of outputs and takes many times as much for a moment, and a tenant
// may ask for a hundred at once.
const wholeRuns = 4

// wholeRun does so, when it is its turn.
func (a *API) wholeRun(ctx context.Context, do func(context.Context) ([]byte, error)) ([]byte, error) {
	select {
	case a.wholeRuns <- struct{}{}:
		defer func() { <-a.wholeRuns }()
		return do(ctx)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// cancelRun answers POST /runs/{id}/cancel.
func (a *API) cancelRun(c *gin.Context, who tenant.Caller) error {
	body, err := a.readBody(c)
	if err != nil {
		return err
	}
	var r domain.Rules
	reason, _ := body.String("reason", &r)
	if err := r.Err("call_invalid", "The call is not valid."); err != nil {
		return err
	}
	return execute(a, c, who, body, command[inbound.ShownRun]{
		status: http.StatusOK, render: renderRun, record: withoutTokens,
		run: func(once domain.Once) (inbound.ShownRun, error) {
			return a.ports.Runs.Cancel(c.Request.Context(), who, once, runID(c), reason)
		},
	})
}

// withoutTokens renders what a repeat gets back: resume tokens are not kept anywhere.
func withoutTokens(outcome any) any {
	changed, ok := outcome.(inbound.ShownRun)
	if !ok {
		return nil
	}
	return renderRun(shown(changed.Run))
}

// retryRun answers POST /runs/{id}/retry.
func (a *API) retryRun(c *gin.Context, who tenant.Caller) error {
	body, err := a.readBody(c)
	if err != nil {
		return err
	}
	return execute(a, c, who, body, command[inbound.ShownRun]{
		status: http.StatusOK, render: renderRun, record: withoutTokens,
		run: func(once domain.Once) (inbound.ShownRun, error) {
			return a.ports.Runs.Retry(c.Request.Context(), who, once, runID(c))
		},
	})
}
