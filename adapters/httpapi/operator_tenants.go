package httpapi

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
)

// tenantBody is a tenant as the operator sees it. The texts of its first keys stand only
// on the first answer to the request that made it.
type tenantBody struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Status    string     `json:"status"`
	Language  string     `json:"language"`
	Limits    limitsBody `json:"limits"`
	CreatedAt string     `json:"createdAt"`
	UpdatedAt string     `json:"updatedAt"`
	PublicKey string     `json:"publicKey,omitempty"`
	SecretKey string     `json:"secretKey,omitempty"`
}

func tenantBodyOf(ten *tenant.Tenant) tenantBody {
	s := ten.Settings()
	return tenantBody{
		ID: string(ten.ID()), Name: ten.Name(), Status: string(ten.Status()), Language: string(s.Language), Limits: limitsOf(s),
		CreatedAt: timestamp(ten.CreatedAt()), UpdatedAt: timestamp(ten.UpdatedAt()),
	}
}

func renderTenant(ten *tenant.Tenant) any { return tenantBodyOf(ten) }

func renderNewTenant(made inbound.NewTenant) any {
	body := tenantBodyOf(made.Tenant)
	body.PublicKey, body.SecretKey = made.Public.Text.Reveal(), made.Secret.Text.Reveal()
	return body
}

// recordTenant is what a repeat of the request that made a tenant gets: the texts of keys
// are never stored.
func recordTenant(outcome any) any {
	ten, ok := outcome.(*tenant.Tenant)
	if !ok {
		return nil
	}
	return tenantBodyOf(ten)
}

// createTenant answers POST /tenants.
func (a *API) createTenant(c *gin.Context) error {
	body, err := a.readBody(c)
	if err != nil {
		return err
	}
	var r domain.Rules
	var draft tenant.Draft
	draft.Name, _ = body.String("name", &r)
	draft.Language = (*tenant.Language)(body.OptionalString("language", &r))
	draft.Malformed = r.Violations()
	return execute(a, c, tenant.Caller{}, body, command[inbound.NewTenant]{
		status: http.StatusCreated, render: renderNewTenant, record: recordTenant,
		revision: func(made inbound.NewTenant) int64 { return made.Tenant.Revision() },
		run: func(once domain.Once) (inbound.NewTenant, error) {
			made, err := a.ports.Tenants.Create(c.Request.Context(), once, draft)
			if err == nil {
				note(c, tenant.Caller{Tenant: made.Tenant.ID()})
			}
			return made, err
		},
	})
}

// listTenants answers GET /tenants.
func (a *API) listTenants(c *gin.Context) error {
	l, err := readList(c, tenant.SortFields()...)
	if err != nil {
		return err
	}
	filter := tenant.Filter{Search: l.Search}
	if text, present := l.query.OneOf("status", []string{string(tenant.Active), string(tenant.Suspended)}, &l.rules); present {
		status := tenant.Status(text)
		filter.Status = &status
	}
	if err := l.err(); err != nil {
		return err
	}
	found, err := a.ports.Tenants.List(c.Request.Context(), filter, l.wanted())
	if err != nil {
		return err
	}
	return answerList(c, l, found, renderTenant)
}

// getTenant answers GET /tenants/{id}.
func getTenant(c *gin.Context, ten *tenant.Tenant) error { return answerTenant(c, ten, nil) }

func answerTenant(c *gin.Context, ten *tenant.Tenant, err error) error {
	if err != nil {
		return err
	}
	setETag(c, ten.Revision())
	return writeJSON(c, http.StatusOK, renderTenant(ten))
}

// updateTenant answers PATCH /tenants/{id}.
func (a *API) updateTenant(c *gin.Context, ten *tenant.Tenant) error {
	body, err := a.readBody(c)
	if err != nil {
		return err
	}
	changed, err := a.ports.Tenants.Update(c.Request.Context(), ten.ID(), expected(c), tenantPatch(body))
	return answerTenant(c, changed, err)
}

func tenantPatch(body jsonread.Object) tenant.Patch {
	var r domain.Rules
	p := tenant.Patch{Name: body.OptionalString("name", &r), Language: (*tenant.Language)(body.OptionalString("language", &r))}
	if limits, present := body.OptionalObject("limits", &r); present {
		p.RunRetentionDays = limits.OptionalInt("runRetentionDays", &r)
		for _, kt := range tenant.KeyTypes() {
			if quota, present := limits.OptionalObject(string(kt), &r); present {
				if p.Quotas == nil {
					p.Quotas = make(map[tenant.KeyType]tenant.QuotaPatch)
				}
				p.Quotas[kt] = tenant.QuotaPatch{
					PerMinute: quota.OptionalInt("requestsPerMinute", &r), Concurrent: quota.OptionalInt("concurrentRequests", &r),
				}
			}
		}
	}
	p.Malformed = r.Violations()
	return p
}

// deleteTenant answers DELETE /tenants/{id}.
func (a *API) deleteTenant(c *gin.Context, ten *tenant.Tenant) error {
	if err := a.ports.Tenants.Delete(c.Request.Context(), ten.ID(), expected(c)); err != nil {
		return err
	}
	return noContent(c)
}

// suspendTenant answers POST /tenants/{id}/suspend.
func (a *API) suspendTenant(c *gin.Context, ten *tenant.Tenant) error {
	return a.turnTenant(c, ten, func(once domain.Once) (*tenant.Tenant, error) {
		return a.ports.Tenants.Suspend(c.Request.Context(), once, ten.ID())
	})
}

// resumeTenant answers POST /tenants/{id}/resume.
func (a *API) resumeTenant(c *gin.Context, ten *tenant.Tenant) error {
	return a.turnTenant(c, ten, func(once domain.Once) (*tenant.Tenant, error) {
		return a.ports.Tenants.Resume(c.Request.Context(), once, ten.ID())
	})
}

// turnTenant answers with a tenant after a verb that takes no body.
func (a *API) turnTenant(c *gin.Context, ten *tenant.Tenant, verb func(domain.Once) (*tenant.Tenant, error)) error {
	body, err := a.readBody(c)
	if err != nil {
		return err
	}
	return execute(a, c, tenant.Caller{Tenant: ten.ID()}, body, command[*tenant.Tenant]{
		status: http.StatusOK, render: renderTenant, revision: (*tenant.Tenant).Revision, run: verb,
	})
}
