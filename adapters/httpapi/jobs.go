package httpapi

import (
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/job"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
)

// jobBody is work on many runs.
type jobBody struct {
	ID          string           `json:"id"`
	TenantID    string           `json:"tenantId"`
	SubTenantID string           `json:"subTenantId,omitempty"`
	Action      string           `json:"action"`
	Filter      runFilterBody    `json:"filter"`
	Status      string           `json:"status"`
	Matched     int              `json:"matched"`
	Done        int              `json:"done"`
	Failed      int              `json:"failed"`
	Failures    []jobFailureBody `json:"failures"`
	Erasure     *erasureBody     `json:"erasure,omitempty"`
	CreatedAt   string           `json:"createdAt"`
	UpdatedAt   string           `json:"updatedAt"`
	FinishedAt  string           `json:"finishedAt,omitempty"`
}

// runFilterBody says which runs are meant, in the words of GET /runs.
type runFilterBody struct {
	Status            string  `json:"status,omitempty"`
	WorkflowID        string  `json:"workflowId,omitempty"`
	WorkflowVersionID string  `json:"workflowVersionId,omitempty"`
	TriggerID         string  `json:"triggerId,omitempty"`
	EntityID          *string `json:"entityId,omitempty"`
	ParentRunID       string  `json:"parentRunId,omitempty"`
	Include           string  `json:"include,omitempty"`
	SubTenantID       string  `json:"subTenantId,omitempty"`
	From              string  `json:"from,omitempty"`
	To                string  `json:"to,omitempty"`
	Verdict           string  `json:"verdict,omitempty"`
}

// jobFailureBody says why nothing was done with a run.
type jobFailureBody struct {
	RunID      string `json:"runId,omitempty"`
	DeliveryID string `json:"deliveryId,omitempty"`
	Code       string `json:"code"`
	Message    string `json:"message"`
}

func renderJob(j *job.Job) any {
	f := j.Filter()
	body := jobBody{
		ID: string(j.ID()), TenantID: string(j.Tenant()), Action: string(j.Action()), Status: string(j.Status()),
		Matched: j.Matched(), Done: j.Done(), Failed: j.Failed(), Failures: []jobFailureBody{},
		CreatedAt: exchange.Timestamp(j.CreatedAt()), UpdatedAt: exchange.Timestamp(j.UpdatedAt()), FinishedAt: exchange.OptionalTimestamp(j.FinishedAt()),
		Filter: runFilterBody{
			Status: string(f.Status), WorkflowID: string(f.Workflow), WorkflowVersionID: string(f.Version), TriggerID: string(f.Trigger), EntityID: f.Entity,
			ParentRunID: string(f.Parent), From: exchange.OptionalTimestamp(f.From), To: exchange.OptionalTimestamp(f.To), Verdict: j.Verdict(),
		},
		Erasure: renderErasure(j.Erasure()),
	}
	if j.Action() == job.Erase {
		body.Filter = runFilterBody{} // whom it is about is for nobody to see
		return body
	}
	if f.Children {
		body.Filter.Include = includeChildren
	}
	if f.SubTenant != nil {
		body.Filter.SubTenantID = string(*f.SubTenant)
	}
	if sub := j.Scope().SubTenant(); sub != nil {
		body.SubTenantID = string(*sub)
	}
	for _, failure := range j.Failures() {
		shown := jobFailureBody{RunID: string(failure.Run), Code: failure.Code, Message: failure.Message}
		if j.Action() == job.Replay {
			shown.RunID, shown.DeliveryID = "", string(failure.Run)
		}
		body.Failures = append(body.Failures, shown)
	}
	return body
}

// startJob answers POST /runs/bulk.
func (a *API) startJob(c *gin.Context, who tenant.Caller) error {
	draft, err := exchange.ReadBody(c, readJob)
	if err != nil {
		return err
	}
	return exchange.Execute(c, who, exchange.Command[*job.Job]{
		Status: http.StatusAccepted, Render: renderJob,
		Run: func(once domain.IdempotencyKey) (*job.Job, error) {
			return a.ports.Jobs.Start(c.Request.Context(), who, once, draft)
		},
	})
}

