package httpapi

import (
	"encoding/json"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/sluicehq/sluice/adapters/httpapi/exchange"
	"github.com/sluicehq/sluice/adapters/httpapi/jsonread"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
)

// connectionBody is a connection as its tenant sees it. What is secret of it stands as
// [redacted], in the first answer, too.
type connectionBody struct {
	ID          string          `json:"id"`
	TenantID    string          `json:"tenantId"`
	SubTenantID string          `json:"subTenantId,omitempty"`
	Name        string          `json:"name"`
	Kind        connection.Kind `json:"kind"`
	Hosts       []string        `json:"hosts"`
	Secret      map[string]any  `json:"secret"`
	Shared      bool            `json:"shared"`
	IsActive    bool            `json:"isActive"`
	Metadata    json.RawMessage `json:"metadata"`
	CreatedAt   string          `json:"createdAt"`
	UpdatedAt   string          `json:"updatedAt"`
}

func renderConnection(c *connection.Connection) any {
	return connectionBody{
		ID: string(c.ID()), TenantID: string(c.Tenant()), SubTenantID: string(c.SubTenant()), Name: c.Name(), Kind: c.Kind(),
		Hosts: c.Hosts().Texts(), Secret: c.Secret().Shown(), Shared: c.Shared(), IsActive: c.Active(), Metadata: exchange.RenderMetadata(c.Metadata()),
		CreatedAt: exchange.Timestamp(c.CreatedAt()), UpdatedAt: exchange.Timestamp(c.UpdatedAt()),
	}
}

// createConnection answers POST /connections.
func (a *API) createConnection(c *gin.Context, who tenant.Caller) error {
	draft, err := exchange.ReadResource[connectionBody](c, connectionDraft)
	if err != nil {
		return err
	}
	return exchange.Execute(c, who, exchange.Command[*connection.Connection]{
		Status: http.StatusCreated, Render: renderConnection, Revision: (*connection.Connection).Revision,
		Run: func(idempotency domain.IdempotencyKey) (*connection.Connection, error) {
			return a.ports.Connections.Create(c.Request.Context(), who, idempotency, draft)
		},
	})
}

func connectionDraft(body jsonread.Object) connection.Draft {
	var r domain.Rules
	var d connection.Draft
	d.Name, _ = body.String("name", &r)
	kind, _ := body.String("kind", &r)
	d.Kind = connection.Kind(kind)
	if hosts := readHosts(body, &r); hosts != nil {
		d.Hosts = *hosts
	}
	d.Secret = readSecret(body, &r)
	d.SubTenant = tenant.SubTenantID(textOrNone(body, "subTenantId", &r))
	if shared := body.OptionalBool("shared", &r); shared != nil {
		d.Shared = *shared
	}
	d.Active = body.OptionalBool("isActive", &r)
	d.Metadata = exchange.ReadMetadata(body, &r)
	d.Malformed = r.Violations()
	return d
}

// readHosts reads the optional member hosts; nil when it is absent.
func readHosts(body jsonread.Object, r *domain.Rules) *[]string {
	list, present := body.OptionalArray("hosts", r)
	if !present {
		return nil
	}
	hosts := list.Strings(r)
	return &hosts
}

// readSecret reads the optional member secret, whose members the domain knows; nil when it is
// absent.
func readSecret(body jsonread.Object, r *domain.Rules) map[string]any {
	document := body.OptionalDocument("secret", r)
	if document == nil {
		return nil
	}
	members := make(map[string]any)
	_ = json.Unmarshal([]byte(document.String()), &members) // it was read as an object
	return members
}

func connectionID(c *gin.Context) connection.ID {
	return exchange.PathID[connection.ID](c, "id", connection.IDPrefix)
}

// getConnection answers GET /connections/{id}.
func (a *API) getConnection(c *gin.Context, who tenant.Caller) error {
	found, err := a.ports.Connections.Get(c.Request.Context(), who, connectionID(c))
	return exchange.AnswerRecord(c, found, err, renderConnection)
}

