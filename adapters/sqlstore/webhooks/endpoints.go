package webhooks

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/event"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

type endpointRepository struct{ *unit }

var _ outbound.EndpointRepository = endpointRepository{}

const endpointColumns = `id, tenant_id, sub_tenant_id, url, description, events, metadata, is_active, secret, retired_secrets,
	failing_since, disabled_at, disabled_reason, created_at, updated_at, revision, include_children, connection_id`

type endpointRow struct {
	ID             string     `db:"id"`
	Tenant         string     `db:"tenant_id"`
	SubTenant      string     `db:"sub_tenant_id"`
	URL            string     `db:"url"`
	Description    *string    `db:"description"`
	Events         string     `db:"events"`
	Metadata       string     `db:"metadata"`
	Active         bool       `db:"is_active"`
	Secret         string     `db:"secret"`
	Retired        string     `db:"retired_secrets"`
	FailingSince   *time.Time `db:"failing_since"`
	DisabledAt     *time.Time `db:"disabled_at"`
	DisabledReason string     `db:"disabled_reason"`
	CreatedAt      time.Time  `db:"created_at"`
	UpdatedAt      time.Time  `db:"updated_at"`
	Revision       int64      `db:"revision"`
	Children       bool       `db:"include_children"`
	Connection     string     `db:"connection_id"`
}

// Targets are where the columns of a list go.
func (row *endpointRow) Targets() []any {
	return []any{
		&row.ID, &row.Tenant, &row.SubTenant, &row.URL, &row.Description, &row.Events, &row.Metadata, &row.Active, &row.Secret, &row.Retired,
		&row.FailingSince, &row.DisabledAt, &row.DisabledReason, &row.CreatedAt, &row.UpdatedAt, &row.Revision, &row.Children, &row.Connection,
	}
}

func (row *endpointRow) key() core.KeyRow { return core.KeyRow{Tenant: row.Tenant, ID: row.ID} }

// Size is the length of its texts.
func (row *endpointRow) Size() int {
	return len(row.URL) + core.TextLen(row.Description) + len(row.Events) + len(row.Metadata)
}

// SizeSQL is the same, of the columns.
func (*endpointRow) SizeSQL() string {
	return `octet_length(url) + coalesce(octet_length(description), 0) + octet_length(events) + octet_length(metadata)`
}

// restoreEndpoint makes an endpoint of a row. Of one whose secrets cannot be decrypted it gives all the rest, and the
// error.
func (u *unit) restoreEndpoint(ctx context.Context, row endpointRow) (*event.Endpoint, error) {
	st := event.EndpointState{
		ID: event.EndpointID(row.ID), Tenant: tenant.ID(row.Tenant), SubTenant: tenant.SubTenantID(row.SubTenant), URL: row.URL,
		Description: row.Description, Metadata: domain.RestoreMetadata(row.Metadata), Active: row.Active, Children: row.Children, Connection: connection.ID(row.Connection), FailingSince: core.InUTC(row.FailingSince),
		CreatedAt: row.CreatedAt.UTC(), UpdatedAt: row.UpdatedAt.UTC(), Revision: row.Revision,
	}
	if err := json.Unmarshal([]byte(row.Events), &st.Events); err != nil {
		return nil, fmt.Errorf("webhook endpoint %s: events: %w", row.ID, err)
	}
	if row.DisabledAt != nil {
		st.Disabled = &event.Disabled{At: row.DisabledAt.UTC(), Reason: event.DisabledReason(row.DisabledReason)}
	}
	secrets, err := u.OpenSecrets(ctx, row.Secret, row.Retired, secretsOf(st))
	if outbound.IsUnreadableSecret(err) {
		return event.RestoreEndpoint(st), err
	}
	if err != nil {
		return nil, fmt.Errorf("webhook endpoint %s: %w", row.ID, err)
	}
	st.Secret, st.Retired = secrets.Current, secrets.Retired
	return event.RestoreEndpoint(st), nil
}

