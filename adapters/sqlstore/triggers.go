package sqlstore

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

type triggers struct{ *unit }

var _ outbound.TriggerRepository = triggers{}

// triggerColumns are the columns of a trigger.
var triggerColumns = triggerColumnsOf("")

// triggerColumnsOf are those of a table that the query calls so, with a dot.
func triggerColumnsOf(table string) string {
	return core.ColumnsOf(table, "id", "tenant_id", "sub_tenant_id", "workflow_version_id", "name", "type", "config", "metadata", "is_active", "activated_at", "left_at",
		"created_at", "updated_at", "revision")
}

type triggerRow struct {
	ID        string     `db:"id"`
	Tenant    string     `db:"tenant_id"`
	SubTenant string     `db:"sub_tenant_id"`
	Version   string     `db:"workflow_version_id"`
	Name      string     `db:"name"`
	Type      string     `db:"type"`
	Config    string     `db:"config"`
	Metadata  string     `db:"metadata"`
	Active    bool       `db:"is_active"`
	Activated time.Time  `db:"activated_at"`
	LeftAt    *time.Time `db:"left_at"`
	CreatedAt time.Time  `db:"created_at"`
	UpdatedAt time.Time  `db:"updated_at"`
	Revision  int64      `db:"revision"`
}

// Targets are where the columns of a list go.
func (row *triggerRow) Targets() []any {
	return []any{
		&row.ID, &row.Tenant, &row.SubTenant, &row.Version, &row.Name, &row.Type, &row.Config, &row.Metadata, &row.Active,
		&row.Activated, &row.LeftAt, &row.CreatedAt, &row.UpdatedAt, &row.Revision,
	}
}

// Size is the length of its texts.
func (row *triggerRow) Size() int { return len(row.Name) + len(row.Config) + len(row.Metadata) }

// SizeSQL is the same, of the columns.
func (*triggerRow) SizeSQL() string {
	return `octet_length(name) + octet_length(config) + octet_length(metadata)`
}

func (row triggerRow) restore() *trigger.Trigger {
	return trigger.Restore(trigger.State{
		ID: trigger.ID(row.ID), Tenant: tenant.ID(row.Tenant), SubTenant: tenant.SubTenantID(row.SubTenant),
		Version: workflow.VersionID(row.Version), Name: row.Name, Type: trigger.Type(row.Type),
		Config: trigger.RestoreConfig(row.Config), Metadata: domain.RestoreMetadata(row.Metadata), Active: row.Active, ActivatedAt: row.Activated.UTC(), LeftAt: core.InUTC(row.LeftAt),
		CreatedAt: row.CreatedAt.UTC(), UpdatedAt: row.UpdatedAt.UTC(), Revision: row.Revision,
	})
}

var triggersSorted = map[string]string{"name": "name", "type": "type", "createdAt": "created_at", "updatedAt": "updated_at"}