// listConnections answers GET /connections.
func (a *API) listConnections(c *gin.Context, who tenant.Caller) error {
	l, err := exchange.ReadList(c, connection.SortFields()...)
	if err != nil {
		return err
	}
	filter := connection.Filter{SubTenant: l.SubTenant(), Active: l.IsActive, Metadata: l.Metadata(), Search: l.Search}
	if kind, asked := l.Params.String("kind", &l.Rules); asked {
		filter.Kind = connection.Kind(kind)
		l.Rules.Check(filter.Kind.Valid(), "kind", domain.NotAllowed, "must be %s", domain.OneOf(connection.Kinds()...))
	}
	return exchange.AnswerList(c, l, renderConnection, func(q domain.Query) (domain.Page[*connection.Connection], error) {
		return a.ports.Connections.List(c.Request.Context(), who, filter, q)
	})
}

// updateConnection answers PATCH /connections/{id}.
func (a *API) updateConnection(c *gin.Context, who tenant.Caller) error {
	patch, err := exchange.ReadResource[connectionBody](c, connectionPatch)
	if err != nil {
		return err
	}
	found, err := a.ports.Connections.Update(c.Request.Context(), who, connectionID(c), exchange.Expected(c), patch)
	return exchange.AnswerRecord(c, found, err, renderConnection)
}

func connectionPatch(body jsonread.Object) connection.Patch {
	var r domain.Rules
	p := connection.Patch{
		Name: body.OptionalString("name", &r), Hosts: readHosts(body, &r), Secret: readSecret(body, &r),
		Shared: body.OptionalBool("shared", &r), Active: body.OptionalBool("isActive", &r),
	}
	if kind := body.OptionalString("kind", &r); kind != nil {
		p.Kind = (*connection.Kind)(kind)
	}
	if sub := changedText(body, "subTenantId", &r); sub != nil {
		p.SubTenant = (*tenant.SubTenantID)(sub)
	}
	p.Metadata = exchange.ReadMetadata(body, &r)
	p.Malformed = r.Violations()
	return p
}

// deleteConnection answers DELETE /connections/{id}.
func (a *API) deleteConnection(c *gin.Context, who tenant.Caller) error {
	return exchange.Delete(c, func() error {
		return a.ports.Connections.Delete(c.Request.Context(), who, connectionID(c), exchange.Expected(c))
	})
}

// connectionTestBody is what came of a test.
type connectionTestBody struct {
	OK         bool                 `json:"ok"`
	Status     int                  `json:"status,omitempty"`
	DurationMs int64                `json:"durationMs"`
	Error      *connectionTestError `json:"error,omitempty"`
}

// connectionTestError says why no answer came.
type connectionTestError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func renderConnectionTest(t inbound.ConnectionTest) any {
	body := connectionTestBody{OK: 200 <= t.Status && t.Status <= 299, Status: t.Status, DurationMs: t.Took.Milliseconds()}
	if t.Code != "" {
		body.Error = &connectionTestError{t.Code, t.Message}
	}
	return body
}

// testConnection answers POST /connections/{id}/test.
func (a *API) testConnection(c *gin.Context, who tenant.Caller) error {
	var r domain.Rules
	url, err := exchange.ReadBody(c, func(body jsonread.Object) string {
		text, _ := body.String("url", &r)
		return text
	})
	if err == nil {
		err = r.Err("connection_test_invalid", "The connection cannot be tested like that.")
	}
	if err != nil {
		return err
	}
	return exchange.Execute(c, who, exchange.Command[inbound.ConnectionTest]{
		Status: http.StatusOK, Render: renderConnectionTest,
		Run: func(idempotency domain.IdempotencyKey) (inbound.ConnectionTest, error) {
			return a.ports.Connections.Test(c.Request.Context(), who, idempotency, connectionID(c), url)
		},
	})
}
