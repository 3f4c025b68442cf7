package operator

import (
	"encoding/json"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
)

// tenantBody is a tenant as the operator sees it. The texts of its first keys stand only
// on the first answer to the request that made it.
type tenantBody struct {
	ID        string           `json:"id"`
	Name      string           `json:"name"`
	Status    string           `json:"status"`
	Language  string           `json:"language"`
	Limits    exchange.Limits  `json:"limits"`
	Budgets   exchange.Budgets `json:"budgets"`
	Metadata  json.RawMessage  `json:"metadata"`
	CreatedAt string           `json:"createdAt"`
	UpdatedAt string           `json:"updatedAt"`
	PublicKey string           `json:"publicKey,omitempty"`
	SecretKey string           `json:"secretKey,omitempty"`
}

func tenantBodyOf(ten *tenant.Tenant) tenantBody {
	s := ten.Settings()
	return tenantBody{
		ID: string(ten.ID()), Name: ten.Name(), Status: string(ten.Status()), Language: string(s.Language), Limits: exchange.LimitsOf(s), Budgets: exchange.BudgetsOf(s.EffectiveBudgets()),
		Metadata:  exchange.RenderMetadata(ten.Metadata()),
		CreatedAt: exchange.Timestamp(ten.CreatedAt()), UpdatedAt: exchange.Timestamp(ten.UpdatedAt()),
	}
}

func renderTenant(ten *tenant.Tenant) any { return tenantBodyOf(ten) }

func renderNewTenant(made inbound.NewTenant) any {
	body := tenantBodyOf(made.Tenant)
	body.PublicKey, body.SecretKey = made.Public.Text.Reveal(), made.Secret.Text.Reveal()
	return body
}

// recordTenant is what a repeat of the request that made a tenant gets: the texts of keys are
// never stored.
var recordTenant = exchange.Record(tenantBodyOf)

// create answers POST /tenants.
func (a *api) create(c *gin.Context) error {
	draft, err := exchange.ReadResource[tenantBody](c, tenantDraft)
	if err != nil {
		return err
	}
	return exchange.Execute(c, tenant.Caller{}, exchange.Command[inbound.NewTenant]{
		Status: http.StatusCreated, Render: renderNewTenant, Record: recordTenant,
		Revision: func(made inbound.NewTenant) int64 { return made.Tenant.Revision() },
		Run: func(idempotency domain.IdempotencyKey) (inbound.NewTenant, error) {
			made, err := a.tenants.Create(c.Request.Context(), idempotency, draft)
			if err == nil {
				exchange.StateOf(c).Caller = tenant.Caller{Scope: tenant.All(made.Tenant.ID())}
			}
			return made, err
		},
	})
}

func tenantDraft(body jsonread.Object) tenant.Draft {
	var r domain.Rules
	var draft tenant.Draft
	draft.Name, _ = body.String("name", &r)
	draft.Language = (*tenant.Language)(body.OptionalString("language", &r))
	draft.Quotas, draft.RunRetentionDays = readLimits(body, &r)
	draft.Budgets = exchange.ReadBudgets(body, &r)
	draft.Metadata = exchange.ReadMetadata(body, &r)
	draft.Malformed = r.Violations()
	return draft
}

// list answers GET /tenants.
func (a *api) list(c *gin.Context) error {
	l, err := exchange.ReadList(c, tenant.SortFields()...)
	if err != nil {
		return err
	}
	filter := tenant.Filter{Metadata: l.Metadata(), Search: l.Search}
	if text, present := l.Params.OneOf("status", []string{string(tenant.Active), string(tenant.Suspended)}, &l.Rules); present {
		status := tenant.Status(text)
		filter.Status = &status
	}
	return exchange.AnswerList(c, l, renderTenant, func(q domain.Query) (domain.Page[*tenant.Tenant], error) {
		return a.tenants.List(c.Request.Context(), filter, q)
	})
}

// get answers GET /tenants/{id}.
func get(c *gin.Context, ten *tenant.Tenant) error {
	return exchange.AnswerRecord(c, ten, nil, renderTenant)
}

// update answers PATCH /tenants/{id}.
func (a *api) update(c *gin.Context, ten *tenant.Tenant) error {
	patch, err := exchange.ReadResource[tenantBody](c, tenantPatch)
	if err != nil {
		return err
	}
	changed, err := a.tenants.Update(c.Request.Context(), ten.ID(), exchange.Expected(c), patch)
	return exchange.AnswerRecord(c, changed, err, renderTenant)
}

func tenantPatch(body jsonread.Object) tenant.Patch {
	var r domain.Rules
	p := tenant.Patch{Name: body.OptionalString("name", &r), Language: (*tenant.Language)(body.OptionalString("language", &r))}
	p.Quotas, p.RunRetentionDays = readLimits(body, &r)
	p.Budgets = exchange.ReadBudgets(body, &r)
	p.Metadata = exchange.ReadMetadata(body, &r)
	p.Malformed = r.Violations()
	return p
}

// readLimits reads the member limits.
func readLimits(body jsonread.Object, r *domain.Rules) (quotas map[tenant.KeyType]tenant.QuotaPatch, runDays *int) {
	limits, present := body.OptionalObject("limits", r)
	if !present {
		return nil, nil
	}
	for _, kt := range tenant.KeyTypes() {
		if quota, present := limits.OptionalObject(string(kt), r); present {
			if quotas == nil {
				quotas = make(map[tenant.KeyType]tenant.QuotaPatch)
			}
			quotas[kt] = tenant.QuotaPatch{PerMinute: quota.OptionalInt("requestsPerMinute", r), Concurrent: quota.OptionalInt("concurrentRequests", r)}
		}
	}
	return quotas, limits.OptionalInt("runRetentionDays", r)
}

// remove answers DELETE /tenants/{id}.
func (a *api) remove(c *gin.Context, ten *tenant.Tenant) error {
	return exchange.Delete(c, func() error {
		return a.tenants.Delete(c.Request.Context(), ten.ID(), exchange.Expected(c))
	})
}

// suspend answers POST /tenants/{id}/suspend.
func (a *api) suspend(c *gin.Context, ten *tenant.Tenant) error {
	return a.change(c, ten, func(idempotency domain.IdempotencyKey) (*tenant.Tenant, error) {
		return a.tenants.Suspend(c.Request.Context(), idempotency, ten.ID())
	})
}

// resume answers POST /tenants/{id}/resume.
func (a *api) resume(c *gin.Context, ten *tenant.Tenant) error {
	return a.change(c, ten, func(idempotency domain.IdempotencyKey) (*tenant.Tenant, error) {
		return a.tenants.Resume(c.Request.Context(), idempotency, ten.ID())
	})
}

// change runs a verb that takes no body, and answers with the tenant.
func (a *api) change(c *gin.Context, ten *tenant.Tenant, verb func(domain.IdempotencyKey) (*tenant.Tenant, error)) error {
	return exchange.ExecuteWithoutBody[tenantBody](c, tenant.Caller{Scope: tenant.All(ten.ID())}, exchange.Command[*tenant.Tenant]{
		Status: http.StatusOK, Render: renderTenant, Revision: (*tenant.Tenant).Revision, Run: verb,
	})
}
