package operator

import (
	"context"
	"math"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
)

// Runs are what the operator's routes for runs need.
type Runs struct {
	All  inbound.OperatorRuns
	Runs inbound.Runs

	// Hold reads a whole run, and keeps memory for it until it is released.
	Hold func(context.Context, tenant.Caller, run.ID) (whole *run.Run, release func(), err error)
}

// runBody is a run as the operator sees it: where it stands, and nothing of what its tenant
// has in it. Messages of errors are left out, since they may quote that.
type runBody struct {
	ID                string       `json:"id"`
	TenantID          string       `json:"tenantId"`
	SubTenantID       string       `json:"subTenantId,omitempty"`
	WorkflowID        string       `json:"workflowId"`
	WorkflowVersionID string       `json:"workflowVersionId"`
	TriggerID         string       `json:"triggerId,omitempty"`
	ParentRunID       string       `json:"parentRunId,omitempty"`
	Cause             string       `json:"cause"`
	Status            string       `json:"status"`
	Error             *failureBody `json:"error,omitempty"`
	Seq               int64        `json:"seq"`
	CreatedAt         string       `json:"createdAt"`
	UpdatedAt         string       `json:"updatedAt"`
	StartedAt         string       `json:"startedAt,omitempty"`
	FinishedAt        string       `json:"finishedAt,omitempty"`
}

type failureBody struct {
	Code   string `json:"code"`
	NodeID string `json:"nodeId,omitempty"`
}

func failureOf(f *run.Failure) *failureBody {
	if f == nil {
		return nil
	}
	return &failureBody{f.Code, string(f.Node)}
}

func runBodyOf(s run.Summary) runBody {
	return runBody{
		ID: string(s.ID), TenantID: string(s.Tenant), SubTenantID: string(s.SubTenant), WorkflowID: string(s.Workflow), WorkflowVersionID: string(s.Version),
		TriggerID: string(s.Trigger), ParentRunID: string(s.Parent), Cause: string(s.Cause), Status: string(s.Status), Error: failureOf(s.Failure), Seq: s.Seq,
		CreatedAt: exchange.Timestamp(s.CreatedAt), UpdatedAt: exchange.Timestamp(s.UpdatedAt),
		StartedAt: exchange.OptionalTimestamp(s.StartedAt), FinishedAt: exchange.OptionalTimestamp(s.FinishedAt),
	}
}

func renderRun(s run.Summary) any { return runBodyOf(s) }

// runListBody is a page of runs, whose envelope says which one has waited for a worker for the
// longest time.
type runListBody struct {
	exchange.ListBody
	OldestWaiting *waitingRunBody `json:"oldestWaiting,omitempty"`
}

type waitingRunBody struct {
	RunID    string `json:"runId"`
	TenantID string `json:"tenantId"`
	Since    string `json:"since"`
}

// standingBody is one run with its place among those that need a worker, and its nodes.
type standingBody struct {
	runBody
	Engine string     `json:"engine"`
	Queue  *queueBody `json:"queue,omitempty"`
	Nodes  []nodeBody `json:"nodes"`
}

type queueBody struct {
	FreeAt      string `json:"freeAt,omitempty"`
	Worker      string `json:"worker,omitempty"`
	LeasedUntil string `json:"leasedUntil,omitempty"`
}

type nodeBody struct {
	NodeID        string       `json:"nodeId"`
	Status        string       `json:"status"`
	Attempts      int          `json:"attempts"`
	Error         *failureBody `json:"error,omitempty"`
	StartedAt     string       `json:"startedAt,omitempty"`
	FinishedAt    string       `json:"finishedAt,omitempty"`
	NextAttemptAt string       `json:"nextAttemptAt,omitempty"`
	Waiting       *pauseBody   `json:"waiting,omitempty"`
}

type pauseBody struct {
	Kind  string `json:"kind"`
	Since string `json:"since"`
	Until string `json:"until,omitempty"`
}

