package sqlstore

import (
	"context"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/change"
	"github.com/sluicehq/sluice/domain/process"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

type versions struct{ *unit }

var _ outbound.VersionRepository = versions{}

const versionColumns = `id, workflow_id, tenant_id, sub_tenant_id, number, graph, metadata, pins, is_active, needs_level, published_at, created_at, revision`

type versionRow struct {
	ID          string     `db:"id"`
	Workflow    string     `db:"workflow_id"`
	Tenant      string     `db:"tenant_id"`
	SubTenant   string     `db:"sub_tenant_id"`
	Number      int        `db:"number"`
	Graph       string     `db:"graph"`
	Metadata    string     `db:"metadata"`
	Pins        *string    `db:"pins"` // nil for none
	Active      bool       `db:"is_active"`
	Level       int        `db:"needs_level"`
	PublishedAt *time.Time `db:"published_at"`
	CreatedAt   time.Time  `db:"created_at"`
	Revision    int64      `db:"revision"`
}

// Targets are where the columns of a list go.
func (row *versionRow) Targets() []any {
	return []any{
		&row.ID, &row.Workflow, &row.Tenant, &row.SubTenant, &row.Number, &row.Graph, &row.Metadata, &row.Pins, &row.Active, &row.Level, &row.PublishedAt,
		&row.CreatedAt, &row.Revision,
	}
}

// Size is the length of its texts.
func (row *versionRow) Size() int { return len(row.Graph) + len(row.Metadata) + len(row.pins()) }

// SizeSQL is the same, of the columns.
func (*versionRow) SizeSQL() string {
	return `octet_length(graph) + octet_length(metadata) + coalesce(octet_length(pins), 0)`
}

func (row *versionRow) pins() string {
	if row.Pins == nil {
		return ""
	}
	return *row.Pins
}

func (row versionRow) restore() (*workflow.Version, error) {
	graph, err := decodeGraph(row.Graph)
	if err != nil {
		return nil, fmt.Errorf("version %s: graph: %w", row.ID, err)
	}
	return workflow.RestoreVersion(workflow.VersionState{
		ID: workflow.VersionID(row.ID), Workflow: workflow.ID(row.Workflow), Tenant: tenant.ID(row.Tenant),
		SubTenant: tenant.SubTenantID(row.SubTenant), Number: row.Number, Graph: graph, Active: row.Active, Level: process.Level(row.Level),
		Metadata: domain.RestoreMetadata(row.Metadata), Pins: workflow.RestorePins(row.pins()), PublishedAt: core.InUTC(row.PublishedAt), CreatedAt: row.CreatedAt.UTC(), Revision: row.Revision,
	}), nil
}

// keptPins is nil for none.
func keptPins(p workflow.Pins) *string {
	if p.Empty() {
		return nil
	}
	return new(p.String())
}

const versionNotFound, versionNotFoundMessage = "version_not_found", "There is no such workflow version."

var versionsSorted = map[string]string{
	"version": "number", "createdAt": "created_at",
	// Drafts have no such time; they come before everything that was published.
	"publishedAt": "coalesce(published_at, '0001-01-01 00:00:00+00:00')",
}

// Insert adds a version.
func (s versions) Insert(ctx context.Context, ver *workflow.Version) error {
	st := ver.State()
	graph, err := encodeGraph(st.Graph)
	if err != nil {
		return s.Fail(err)
	}
	_, err = s.Exec(ctx, "insert version", `INSERT INTO workflow_versions (`+versionColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
		string(st.ID), string(st.Workflow), string(st.Tenant), string(st.SubTenant), st.Number, graph, st.Metadata.String(), keptPins(st.Pins), st.Active, int(st.Level),
		st.PublishedAt, st.CreatedAt, st.Revision)
	s.noteVersion(ver, change.Created)
	return err
}

// noteVersion notes a version for those who follow lists.
func (s versions) noteVersion(ver *workflow.Version, op change.Operation) {
	if s.ListsFollowed(ver.Tenant()) {
		s.NoteLists(change.OfVersion(ver, op))
	}
}

// Get reads a version.
func (s versions) Get(ctx context.Context, scope tenant.Scope, id workflow.VersionID) (*workflow.Version, error) {
	in, args := core.Within(scope, core.ByWorkflow("workflow_id"), string(id))
	var row versionRow
	err := s.ReadRow(ctx, "get version", &row, `SELECT `+versionColumns+` FROM workflow_versions WHERE tenant_id = $1 AND id = $2`+in+s.ForUpdate(), args...)
	if err != nil {
		return nil, core.NotFound(err, versionNotFound, versionNotFoundMessage)
	}
	return row.restore()
}

// Parent reads only where a version belongs.
func (s versions) Parent(ctx context.Context, scope tenant.Scope, id workflow.VersionID) (outbound.VersionParent, error) {
	in, args := core.Within(scope, core.ByWorkflow("workflow_id"), string(id))
	var row struct {
		Workflow  string `db:"workflow_id"`
		SubTenant string `db:"sub_tenant_id"`
	}
	err := s.ReadRow(ctx, "get where the version belongs", &row,
		`SELECT workflow_id, sub_tenant_id FROM workflow_versions WHERE tenant_id = $1 AND id = $2`+in, args...)
	belonging := outbound.VersionParent{Workflow: workflow.ID(row.Workflow), SubTenant: tenant.SubTenantID(row.SubTenant)}
	return belonging, core.NotFound(err, versionNotFound, versionNotFoundMessage)
}

// List reads a page of the versions of a workflow.
func (s versions) List(ctx context.Context, scope tenant.Scope, f workflow.VersionFilter, q domain.Query) (domain.Page[*workflow.Version], error) {
	l := core.NewList("workflow_versions", versionColumns, scope, core.ByWorkflow("workflow_id"), versionsSorted)
	l.Active = f.Active
	l.Equal("workflow_id", string(f.Workflow))
	l.Metadata(f.Metadata, s.store.dialect.HasPair)
	return core.ReadPage(ctx, s.Unit, l, q, versionRow.restore)
}

// Update writes a version whose stored revision is the aggregate's. Its workflow and
// its number never change.
func (s versions) Update(ctx context.Context, ver *workflow.Version) error {
	st := ver.State()
	graph, err := encodeGraph(st.Graph)
	if err != nil {
		return s.Fail(err)
	}
	if st.Active {
		var others []string
		err = s.ReadRows(ctx, "deactivate the other version", &others, `UPDATE workflow_versions SET is_active = false, revision = revision + 1
			WHERE tenant_id = $1 AND workflow_id = $2 AND is_active AND id <> $3 RETURNING id`, string(st.Tenant), string(st.Workflow), string(st.ID))
		if err != nil {
			return s.Fail(err)
		}
		for _, id := range others {
			s.noteVersion(workflow.RestoreVersion(workflow.VersionState{ID: workflow.VersionID(id), Workflow: st.Workflow, Tenant: st.Tenant, SubTenant: st.SubTenant}), change.Changed)
		}
	}
	s.noteVersion(ver, change.Changed)
	n, err := s.Exec(ctx, "update version", `UPDATE workflow_versions
		SET graph = $1, is_active = $2, needs_level = $3, published_at = $4, metadata = $5, pins = $6, revision = revision + 1
		WHERE tenant_id = $7 AND id = $8 AND revision = $9`,
		graph, st.Active, int(st.Level), st.PublishedAt, st.Metadata.String(), keptPins(st.Pins), string(st.Tenant), string(st.ID), st.Revision)
	return s.CheckUpdated(n, err, ver.Saved, func() error {
		_, err := s.Get(ctx, tenant.All(st.Tenant), st.ID)
		return err
	})
}

// Delete removes a version; the schema's cascades remove its triggers.
func (s versions) Delete(ctx context.Context, scope tenant.Scope, id workflow.VersionID) error {
	if s.ListsFollowed(scope.Tenant()) {
		of, err := s.Parent(ctx, scope, id)
		if err != nil {
			return err
		}
		s.NoteLists(change.Change{Tenant: scope.Tenant(), SubTenant: of.SubTenant, Kind: change.Version, Operation: change.Deleted, ID: string(id), Workflow: of.Workflow})
	}
	in, args := core.Within(scope, core.ByWorkflow("workflow_id"), string(id))
	n, err := s.ExecSlow(ctx, "delete version", `DELETE FROM workflow_versions WHERE tenant_id = $1 AND id = $2`+in, args...)
	return s.CheckDeleted(n, err, versionNotFound, versionNotFoundMessage)
}
