package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/connection"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

type connections struct{ *unit }

var _ outbound.ConnectionRepository = connections{}

const connectionColumns = `id, tenant_id, sub_tenant_id, name, kind, hosts, secret, is_shared, is_active, metadata, created_at, updated_at, revision`

type connectionRow struct {
	ID        string    `db:"id"`
	Tenant    string    `db:"tenant_id"`
	SubTenant string    `db:"sub_tenant_id"`
	Name      string    `db:"name"`
	Kind      string    `db:"kind"`
	Hosts     string    `db:"hosts"`
	Secret    string    `db:"secret"` // sealed
	Shared    bool      `db:"is_shared"`
	Active    bool      `db:"is_active"`
	Metadata  string    `db:"metadata"`
	CreatedAt time.Time `db:"created_at"`
	UpdatedAt time.Time `db:"updated_at"`
	Revision  int64     `db:"revision"`
}

// Targets are where the columns of a list go.
func (row *connectionRow) Targets() []any {
	return []any{
		&row.ID, &row.Tenant, &row.SubTenant, &row.Name, &row.Kind, &row.Hosts, &row.Secret, &row.Shared, &row.Active, &row.Metadata,
		&row.CreatedAt, &row.UpdatedAt, &row.Revision,
	}
}

// Size is the length of its texts.
func (row *connectionRow) Size() int {
	return len(row.Name) + len(row.Hosts) + len(row.Secret) + len(row.Metadata)
}

// SizeSQL is the same, of the columns.
func (*connectionRow) SizeSQL() string {
	return `octet_length(name) + octet_length(hosts) + octet_length(secret) + octet_length(metadata)`
}

// connectionSecret is where the secret of a connection is kept.
func connectionSecret(owner, id string) outbound.SecretField {
	return outbound.SecretField{Tenant: tenant.ID(owner), Record: id, Field: "secret"}
}

// open decrypts a row that was read.
func (s connections) open(ctx context.Context, row connectionRow) (*connection.Connection, error) {
	text, err := s.OpenText(ctx, row.Secret, connectionSecret(row.Tenant, row.ID))
	if err != nil {
		return nil, err
	}
	st := connection.State{
		ID: connection.ID(row.ID), Tenant: tenant.ID(row.Tenant), SubTenant: tenant.SubTenantID(row.SubTenant), Name: row.Name,
		Kind: connection.Kind(row.Kind), Shared: row.Shared, Active: row.Active, Metadata: domain.RestoreMetadata(row.Metadata),
		CreatedAt: row.CreatedAt.UTC(), UpdatedAt: row.UpdatedAt.UTC(), Revision: row.Revision,
	}
	if st.Secret, err = connection.RestoreSecret(st.Kind, text); err != nil {
		return nil, fmt.Errorf("connection %s: %w", row.ID, err)
	}
	var hosts []string
	if err := json.Unmarshal([]byte(row.Hosts), &hosts); err != nil {
		return nil, fmt.Errorf("connection %s: hosts: %w", row.ID, err)
	}
	if st.Hosts, err = connection.RestoreHosts(hosts); err != nil {
		return nil, fmt.Errorf("connection %s: hosts: %w", row.ID, err)
	}
	return connection.Restore(st), nil
}

// encodedConnection holds the members of a connection that are kept in another form.
type encodedConnection struct{ hosts, secret string }

func (s connections) encode(ctx context.Context, st connection.State) (e encodedConnection, err error) {
	hosts, err := json.Marshal(st.Hosts.Texts())
	if err != nil {
		return e, s.Fail(fmt.Errorf("encode the hosts of a connection: %w", err))
	}
	e.hosts = string(hosts)
	e.secret, err = s.SealText(ctx, []byte(st.Secret.Reveal()), connectionSecret(string(st.Tenant), string(st.ID)))
	return e, err
}

const connectionNotFound, connectionNotFoundMessage = "connection_not_found", "There is no such connection."