// listRuns answers GET /runs.
func (a *api) listRuns(c *gin.Context) error {
	l, err := exchange.ReadList(c, run.OperatorSortFields()...)
	if err != nil {
		return err
	}
	names := make([]string, 0, len(run.Statuses()))
	for _, s := range run.Statuses() {
		names = append(names, string(s))
	}
	status, _ := l.Params.OneOf("status", names, &l.Rules)
	f := run.OperatorFilter{Status: run.Status(status), Tenant: exchange.FilterID(l, "tenantId", tenant.IDPrefix, noTenant)}
	if seconds := l.Params.Int("olderThan", 0, math.MaxInt32, &l.Rules); seconds != nil {
		before := a.now().Add(-time.Duration(*seconds) * time.Second)
		f.Before = &before
	}
	ctx := c.Request.Context()
	body := runListBody{}
	read := func(q domain.Query) (domain.Page[run.Summary], error) {
		oldest, ok, err := a.runs.All.OldestWaiting(ctx)
		if err != nil {
			return domain.Page[run.Summary]{}, err
		}
		if ok {
			body.OldestWaiting = &waitingRunBody{string(oldest.Run), string(oldest.Tenant), exchange.Timestamp(oldest.Since)}
		}
		return a.runs.All.List(ctx, f, q)
	}
	return exchange.AnswerPage(c, l, read, func(found domain.Page[run.Summary]) any {
		body.ListBody = exchange.RenderList(l, found, renderRun)
		return body
	})
}

// noTenant is the identifier of nobody.
const noTenant = tenant.ID("none")

// ofRun runs a handler for the run in the path, on behalf of its tenant. If there is none,
// that is the answer, whatever else the request holds.
func (a *api) ofRun(handle func(*gin.Context, tenant.Caller, run.Standing) error) func(*gin.Context) error {
	return func(c *gin.Context) error {
		found, err := a.runs.All.Get(c.Request.Context(), exchange.PathID[run.ID](c, "id", run.IDPrefix))
		if err != nil {
			return err
		}
		who := tenant.Operator(found.Tenant)
		exchange.StateOf(c).Caller = who
		return handle(c, who, found)
	}
}

// getRun answers GET /runs/{id}.
func (a *api) getRun(c *gin.Context, who tenant.Caller, found run.Standing) error {
	whole, release, err := a.runs.Hold(c.Request.Context(), who, found.ID)
	if err != nil {
		return err
	}
	defer release()
	return exchange.Answer(c, found, nil, func(found run.Standing) any { return standingBodyOf(found, whole) })
}

func standingBodyOf(found run.Standing, whole *run.Run) standingBody {
	body := standingBody{runBody: runBodyOf(found.Summary), Engine: string(found.Engine), Nodes: []nodeBody{}}
	if found.FreeAt != nil || found.LeasedUntil != nil {
		body.Queue = &queueBody{exchange.OptionalTimestamp(found.FreeAt), found.Worker, exchange.OptionalTimestamp(found.LeasedUntil)}
	}
	for _, n := range whole.Nodes() {
		one := nodeBody{
			NodeID: string(n.ID), Status: string(n.Status), Attempts: n.Attempts, Error: failureOf(n.Failure),
			StartedAt: exchange.OptionalTimestamp(n.StartedAt), FinishedAt: exchange.OptionalTimestamp(n.FinishedAt), NextAttemptAt: exchange.OptionalTimestamp(n.RetryAt),
		}
		if p := n.Pause; p != nil && n.Status == run.NodeWaiting {
			one.Waiting = &pauseBody{string(p.Kind), exchange.Timestamp(p.Since), exchange.OptionalTimestamp(p.Until)}
		}
		body.Nodes = append(body.Nodes, one)
	}
	return body
}

// cancelRun answers POST /runs/{id}/cancel.
func (a *api) cancelRun(c *gin.Context, who tenant.Caller, found run.Standing) error {
	var r domain.Rules
	reason, err := exchange.ReadResource[standingBody](c, func(body jsonread.Object) string {
		text, _ := body.String("reason", &r)
		return text
	})
	if err != nil {
		return err
	}
	if err := r.Err("call_invalid", "The call is not valid."); err != nil {
		return err
	}
	return changeRun(c, who, func(idempotency domain.IdempotencyKey) (run.Summary, error) {
		return a.runs.Runs.Cancel(c.Request.Context(), who, idempotency, found.ID, reason)
	})
}

// retryRun answers POST /runs/{id}/retry.
func (a *api) retryRun(c *gin.Context, who tenant.Caller, found run.Standing) error {
	if err := exchange.ReadNothing[standingBody](c); err != nil {
		return err
	}
	return changeRun(c, who, func(idempotency domain.IdempotencyKey) (run.Summary, error) {
		return a.runs.Runs.Retry(c.Request.Context(), who, idempotency, found.ID)
	})
}

func changeRun(c *gin.Context, who tenant.Caller, change func(domain.IdempotencyKey) (run.Summary, error)) error {
	return exchange.Execute(c, who, exchange.Command[run.Summary]{Status: http.StatusOK, Render: renderRun, Run: change})
}