// secretsOf is where the secrets of an endpoint are kept.
func secretsOf(st event.EndpointState) outbound.SecretField {
	return outbound.SecretField{Tenant: st.Tenant, Record: string(st.ID)}
}

// shownEndpoint is restoreEndpoint for who does not sign: an endpoint whose secrets cannot be decrypted has none.
func (u *unit) shownEndpoint(ctx context.Context) func(endpointRow) (*event.Endpoint, error) {
	return func(row endpointRow) (*event.Endpoint, error) {
		e, err := u.restoreEndpoint(ctx, row)
		if e != nil {
			return e, nil
		}
		return nil, err
	}
}

// encodedEndpoint holds the members of an endpoint that are kept in another form.
type encodedEndpoint struct {
	events, secret, retired string
	disabledAt              *time.Time
	disabledReason          string
}

func (u *unit) encodeEndpoint(ctx context.Context, st event.EndpointState) (e encodedEndpoint, err error) {
	events := append([]event.Type{}, st.Events...)
	text, err := json.Marshal(events)
	if err != nil {
		return e, fmt.Errorf("encode the events of a webhook endpoint: %w", err)
	}
	e.events = string(text)
	if st.Secret != (domain.SigningSecret{}) {
		e.secret, e.retired, err = u.SealSecrets(ctx, domain.SigningSecrets{Current: st.Secret, Retired: st.Retired}, secretsOf(st))
		if err != nil {
			return e, err
		}
	}
	if st.Disabled != nil {
		e.disabledAt, e.disabledReason = &st.Disabled.At, string(st.Disabled.Reason)
	}
	return e, nil
}

const endpointNotFound, endpointNotFoundMessage = "webhook_endpoint_not_found", "There is no such webhook endpoint."

// Insert adds an endpoint.
func (s endpointRepository) Insert(ctx context.Context, e *event.Endpoint) error {
	st := e.State()
	kept, err := s.encodeEndpoint(ctx, st)
	if err != nil {
		return s.Fail(err)
	}
	_, err = s.Exec(ctx, "insert webhook endpoint", `INSERT INTO webhook_endpoints (`+endpointColumns+`, search_text)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)`,
		string(st.ID), string(st.Tenant), string(st.SubTenant), st.URL, st.Description, kept.events, st.Metadata.String(), st.Active, kept.secret, kept.retired,
		st.FailingSince, kept.disabledAt, kept.disabledReason, st.CreatedAt, st.UpdatedAt, st.Revision, st.Children, string(st.Connection), core.SearchText(st.URL, st.Description))
	return err
}

// Get reads an endpoint.
func (s endpointRepository) Get(ctx context.Context, scope tenant.Scope, id event.EndpointID) (*event.Endpoint, error) {
	in, args := core.Within(scope, core.BySubTenant, string(id))
	var row endpointRow
	err := s.ReadRow(ctx, "get webhook endpoint", &row, `SELECT `+endpointColumns+` FROM webhook_endpoints WHERE tenant_id = $1 AND id = $2`+in+s.ForUpdate(), args...)
	if err != nil {
		return nil, core.NotFound(err, endpointNotFound, endpointNotFoundMessage)
	}
	return s.shownEndpoint(ctx)(row)
}

var sorted = map[string]string{"createdAt": "created_at", "updatedAt": "updated_at"}

// List reads a page of the tenant's endpoints.
func (s endpointRepository) List(ctx context.Context, scope tenant.Scope, f event.EndpointFilter, q domain.Query) (domain.Page[*event.Endpoint], error) {
	l := core.NewList("webhook_endpoints", endpointColumns, scope, core.BySubTenant, sorted)
	l.Active = f.Active
	l.OfSubTenant(f.SubTenant)
	l.Search(f.Search)
	l.Metadata(f.Metadata, s.store.dialect.HasPair)
	return core.ReadPage(ctx, s.Unit, l, q, s.shownEndpoint(ctx))
}

