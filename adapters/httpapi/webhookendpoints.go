package httpapi

import (
	"encoding/json"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
)

// webhookEndpointBody is a webhook endpoint as its tenant sees it. The secret stands
// only on the first answer to the request that made it.
type webhookEndpointBody struct {
	ID           string          `json:"id"`
	TenantID     string          `json:"tenantId"`
	SubTenantID  string          `json:"subTenantId,omitempty"`
	URL          string          `json:"url"`
	Description  *string         `json:"description,omitempty"`
	Events       []event.Type    `json:"events"`
	Metadata     json.RawMessage `json:"metadata"`
	IsActive     bool            `json:"isActive"`
	Children     bool            `json:"includeChildren"`
	Connection   string          `json:"connection,omitempty"`
	Secret       string          `json:"secret,omitempty"`
	FailingSince string          `json:"failingSince,omitempty"`
	Disabled     *disabledBody   `json:"disabled,omitempty"`
	CreatedAt    string          `json:"createdAt"`
	UpdatedAt    string          `json:"updatedAt"`
}

// disabledBody says how the gateway switched an endpoint off.
type disabledBody struct {
	At      string `json:"at"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

func webhookEndpointBodyOf(e *event.Endpoint) webhookEndpointBody {
	body := webhookEndpointBody{
		ID: string(e.ID()), TenantID: string(e.Tenant()), SubTenantID: string(e.SubTenant()), URL: e.URL(), Description: e.Description(),
		Events: append([]event.Type{}, e.Events()...), Metadata: exchange.RenderMetadata(e.Metadata()), IsActive: e.Active(), Children: e.Children(), Connection: string(e.Connection()), FailingSince: exchange.OptionalTimestamp(e.FailingSince()),
		CreatedAt: exchange.Timestamp(e.CreatedAt()), UpdatedAt: exchange.Timestamp(e.UpdatedAt()),
	}
	if d := e.Disabled(); d != nil {
		body.Disabled = &disabledBody{At: exchange.Timestamp(d.At), Reason: string(d.Reason), Message: d.Reason.Text()}
	}
	return body
}

func renderWebhookEndpoint(e *event.Endpoint) any { return webhookEndpointBodyOf(e) }

func renderWebhookSecret(e *event.Endpoint) any {
	body := webhookEndpointBodyOf(e)
	body.Secret = e.Secret().Reveal()
	return body
}

// recordWebhookEndpoint is what a repeat of the request that made a secret gets: the secret
// is shown once.
var recordWebhookEndpoint = exchange.Record(webhookEndpointBodyOf)

// createWebhookEndpoint answers POST /webhook-endpoints.
func (a *API) createWebhookEndpoint(c *gin.Context, who tenant.Caller) error {
	draft, err := exchange.ReadResource[webhookEndpointBody](c, webhookEndpointDraft)
	if err != nil {
		return err
	}
	return exchange.Execute(c, who, exchange.Command[*event.Endpoint]{
		Status: http.StatusCreated, Render: renderWebhookSecret, Revision: (*event.Endpoint).Revision, Record: recordWebhookEndpoint,
		Run: func(idempotency domain.IdempotencyKey) (*event.Endpoint, error) {
			return a.ports.WebhookEndpoints.Create(c.Request.Context(), who, idempotency, draft)
		},
	})
}

func webhookEndpointDraft(body jsonread.Object) event.EndpointDraft {
	var r domain.Rules
	var d event.EndpointDraft
	d.URL, _ = body.String("url", &r)
	d.Description, _ = body.NullableString("description", &r)
	if types := readEventTypes(body, &r); types != nil {
		d.Events = *types
	}
	d.SubTenant = tenant.SubTenantID(textOrNone(body, "subTenantId", &r))
	d.Active = body.OptionalBool("isActive", &r)
	if children := body.OptionalBool("includeChildren", &r); children != nil {
		d.Children = *children
	}
	d.Connection = connection.ID(textOrNone(body, "connection", &r))
	d.Metadata = exchange.ReadMetadata(body, &r)
	d.Malformed = r.Violations()
	return d
}

// readEventTypes reads the optional member events; nil when it is absent.
func readEventTypes(body jsonread.Object, r *domain.Rules) *[]event.Type {
	list, present := body.OptionalArray("events", r)
	if !present {
		return nil
	}
	types := make([]event.Type, 0, list.Len())
	for _, text := range list.Strings(r) {
		types = append(types, event.Type(text))
	}
	return &types
}

func webhookEndpointID(c *gin.Context) event.EndpointID {
	return exchange.PathID[event.EndpointID](c, "id", event.EndpointIDPrefix)
}

// getWebhookEndpoint answers GET /webhook-endpoints/{id}.
func (a *API) getWebhookEndpoint(c *gin.Context, who tenant.Caller) error {
	e, err := a.ports.WebhookEndpoints.Get(c.Request.Context(), who, webhookEndpointID(c))
	return exchange.AnswerRecord(c, e, err, renderWebhookEndpoint)
}

// listWebhookEndpoints answers GET /webhook-endpoints.
func (a *API) listWebhookEndpoints(c *gin.Context, who tenant.Caller) error {
	l, err := exchange.ReadList(c, event.EndpointSortFields()...)
	if err != nil {
		return err
	}
	filter := event.EndpointFilter{SubTenant: l.SubTenant(), Active: l.IsActive, Metadata: l.Metadata(), Search: l.Search}
	return exchange.AnswerList(c, l, renderWebhookEndpoint, func(q domain.Query) (domain.Page[*event.Endpoint], error) {
		return a.ports.WebhookEndpoints.List(c.Request.Context(), who, filter, q)
	})
}

// updateWebhookEndpoint answers PATCH /webhook-endpoints/{id}.
func (a *API) updateWebhookEndpoint(c *gin.Context, who tenant.Caller) error {
	patch, err := exchange.ReadResource[webhookEndpointBody](c, webhookEndpointPatch)
	if err != nil {
		return err
	}
	e, err := a.ports.WebhookEndpoints.Update(c.Request.Context(), who, webhookEndpointID(c), exchange.Expected(c), patch)
	return exchange.AnswerRecord(c, e, err, renderWebhookEndpoint)
}

func webhookEndpointPatch(body jsonread.Object) event.EndpointPatch {
	var r domain.Rules
	p := event.EndpointPatch{URL: body.OptionalString("url", &r), Events: readEventTypes(body, &r), Active: body.OptionalBool("isActive", &r), Children: body.OptionalBool("includeChildren", &r)}
	p.Description, p.RemoveDescription = changedDescription(body, &r)
	if sub := changedText(body, "subTenantId", &r); sub != nil {
		id := tenant.SubTenantID(*sub)
		p.SubTenant = &id
	}
	if id := changedText(body, "connection", &r); id != nil {
		p.Connection = (*connection.ID)(id)
	}
	p.Metadata = exchange.ReadMetadata(body, &r)
	p.Malformed = r.Violations()
	return p
}

// deleteWebhookEndpoint answers DELETE /webhook-endpoints/{id}.
func (a *API) deleteWebhookEndpoint(c *gin.Context, who tenant.Caller) error {
	return exchange.Delete(c, func() error {
		return a.ports.WebhookEndpoints.Delete(c.Request.Context(), who, webhookEndpointID(c), exchange.Expected(c))
	})
}

// rotateWebhookSecret answers POST /webhook-endpoints/{id}/rotate-secret.
func (a *API) rotateWebhookSecret(c *gin.Context, who tenant.Caller) error {
	return exchange.ExecuteWithoutBody[webhookEndpointBody](c, who, exchange.Command[*event.Endpoint]{
		Status: http.StatusOK, Render: renderWebhookSecret, Revision: (*event.Endpoint).Revision, Record: recordWebhookEndpoint,
		Run: func(idempotency domain.IdempotencyKey) (*event.Endpoint, error) {
			return a.ports.WebhookEndpoints.RotateSecret(c.Request.Context(), who, idempotency, webhookEndpointID(c))
		},
	})
}

// testWebhookEndpoint answers POST /webhook-endpoints/{id}/test.
func (a *API) testWebhookEndpoint(c *gin.Context, who tenant.Caller) error {
	return exchange.ExecuteWithoutBody[webhookEndpointBody](c, who, exchange.Command[*event.Delivery]{
		Status: http.StatusCreated, Render: renderDelivery,
		Run: func(idempotency domain.IdempotencyKey) (*event.Delivery, error) {
			return a.ports.WebhookEndpoints.Test(c.Request.Context(), who, idempotency, webhookEndpointID(c))
		},
	})
}