// Insert adds a trigger.
func (s triggers) Insert(ctx context.Context, trg *trigger.Trigger) error {
	st := trg.State()
	_, err := s.Exec(ctx, "insert trigger", `INSERT INTO triggers (`+triggerColumns+`, search_text, event) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
		string(st.ID), string(st.Tenant), string(st.SubTenant), string(st.Version), st.Name, string(st.Type),
		st.Config.Document().String(), st.Metadata.String(), st.Active, st.ActivatedAt, st.LeftAt, st.CreatedAt, st.UpdatedAt, st.Revision, core.SearchText(st.Name, nil), listensFor(trg))
	return err
}

// listensFor is the event by which a trigger is looked for, nil for none: one that no
// caller can name is none.
func listensFor(trg *trigger.Trigger) *string {
	event, ok := trg.Event()
	if !ok || event == "" || utf8.RuneCountInString(event) > run.MaxEvent || strings.Contains(event, "\x00") {
		return nil
	}
	return &event
}

// byVersion is what holds for the triggers of a narrow scope.
var byVersion = core.ByVersion("triggers", "workflow_version_id")

// Get reads a trigger.
func (s triggers) Get(ctx context.Context, scope tenant.Scope, id trigger.ID) (*trigger.Trigger, error) {
	in, args := core.Within(scope, byVersion, string(id))
	var row triggerRow
	err := s.ReadRow(ctx, "get trigger", &row, `SELECT `+triggerColumns+` FROM triggers WHERE tenant_id = $1 AND id = $2`+in+s.ForUpdate(), args...)
	if err != nil {
		return nil, core.NotFound(err, "trigger_not_found", "There is no such trigger.")
	}
	return row.restore(), nil
}

// Update writes a trigger whose stored revision is the aggregate's. Its type never changes.
func (s triggers) Update(ctx context.Context, trg *trigger.Trigger) error {
	st := trg.State()
	n, err := s.Exec(ctx, "update trigger", `UPDATE triggers
		SET name = $1, config = $2, is_active = $3, activated_at = $4, updated_at = $5, search_text = $6, event = $7, metadata = $8, workflow_version_id = $9, left_at = $10,
			revision = revision + 1
		WHERE tenant_id = $11 AND id = $12 AND revision = $13`,
		st.Name, st.Config.Document().String(), st.Active, st.ActivatedAt, st.UpdatedAt, core.SearchText(st.Name, nil), listensFor(trg), st.Metadata.String(),
		string(st.Version), st.LeftAt, string(st.Tenant), string(st.ID), st.Revision)
	return s.CheckUpdated(n, err, trg.Saved, func() error {
		_, err := s.Get(ctx, tenant.All(st.Tenant), st.ID)
		return err
	})
}

// Delete removes a trigger.
func (s triggers) Delete(ctx context.Context, scope tenant.Scope, id trigger.ID) error {
	in, args := core.Within(scope, byVersion, string(id))
	n, err := s.ExecSlow(ctx, "delete trigger", `DELETE FROM triggers WHERE tenant_id = $1 AND id = $2`+in, args...)
	return s.CheckDeleted(n, err, "trigger_not_found", "There is no such trigger.")
}

// List reads a page of the tenant's triggers.
func (s triggers) List(ctx context.Context, scope tenant.Scope, f trigger.Filter, q domain.Query) (domain.Page[*trigger.Trigger], error) {
	l := core.NewList("triggers", triggerColumns, scope, byVersion, triggersSorted)
	l.TotalKept, l.Active = true, f.Active
	if f.Type != "" {
		l.Equal("type", string(f.Type))
	}
	if f.Workflow != "" {
		l.Where = append(l.Where, "workflow_version_id IN (SELECT id FROM workflow_versions WHERE tenant_id = $1 AND workflow_id = "+l.Arg(string(f.Workflow))+")")
	}
	if f.Version != "" {
		l.Equal("workflow_version_id", string(f.Version))
	}
	l.OfSubTenant(f.SubTenant)
	l.Search(f.Search)
	l.Metadata(f.Metadata, s.store.dialect.HasPair)
	return core.ReadPage(ctx, s.Unit, l, q, func(row triggerRow) (*trigger.Trigger, error) { return row.restore(), nil })
}

// OfVersion reads every trigger of a version.
func (s triggers) OfVersion(ctx context.Context, scope tenant.Scope, version workflow.VersionID) ([]*trigger.Trigger, error) {
	in, args := core.Within(scope, byVersion, string(version))
	var rows []triggerRow
	err := s.ReadRows(ctx, "list the version's triggers", &rows, `SELECT `+triggerColumns+` FROM triggers
		WHERE tenant_id = $1 AND workflow_version_id = $2`+in+` ORDER BY created_at, id`, args...)
	if err != nil {
		return nil, err
	}
	found := make([]*trigger.Trigger, len(rows))
	for i, row := range rows {
		found[i] = row.restore()
	}
	return found, nil
}