// Insert adds a connection.
func (s connections) Insert(ctx context.Context, c *connection.Connection) error {
	st := c.State()
	kept, err := s.encode(ctx, st)
	if err != nil {
		return err
	}
	_, err = s.Exec(ctx, "insert connection", `INSERT INTO connections (`+connectionColumns+`, search_text)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
		string(st.ID), string(st.Tenant), string(st.SubTenant), st.Name, string(st.Kind), kept.hosts, kept.secret, st.Shared, st.Active, st.Metadata.String(),
		st.CreatedAt, st.UpdatedAt, st.Revision, core.SearchText(st.Name, nil))
	return err
}

// Get reads a connection.
func (s connections) Get(ctx context.Context, scope tenant.Scope, id connection.ID) (*connection.Connection, error) {
	in, args := core.Within(scope, core.BySubTenant, string(id))
	var row connectionRow
	err := s.ReadRow(ctx, "get connection", &row, `SELECT `+connectionColumns+` FROM connections WHERE tenant_id = $1 AND id = $2`+in+s.ForUpdate(), args...)
	if err != nil {
		return nil, core.NotFound(err, connectionNotFound, connectionNotFoundMessage)
	}
	return s.open(ctx, row)
}

var connectionsSorted = map[string]string{"name": "name", "kind": "kind", "createdAt": "created_at", "updatedAt": "updated_at"}

// List reads a page of the tenant's connections.
func (s connections) List(ctx context.Context, scope tenant.Scope, f connection.Filter, q domain.Query) (opened domain.Page[*connection.Connection], err error) {
	l := core.NewList("connections", connectionColumns, scope, core.BySubTenant, connectionsSorted)
	l.Active = f.Active
	l.OfSubTenant(f.SubTenant)
	if f.Kind != "" {
		l.Equal("kind", string(f.Kind))
	}
	l.Search(f.Search)
	l.Metadata(f.Metadata, s.store.dialect.HasPair)
	sealed, err := core.ReadPage(ctx, s.Unit, l, q, func(row connectionRow) (connectionRow, error) { return row, nil })
	if err != nil {
		return opened, err
	}
	opened = domain.Page[*connection.Connection]{Total: sealed.Total, Limit: sealed.Limit, Offset: sealed.Offset, Stamp: sealed.Stamp}
	for _, row := range sealed.Items {
		c, err := s.open(ctx, row)
		if err != nil {
			return opened, err
		}
		opened.Items = append(opened.Items, c)
	}
	return opened, nil
}

// Update writes a connection whose stored revision is the aggregate's.
func (s connections) Update(ctx context.Context, c *connection.Connection) error {
	st := c.State()
	kept, err := s.encode(ctx, st)
	if err != nil {
		return err
	}
	s.NoteChange(st.Tenant) // hooks are kept with what they verify with
	n, err := s.Exec(ctx, "update connection", `UPDATE connections
		SET name = $1, search_text = $2, hosts = $3, secret = $4, is_shared = $5, is_active = $6, metadata = $7, updated_at = $8, revision = revision + 1
		WHERE tenant_id = $9 AND id = $10 AND revision = $11`,
		st.Name, core.SearchText(st.Name, nil), kept.hosts, kept.secret, st.Shared, st.Active, st.Metadata.String(), st.UpdatedAt,
		string(st.Tenant), string(st.ID), st.Revision)
	return s.CheckUpdated(n, err, c.Saved, func() error {
		_, err := s.Get(ctx, tenant.All(st.Tenant), st.ID)
		return err
	})
}

// Delete removes a connection.
func (s connections) Delete(ctx context.Context, scope tenant.Scope, id connection.ID) error {
	s.NoteChange(scope.Tenant())
	in, args := core.Within(scope, core.BySubTenant, string(id))
	n, err := s.Exec(ctx, "delete connection", `DELETE FROM connections WHERE tenant_id = $1 AND id = $2`+in, args...)
	return s.CheckDeleted(n, err, connectionNotFound, connectionNotFoundMessage)
}

type connectionUseRow struct {
	Kind string `db:"kind"`
	ID   string `db:"id"`
}

// UsedBy finds what names a connection. An identifier is found in the text of a graph, where
// it cannot be by chance.
func (s connections) UsedBy(ctx context.Context, scope tenant.Scope, id connection.ID, limit int) ([]connection.Use, error) {
	within := "%" + strings.ReplaceAll(string(id), "_", `\_`) + "%"
	args := []any{string(scope.Tenant()), string(id), limit, within}
	ofVersions, args := core.ByWorkflow("workflow_id").Within(scope, args)
	ofEndpoints, args := core.BySubTenant.Within(scope, args)
	ofHooks, args := ofTrigger("h").Within(scope, args)
	var rows []connectionUseRow
	err := s.ReadRows(ctx, "find uses of connection", &rows, `SELECT kind, id FROM (
			SELECT 0 AS turn, '`+string(connection.UsedByVersion)+`' AS kind, id FROM workflow_versions
			WHERE tenant_id = $1 AND is_active AND graph LIKE $4 ESCAPE '\'`+ofVersions+`
			UNION ALL SELECT 1, '`+string(connection.UsedByEndpoint)+`', id FROM webhook_endpoints WHERE tenant_id = $1 AND connection_id = $2`+ofEndpoints+`
			UNION ALL SELECT 2, '`+string(connection.UsedByHook)+`', h.trigger_id FROM hook_secrets s JOIN hooks h ON h.tenant_id = s.tenant_id AND h.trigger_id = s.trigger_id
			WHERE s.tenant_id = $1 AND s.connection_id = $2`+ofHooks+`
		) AS uses ORDER BY turn, id LIMIT $3`, args...)
	if err != nil {
		return nil, err
	}
	uses := make([]connection.Use, len(rows))
	for i, row := range rows {
		uses[i] = connection.Use{Kind: connection.UseKind(row.Kind), ID: row.ID}
	}
	return uses, nil
}