// Matching reads the endpoints that want an event. A tenant has few enough for the
// aggregate to choose.
func (s endpointRepository) Matching(ctx context.Context, scope tenant.Scope, t event.Type, sub tenant.SubTenantID, ofChild bool) ([]*event.Endpoint, error) {
	in, args := core.Within(scope, core.BySubTenant, string(sub))
	rows, err := listEach[endpointRow](ctx, s.unit, "list webhook endpoints that match", `SELECT `+endpointColumns+` FROM webhook_endpoints
		WHERE tenant_id = $1 AND is_active AND (sub_tenant_id = '' OR sub_tenant_id = $2)`+in+` ORDER BY id`, args...)
	if err != nil {
		return nil, err
	}
	var wanting []*event.Endpoint
	for _, one := range rows {
		e, err := restoreRow(one, s.shownEndpoint(ctx))
		switch {
		case err == nil && e.Wants(t, sub, ofChild):
			wanting = append(wanting, e)
		case err != nil && one.row.mayWant(t, sub, ofChild):
			wanting = append(wanting, one.row.identified())
		}
	}
	return wanting, nil
}

// identified is an active endpoint of which nothing is known but what it is called.
func (row *endpointRow) identified() *event.Endpoint {
	return event.RestoreEndpoint(event.EndpointState{ID: event.EndpointID(row.ID), Tenant: tenant.ID(row.Tenant), Active: true})
}

// mayWant says whether an endpoint that cannot be read may want an event of its segment:
// unless it says legibly what it subscribes to, that may be every type.
func (row *endpointRow) mayWant(t event.Type, sub tenant.SubTenantID, ofChild bool) bool {
	st := row.identified().State()
	st.Children = row.Children
	if json.Unmarshal([]byte(row.Events), &st.Events) != nil {
		st.Events = nil
	}
	return event.RestoreEndpoint(st).Wants(t, sub, ofChild)
}

// Update writes an endpoint whose stored revision is the aggregate's. Secrets that could not be decrypted stay.
func (s endpointRepository) Update(ctx context.Context, e *event.Endpoint) error {
	st := e.State()
	kept, err := s.encodeEndpoint(ctx, st)
	if err != nil {
		return s.Fail(err)
	}
	n, err := s.Exec(ctx, "update webhook endpoint", `UPDATE webhook_endpoints
		SET sub_tenant_id = $1, url = $2, description = $3, search_text = $4, events = $5, is_active = $6,
			secret = CASE WHEN $7 = '' THEN secret ELSE $7 END, retired_secrets = CASE WHEN $7 = '' THEN retired_secrets ELSE $8 END,
			failing_since = $9, disabled_at = $10, disabled_reason = $11, updated_at = $12, metadata = $13, include_children = $14, connection_id = $15, revision = revision + 1
		WHERE tenant_id = $16 AND id = $17 AND revision = $18`,
		string(st.SubTenant), st.URL, st.Description, core.SearchText(st.URL, st.Description), kept.events, st.Active, kept.secret, kept.retired,
		st.FailingSince, kept.disabledAt, kept.disabledReason, st.UpdatedAt, st.Metadata.String(), st.Children, string(st.Connection), string(st.Tenant), string(st.ID), st.Revision)
	return s.CheckUpdated(n, err, e.Saved, func() error {
		_, err := s.Get(ctx, tenant.All(st.Tenant), st.ID)
		return err
	})
}

// Delete removes an endpoint; the schema's cascades remove its deliveries.
func (s endpointRepository) Delete(ctx context.Context, scope tenant.Scope, id event.EndpointID) error {
	in, args := core.Within(scope, core.BySubTenant, string(id))
	n, err := s.ExecSlow(ctx, "delete webhook endpoint", `DELETE FROM webhook_endpoints WHERE tenant_id = $1 AND id = $2`+in, args...)
	return s.CheckDeleted(n, err, endpointNotFound, endpointNotFoundMessage)
}
