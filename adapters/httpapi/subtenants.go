package httpapi

import (
	"encoding/json"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
)

// subTenantBody is a segment of a tenant as clients see it; all but the first two
// members stand only on one that is registered.
type subTenantBody struct {
	SubTenantID  string          `json:"subTenantId"`
	IsRegistered bool            `json:"isRegistered"`
	ID           string          `json:"id,omitempty"`
	TenantID     string          `json:"tenantId,omitempty"`
	Name         string          `json:"name,omitempty"`
	Description  *string         `json:"description,omitempty"`
	Metadata     json.RawMessage `json:"metadata,omitempty"`
	CreatedAt    string          `json:"createdAt,omitempty"`
	UpdatedAt    string          `json:"updatedAt,omitempty"`
}

func renderSubTenant(sub *tenant.SubTenant) any {
	return subTenantBody{
		ID: string(sub.ID()), TenantID: string(sub.Tenant()), SubTenantID: string(sub.SubTenant()), IsRegistered: true,
		Name: sub.Name(), Description: sub.Description(), Metadata: exchange.RenderMetadata(sub.Metadata()), CreatedAt: exchange.Timestamp(sub.CreatedAt()), UpdatedAt: exchange.Timestamp(sub.UpdatedAt()),
	}
}

func renderSeenSubTenant(seen tenant.SeenSubTenant) any {
	if seen.Registration != nil {
		return renderSubTenant(seen.Registration)
	}
	return subTenantBody{SubTenantID: string(seen.SubTenant)}
}

// createSubTenant answers POST /sub-tenants.
func (a *API) createSubTenant(c *gin.Context, who tenant.Caller) error {
	draft, err := exchange.ReadResource[subTenantBody](c, subTenantDraft)
	if err != nil {
		return err
	}
	return exchange.Execute(c, who, exchange.Command[*tenant.SubTenant]{
		Status: http.StatusCreated, Render: renderSubTenant, Revision: (*tenant.SubTenant).Revision,
		Run: func(idempotency domain.IdempotencyKey) (*tenant.SubTenant, error) {
			return a.ports.SubTenants.Create(c.Request.Context(), who, idempotency, draft)
		},
	})
}

func subTenantDraft(body jsonread.Object) tenant.SubTenantDraft {
	var r domain.Rules
	var draft tenant.SubTenantDraft
	if sub := body.OptionalString("subTenantId", &r); sub != nil {
		draft.SubTenant = tenant.SubTenantID(*sub)
		draft.SubTenant.Check(&r, "subTenantId")
	}
	draft.Name, _ = body.String("name", &r)
	draft.Description, _ = body.NullableString("description", &r)
	draft.Metadata = exchange.ReadMetadata(body, &r)
	draft.Malformed = r.Violations()
	return draft
}

func registrationID(c *gin.Context) tenant.RegistrationID {
	return exchange.PathID[tenant.RegistrationID](c, "id", tenant.RegistrationIDPrefix)
}

// getSubTenant answers GET /sub-tenants/{id}.
func (a *API) getSubTenant(c *gin.Context, who tenant.Caller) error {
	sub, err := a.ports.SubTenants.Get(c.Request.Context(), who, registrationID(c))
	return exchange.AnswerRecord(c, sub, err, renderSubTenant)
}

// findSubTenant answers GET /sub-tenants/by-id/{subTenantId}.
func (a *API) findSubTenant(c *gin.Context, who tenant.Caller) error {
	var r domain.Rules
	segment := tenant.SubTenantID(c.Param("subTenantId"))
	if segment.Check(&r, "subTenantId"); len(r.Violations()) > 0 {
		segment = "" // which no registration has, so that it is not found
	}
	sub, err := a.ports.SubTenants.Find(c.Request.Context(), who, segment)
	return exchange.AnswerRecord(c, sub, err, renderSubTenant)
}

// listSubTenants answers GET /sub-tenants.
func (a *API) listSubTenants(c *gin.Context, who tenant.Caller) error {
	l, err := exchange.ReadList(c, tenant.SubTenantSortFields()...)
	if err != nil {
		return err
	}
	filter := tenant.SubTenantFilter{Metadata: l.Metadata(), Search: l.Search}
	return exchange.AnswerList(c, l, renderSubTenant, func(q domain.Query) (domain.Page[*tenant.SubTenant], error) {
		return a.ports.SubTenants.List(c.Request.Context(), who, filter, q)
	})
}

// listCombinedSubTenants answers GET /sub-tenants/combined.
func (a *API) listCombinedSubTenants(c *gin.Context, who tenant.Caller) error {
	l, err := exchange.ReadList(c)
	if err != nil {
		return err
	}
	metadata := l.Metadata()
	return exchange.AnswerList(c, l, renderSeenSubTenant, func(q domain.Query) (domain.Page[tenant.SeenSubTenant], error) {
		return a.ports.SubTenants.Combined(c.Request.Context(), who, metadata, q.PageRequest)
	})
}

// updateSubTenant answers PATCH /sub-tenants/{id}.
func (a *API) updateSubTenant(c *gin.Context, who tenant.Caller) error {
	patch, err := exchange.ReadResource[subTenantBody](c, subTenantPatch)
	if err != nil {
		return err
	}
	sub, err := a.ports.SubTenants.Update(c.Request.Context(), who, registrationID(c), exchange.Expected(c), patch)
	return exchange.AnswerRecord(c, sub, err, renderSubTenant)
}

func subTenantPatch(body jsonread.Object) tenant.SubTenantPatch {
	var r domain.Rules
	p := tenant.SubTenantPatch{Name: body.OptionalString("name", &r)}
	p.Description, p.RemoveDescription = changedDescription(body, &r)
	p.Metadata = exchange.ReadMetadata(body, &r)
	p.Malformed = r.Violations()
	return p
}

// deleteSubTenant answers DELETE /sub-tenants/{id}.
func (a *API) deleteSubTenant(c *gin.Context, who tenant.Caller) error {
	return exchange.Delete(c, func() error {
		return a.ports.SubTenants.Delete(c.Request.Context(), who, registrationID(c), exchange.Expected(c))
	})
}
