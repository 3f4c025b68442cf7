package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/node"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

type customNodes struct{ *unit }

var _ outbound.CustomNodeRepository = customNodes{}

const customNodeColumns = `id, tenant_id, type, version, name, description, input_schema, output_schema, config_schema,
	endpoint, can_pause, is_active, metadata, translations, created_at, updated_at, revision`

type customNodeRow struct {
	ID           string    `db:"id"`
	Tenant       string    `db:"tenant_id"`
	Type         string    `db:"type"`
	Version      string    `db:"version"`
	Name         string    `db:"name"`
	Description  string    `db:"description"`
	InputSchema  string    `db:"input_schema"`
	OutputSchema string    `db:"output_schema"`
	ConfigSchema string    `db:"config_schema"`
	Endpoint     string    `db:"endpoint"`
	CanPause     bool      `db:"can_pause"`
	Active       bool      `db:"is_active"`
	Metadata     string    `db:"metadata"`
	Translations string    `db:"translations"`
	CreatedAt    time.Time `db:"created_at"`
	UpdatedAt    time.Time `db:"updated_at"`
	Revision     int64     `db:"revision"`
}

// Targets are where the columns of a list go.
func (row *customNodeRow) Targets() []any {
	return []any{
		&row.ID, &row.Tenant, &row.Type, &row.Version, &row.Name, &row.Description, &row.InputSchema,
		&row.OutputSchema, &row.ConfigSchema, &row.Endpoint, &row.CanPause, &row.Active, &row.Metadata, &row.Translations,
		&row.CreatedAt, &row.UpdatedAt, &row.Revision,
	}
}

// schemaWeight is how many times its text a schema takes when it is read: about three times
// where fields are described, and eleven where they have nothing but a type.
const schemaWeight = 8

// Size is the length of its texts, of which schemas count several times.
func (row *customNodeRow) Size() int {
	return len(row.Name) + len(row.Description) + len(row.Endpoint) + len(row.Metadata) + len(row.Translations) +
		schemaWeight*(len(row.InputSchema)+len(row.OutputSchema)+len(row.ConfigSchema))
}

// SizeSQL is the same, of the columns.
func (*customNodeRow) SizeSQL() string {
	return `octet_length(name) + octet_length(description) + octet_length(endpoint) + octet_length(metadata) + octet_length(translations) +
		` + fmt.Sprint(schemaWeight) + ` * (octet_length(input_schema) + octet_length(output_schema) + octet_length(config_schema))`
}

type translationJSON struct {
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
}

func (row customNodeRow) restore() (*node.Custom, error) {
	st := node.CustomState{
		ID: node.CustomID(row.ID), Tenant: tenant.ID(row.Tenant), Type: node.Type(row.Type), Version: row.Version,
		Name: row.Name, Description: row.Description, Endpoint: row.Endpoint, CanPause: row.CanPause, IsActive: row.Active,
		Metadata: domain.RestoreMetadata(row.Metadata), CreatedAt: row.CreatedAt.UTC(), UpdatedAt: row.UpdatedAt.UTC(), Revision: row.Revision,
	}
	var translations map[string]translationJSON
	for _, column := range []struct {
		text string
		into any
	}{
		{row.InputSchema, &st.InputSchema}, {row.OutputSchema, &st.OutputSchema},
		{row.ConfigSchema, &st.ConfigSchema}, {row.Translations, &translations},
	} {
		if err := json.Unmarshal([]byte(column.text), column.into); err != nil {
			return nil, fmt.Errorf("custom node %s: %w", row.ID, err)
		}
	}
	for l, t := range translations {
		if st.Translations == nil {
			st.Translations = make(map[tenant.Language]node.Translation, len(translations))
		}
		st.Translations[tenant.Language(l)] = node.Translation(t)
	}
	return node.RestoreCustom(st), nil
}

const customNodeNotFound, customNodeNotFoundMessage = "custom_node_not_found", "There is no such custom node."

var customNodesSorted = map[string]string{"name": "name", "type": "type", "createdAt": "created_at", "updatedAt": "updated_at"}

