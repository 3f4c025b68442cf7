package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/change"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

type workflows struct{ *unit }

var _ outbound.WorkflowRepository = workflows{}

const workflowColumns = `id, tenant_id, sub_tenant_id, name, description, is_active, run_retention_days, metadata, created_at, updated_at, revision`

type workflowRow struct {
	ID          string    `db:"id"`
	Tenant      string    `db:"tenant_id"`
	SubTenant   string    `db:"sub_tenant_id"`
	Name        string    `db:"name"`
	Description *string   `db:"description"`
	Active      bool      `db:"is_active"`
	RunDays     *int      `db:"run_retention_days"`
	Metadata    string    `db:"metadata"`
	CreatedAt   time.Time `db:"created_at"`
	UpdatedAt   time.Time `db:"updated_at"`
	Revision    int64     `db:"revision"`
}

// Targets are where the columns of a list go.
func (row *workflowRow) Targets() []any {
	return []any{
		&row.ID, &row.Tenant, &row.SubTenant, &row.Name, &row.Description, &row.Active, &row.RunDays, &row.Metadata, &row.CreatedAt,
		&row.UpdatedAt, &row.Revision,
	}
}

// Size is the length of its texts.
func (row *workflowRow) Size() int {
	return len(row.Name) + core.TextLen(row.Description) + len(row.Metadata)
}

// SizeSQL is the same, of the columns.
func (*workflowRow) SizeSQL() string {
	return `octet_length(name) + coalesce(octet_length(description), 0) + octet_length(metadata)`
}

func (row workflowRow) restore() *workflow.Workflow {
	return workflow.Restore(workflow.State{
		ID: workflow.ID(row.ID), Tenant: tenant.ID(row.Tenant), SubTenant: tenant.SubTenantID(row.SubTenant),
		Name: row.Name, Description: row.Description, Active: row.Active, RunDays: row.RunDays, Metadata: domain.RestoreMetadata(row.Metadata),
		CreatedAt: row.CreatedAt.UTC(), UpdatedAt: row.UpdatedAt.UTC(), Revision: row.Revision,
	})
}

const workflowNotFound, workflowNotFoundMessage = "workflow_not_found", "There is no such workflow."

var workflowsSorted = map[string]string{"name": "name", "createdAt": "created_at", "updatedAt": "updated_at"}

// Insert adds a workflow.
func (s workflows) Insert(ctx context.Context, wf *workflow.Workflow) error {
	st := wf.State()
	_, err := s.Exec(ctx, "insert workflow", `INSERT INTO workflows (`+workflowColumns+`, search_text) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
		string(st.ID), string(st.Tenant), string(st.SubTenant), st.Name, st.Description, st.Active, st.RunDays, st.Metadata.String(),
		st.CreatedAt, st.UpdatedAt, st.Revision, core.SearchText(st.Name, st.Description))
	return err
}

// Get reads a workflow.
func (s workflows) Get(ctx context.Context, scope tenant.Scope, id workflow.ID) (*workflow.Workflow, error) {
	in, args := core.Within(scope, core.ByWorkflow("id"), string(id))
	var row workflowRow
	err := s.ReadRow(ctx, "get workflow", &row, `SELECT `+workflowColumns+` FROM workflows WHERE tenant_id = $1 AND id = $2`+in+s.ForUpdate(), args...)
	if err != nil {
		return nil, core.NotFound(err, workflowNotFound, workflowNotFoundMessage)
	}
	return row.restore(), nil
}

// Update writes a workflow whose stored revision is the aggregate's.
func (s workflows) Update(ctx context.Context, wf *workflow.Workflow) error {
	st := wf.State()
	n, err := s.Exec(ctx, "update workflow", `UPDATE workflows
		SET name = $1, description = $2, is_active = $3, updated_at = $4, search_text = $5, metadata = $6, run_retention_days = $7, revision = revision + 1
		WHERE tenant_id = $8 AND id = $9 AND revision = $10`,
		st.Name, st.Description, st.Active, st.UpdatedAt, core.SearchText(st.Name, st.Description), st.Metadata.String(), st.RunDays,
		string(st.Tenant), string(st.ID), st.Revision)
	return s.CheckUpdated(n, err, wf.Saved, func() error {
		_, err := s.Get(ctx, tenant.All(st.Tenant), st.ID)
		return err
	})
}

// List reads a page of the tenant's workflows.
func (s workflows) List(ctx context.Context, scope tenant.Scope, f workflow.Filter, q domain.Query) (domain.Page[*workflow.Workflow], error) {
	l := core.NewList("workflows", workflowColumns, scope, core.ByWorkflow("id"), workflowsSorted)
	l.TotalKept, l.Active = true, f.Active
	l.OfSubTenant(f.SubTenant)
	l.Search(f.Search)
	l.Metadata(f.Metadata, s.store.dialect.HasPair)
	return core.ReadPage(ctx, s.Unit, l, q, func(row workflowRow) (*workflow.Workflow, error) { return row.restore(), nil })
}

// Delete removes a workflow; the schema's cascades remove its versions and their
// triggers.
func (s workflows) Delete(ctx context.Context, scope tenant.Scope, id workflow.ID) error {
	if s.ListsFollowed(scope.Tenant()) {
		wf, err := s.Get(ctx, scope, id)
		if err != nil {
			return err
		}
		s.NoteLists(change.Change{Tenant: scope.Tenant(), SubTenant: wf.SubTenant()}) // its versions are too many to be named
	}
	in, args := core.Within(scope, core.ByWorkflow("id"), string(id))
	n, err := s.ExecSlow(ctx, "delete workflow", `DELETE FROM workflows WHERE tenant_id = $1 AND id = $2`+in, args...)
	return s.CheckDeleted(n, err, workflowNotFound, workflowNotFoundMessage)
}

// NextVersion draws the next version number and holds the workflow until the unit
// ends.
func (s workflows) NextVersion(ctx context.Context, scope tenant.Scope, id workflow.ID) (int, error) {
	in, args := core.Within(scope, core.ByWorkflow("id"), string(id))
	var number int
	err := s.ReadRow(ctx, "number a version", &number, `UPDATE workflows SET last_version = last_version + 1
		WHERE tenant_id = $1 AND id = $2`+in+` RETURNING last_version`, args...)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, s.Fail(err)
	}
	return number, core.NotFound(err, workflowNotFound, workflowNotFoundMessage)
}
