package httpapi

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/job"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
)

// erasureBody is what an erasure was asked for and has removed, without saying whom it is about.
type erasureBody struct {
	Subject string      `json:"subject"`
	Before  string      `json:"before,omitempty"`
	Asked   string      `json:"asked"`
	Removed removedBody `json:"removed"`
}

type removedBody struct {
	Records        int `json:"records"`
	Runs           int `json:"runs"`
	Cancelled      int `json:"cancelledRuns"`
	Events         int `json:"events"`
	Deliveries     int `json:"deliveries"`
	HookDeliveries int `json:"hookDeliveries"`
	Answers        int `json:"answers"`
	Samples        int `json:"samples"`
	Jobs           int `json:"jobs"`
	Keys           int `json:"keys"`
	AuditValues    int `json:"auditValues"`
}

func renderErasure(e *job.Erasure) *erasureBody {
	if e == nil {
		return nil
	}
	return &erasureBody{Subject: string(e.Subject), Before: exchange.OptionalTimestamp(e.Before), Asked: e.Asked, Removed: removedBody(e.Removed)}
}

// startErasure answers POST /erasures.
func (a *API) startErasure(c *gin.Context, who tenant.Caller) error {
	draft, err := exchange.ReadBody(c, readErasure)
	if err != nil {
		return err
	}
	return exchange.Execute(c, who, exchange.Command[*job.Job]{
		Status: http.StatusAccepted, Render: renderJob,
		Run: func(once domain.IdempotencyKey) (*job.Job, error) {
			return a.ports.Erasures.Erase(c.Request.Context(), who, once, draft)
		},
	})
}

func readErasure(body jsonread.Object) job.ErasureDraft {
	var r domain.Rules
	d := job.ErasureDraft{Entity: body.OptionalString("entityId", &r), Before: memberTime(body, "before", &r)}
	if sub, present := body.String("subTenantId", &r); present {
		tenant.SubTenantID(sub).Check(&r, "subTenantId")
		d.SubTenant = (*tenant.SubTenantID)(&sub)
	}
	if filter, present := body.OptionalObject("filter", &r); present {
		d.Filter = readRunFilter(filter, &r)
	}
	d.Malformed = r.Violations()
	return d
}

// deleteRun answers DELETE /runs/{id}.
func (a *API) deleteRun(c *gin.Context, who tenant.Caller) error {
	return exchange.Delete(c, func() error {
		return a.ports.Erasures.DeleteRun(c.Request.Context(), who, exchange.PathID[run.ID](c, "id", run.IDPrefix))
	})
}