// documents encodes the members of a custom node that are kept as JSON: the schemas
// for input, output and configuration, and the translations.
func documents(st node.CustomState) (texts [4]string, err error) {
	translations := make(map[string]translationJSON, len(st.Translations))
	for l, t := range st.Translations {
		translations[string(l)] = translationJSON(t)
	}
	for i, value := range []any{st.InputSchema, st.OutputSchema, st.ConfigSchema, translations} {
		text, err := json.Marshal(value)
		if err != nil {
			return texts, fmt.Errorf("encode custom node: %w", err)
		}
		texts[i] = string(text)
	}
	return texts, nil
}

// Insert adds a custom node.
func (s customNodes) Insert(ctx context.Context, n *node.Custom) error {
	st := n.State()
	texts, err := documents(st)
	if err != nil {
		return s.Fail(err)
	}
	if err := s.takeVersion(ctx, st); err != nil {
		return err
	}
	s.NoteChange(st.Tenant)
	_, err = s.Exec(ctx, "insert custom node", `INSERT INTO custom_nodes (`+customNodeColumns+`, search_text, weight)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)`,
		string(st.ID), string(st.Tenant), string(st.Type), st.Version, st.Name, st.Description, texts[0], texts[1], texts[2],
		st.Endpoint, st.CanPause, st.IsActive, st.Metadata.String(), texts[3], st.CreatedAt, st.UpdatedAt, st.Revision, core.SearchText(st.Name, &st.Description),
		n.Weight())
	if err != nil {
		return err
	}
	return s.checkDefined(ctx, st.Tenant)
}

// checkDefined reports a tenant whose custom nodes have become too large together.
func (s customNodes) checkDefined(ctx context.Context, owner tenant.ID) error {
	var sums struct {
		Bytes  int64 `db:"bytes"`
		Weight int64 `db:"weight"`
	}
	err := s.ReadRow(ctx, "sum up custom nodes", &sums, `SELECT CAST(COALESCE(sum(octet_length(input_schema) + octet_length(output_schema) +
			octet_length(config_schema) + octet_length(translations)), 0) AS bigint) AS bytes,
		CAST(COALESCE(sum(weight), 0) AS bigint) AS weight
		FROM custom_nodes WHERE tenant_id = $1`, string(owner))
	if err != nil {
		return err
	}
	if err := node.CheckCustomNodes(sums.Bytes, sums.Weight); err != nil {
		return s.Fail(err)
	}
	return nil
}

// takeVersion records the type and version as defined, unless the stored node has
// this version already.
func (s customNodes) takeVersion(ctx context.Context, st node.CustomState) error {
	_, err := s.Exec(ctx, "take custom node version", `INSERT INTO custom_node_versions (tenant_id, type, version)
		SELECT CAST($1 AS text), CAST($2 AS text), CAST($3 AS text)
		WHERE NOT EXISTS (SELECT 1 FROM custom_nodes WHERE tenant_id = $1 AND id = $4 AND version = $3)`,
		string(st.Tenant), string(st.Type), st.Version, string(st.ID))
	return err
}

// Get reads a custom node.
func (s customNodes) Get(ctx context.Context, scope tenant.Scope, id node.CustomID) (*node.Custom, error) {
	var row customNodeRow
	err := s.ReadRow(ctx, "get custom node", &row, `SELECT `+customNodeColumns+` FROM custom_nodes WHERE tenant_id = $1 AND id = $2`+s.ForUpdate(),
		string(scope.Tenant()), string(id))
	if err != nil {
		return nil, core.NotFound(err, customNodeNotFound, customNodeNotFoundMessage)
	}
	return row.restore()
}

// List reads a page of the tenant's custom nodes.
func (s customNodes) List(ctx context.Context, scope tenant.Scope, f node.CustomFilter, q domain.Query) (domain.Page[*node.Custom], error) {
	l := core.NewList("custom_nodes", customNodeColumns, scope, core.ScopeCondition{}, customNodesSorted)
	l.Active = f.Active
	l.Search(f.Search)
	l.Metadata(f.Metadata, s.store.dialect.HasPair)
	return core.ReadPage(ctx, s.Unit, l, q, customNodeRow.restore)
}