func readJob(body jsonread.Object) job.Draft {
	var r domain.Rules
	action, _ := body.String("action", &r)
	d := job.Draft{Action: job.Action(action)}
	if filter, present := body.OptionalObject("filter", &r); present {
		d.Filter = readRunFilter(filter, &r)
	}
	d.Malformed = r.Violations()
	return d
}

// readRunFilter reads the filters of GET /runs. What is misspelled is refused: a list that is
// empty can be seen to be, and a job that does nothing looks like one that has done its work.
func readRunFilter(o jsonread.Object, r *domain.Rules) *run.Filter {
	f := &run.Filter{
		Status:   run.Status(memberOneOf(o, "status", texts(run.Statuses()), r)),
		Workflow: memberID[workflow.ID](o, "workflowId", workflow.IDPrefix, r),
		Version:  memberID[workflow.VersionID](o, "workflowVersionId", workflow.VersionIDPrefix, r),
		Trigger:  memberID[trigger.ID](o, "triggerId", trigger.IDPrefix, r),
		Parent:   memberID[run.ID](o, "parentRunId", run.IDPrefix, r),
		Entity:   o.OptionalString("entityId", r),
		Children: memberOneOf(o, "include", []string{includeChildren}, r) != "",
		From:     memberTime(o, "from", r), To: memberTime(o, "to", r),
	}
	if sub, present := o.String("subTenantId", r); present {
		tenant.SubTenantID(sub).Check(r, domain.Member(o.Path(), "subTenantId"))
		f.SubTenant = (*tenant.SubTenantID)(&sub)
	}
	return f
}

func memberOneOf(o jsonread.Object, name string, allowed []string, r *domain.Rules) string {
	text, present := o.String(name, r)
	r.Check(!present || slices.Contains(allowed, text), domain.Member(o.Path(), name), domain.NotAllowed, "must be %s, not %q", domain.OneOf(allowed...), text)
	return text
}

func memberID[T ~string](o jsonread.Object, name, prefix string, r *domain.Rules) T {
	text, present := o.String(name, r)
	id := exchange.KnownID[T](text, prefix)
	r.Check(!present || id != "", domain.Member(o.Path(), name), domain.BadFormat, "must be an identifier that begins with %s_", prefix)
	return id
}

func memberTime(o jsonread.Object, name string, r *domain.Rules) *time.Time {
	text, present := o.String(name, r)
	if !present {
		return nil
	}
	at, ok := exchange.ReadTime(text, domain.Member(o.Path(), name), r)
	if !ok {
		return nil
	}
	at = at.UTC()
	return &at
}

func jobID(c *gin.Context) job.ID { return exchange.PathID[job.ID](c, "id", job.IDPrefix) }

// getJob answers GET /jobs/{id}.
func (a *API) getJob(c *gin.Context, who tenant.Caller) error {
	j, err := a.ports.Jobs.Get(c.Request.Context(), who, jobID(c))
	return exchange.Answer(c, j, err, renderJob)
}

// listJobs answers GET /jobs.
func (a *API) listJobs(c *gin.Context, who tenant.Caller) error {
	l, err := exchange.ReadList(c, job.SortFields()...)
	if err != nil {
		return err
	}
	status, _ := l.Params.OneOf("status", texts(job.Statuses()), &l.Rules)
	return exchange.AnswerList(c, l, renderJob, func(q domain.Query) (domain.Page[*job.Job], error) {
		return a.ports.Jobs.List(c.Request.Context(), who, job.Filter{Status: job.Status(status)}, q)
	})
}

// cancelJob answers POST /jobs/{id}/cancel.
func (a *API) cancelJob(c *gin.Context, who tenant.Caller) error {
	return exchange.ExecuteWithoutBody[jobBody](c, who, exchange.Command[*job.Job]{
		Status: http.StatusOK, Render: renderJob,
		Run: func(once domain.IdempotencyKey) (*job.Job, error) {
			return a.ports.Jobs.Cancel(c.Request.Context(), who, once, jobID(c))
		},
	})
}