// Update writes a custom node whose stored revision is the aggregate's. Its type
// never changes.
func (s customNodes) Update(ctx context.Context, n *node.Custom) error {
	st := n.State()
	texts, err := documents(st)
	if err != nil {
		return s.Fail(err)
	}
	if err := s.takeVersion(ctx, st); err != nil {
		return err
	}
	s.NoteChange(st.Tenant)
	changed, err := s.Exec(ctx, "update custom node", `UPDATE custom_nodes
		SET version = $1, name = $2, description = $3, input_schema = $4, output_schema = $5, config_schema = $6, endpoint = $7,
			can_pause = $8, is_active = $9, translations = $10, updated_at = $11, search_text = $12, metadata = $13,
			weight = $14, revision = revision + 1
		WHERE tenant_id = $15 AND id = $16 AND revision = $17`,
		st.Version, st.Name, st.Description, texts[0], texts[1], texts[2], st.Endpoint, st.CanPause, st.IsActive, texts[3],
		st.UpdatedAt, core.SearchText(st.Name, &st.Description), st.Metadata.String(), n.Weight(), string(st.Tenant), string(st.ID), st.Revision)
	err = s.CheckUpdated(changed, err, n.Saved, func() error {
		_, err := s.Get(ctx, tenant.All(st.Tenant), st.ID)
		return err
	})
	if err != nil {
		return err
	}
	return s.checkDefined(ctx, st.Tenant)
}

// Delete removes a custom node.
func (s customNodes) Delete(ctx context.Context, scope tenant.Scope, id node.CustomID) error {
	if !scope.Covers("", "") {
		return core.NotFound(sql.ErrNoRows, customNodeNotFound, customNodeNotFoundMessage)
	}
	s.NoteChange(scope.Tenant())
	n, err := s.Exec(ctx, "delete custom node", `DELETE FROM custom_nodes WHERE tenant_id = $1 AND id = $2`,
		string(scope.Tenant()), string(id))
	return s.CheckDeleted(n, err, customNodeNotFound, customNodeNotFoundMessage)
}

// Active reads the tenant's active custom nodes.
func (s customNodes) Active(ctx context.Context, scope tenant.Scope) ([]*node.Custom, error) {
	var rows []customNodeRow
	err := s.ReadRows(ctx, "list active custom nodes", &rows, `SELECT `+customNodeColumns+` FROM custom_nodes
		WHERE tenant_id = $1 AND is_active ORDER BY type, version`, string(scope.Tenant()))
	if err != nil {
		return nil, err
	}
	found := make([]*node.Custom, 0, len(rows))
	for _, row := range rows {
		n, err := row.restore()
		if err != nil {
			return nil, err
		}
		found = append(found, n)
	}
	return found, nil
}

// customNodeAddresses reads where custom nodes run.
type customNodeAddresses struct{ *unit }

var _ outbound.CustomNodeAddresses = customNodeAddresses{}

// Active reads where the tenant's active custom nodes run.
func (s customNodeAddresses) Active(ctx context.Context, scope tenant.Scope) ([]outbound.CustomNodeAddress, error) {
	var rows []struct {
		Type     string `db:"type"`
		Version  string `db:"version"`
		Endpoint string `db:"endpoint"`
	}
	err := s.ReadRows(ctx, "list endpoints of custom nodes", &rows, `SELECT type, version, endpoint FROM custom_nodes
		WHERE tenant_id = $1 AND is_active ORDER BY type, version`, string(scope.Tenant()))
	found := make([]outbound.CustomNodeAddress, len(rows))
	for i, row := range rows {
		found[i] = outbound.CustomNodeAddress{Type: node.Type(row.Type), Version: row.Version, URL: row.Endpoint}
	}
	return found, err
}

// Stamp counts changes: each custom node that is added takes a version that stays taken, and
// each update makes a revision.
func (s customNodeAddresses) Stamp(ctx context.Context, scope tenant.Scope) (stamp string, err error) {
	err = s.ReadRow(ctx, "stamp of custom nodes", &stamp, `SELECT revision
			|| '/' || (SELECT count(*) FROM custom_node_versions WHERE tenant_id = $1)
			|| '/' || (SELECT count(*) || '/' || COALESCE(sum(revision), 0) FROM custom_nodes WHERE tenant_id = $1)
		FROM tenants WHERE id = $1`, string(scope.Tenant()))
	if err != nil {
		return "", core.NotFound(err, tenantNotFound, tenantNotFoundMessage)
	}
	return stamp, nil
}
