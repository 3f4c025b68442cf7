package sqlstore

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

type workflows struct{ *unit }

var _ outbound.WorkflowRepository = workflows{}

const workflowColumns = `id, tenant_id, sub_tenant_id, name, description, is_active, created_at, updated_at, revision`

type workflowRow struct {
	ID          string    `db:"id"`
	Tenant      string    `db:"tenant_id"`
	SubTenant   string    `db:"sub_tenant_id"`
	Name        string    `db:"name"`
	Description *string   `db:"description"`
	Active      bool      `db:"is_active"`
	CreatedAt   time.Time `db:"created_at"`
	UpdatedAt   time.Time `db:"updated_at"`
	Revision    int64     `db:"revision"`
}

func (row workflowRow) restore() *workflow.Workflow {
	return workflow.Restore(workflow.State{
		ID: workflow.ID(row.ID), Tenant: tenant.ID(row.Tenant), SubTenant: tenant.SubTenantID(row.SubTenant),
		Name: row.Name, Description: row.Description, Active: row.Active,
		CreatedAt: row.CreatedAt.UTC(), UpdatedAt: row.UpdatedAt.UTC(), Revision: row.Revision,
	})
}

// Insert adds a workflow.
func (s workflows) Insert(ctx context.Context, wf *workflow.Workflow) error {
	st := wf.State()
	_, err := s.exec(ctx, "insert workflow", `INSERT INTO workflows (`+workflowColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		string(st.ID), string(st.Tenant), string(st.SubTenant), st.Name, st.Description, st.Active,
		st.CreatedAt, st.UpdatedAt, st.Revision)
	return err
}

// Get reads a workflow.
func (s workflows) Get(ctx context.Context, owner tenant.ID, id workflow.ID) (*workflow.Workflow, error) {
	var row workflowRow
	err := s.get(ctx, "get workflow", &row, `SELECT `+workflowColumns+` FROM workflows WHERE tenant_id = $1 AND id = $2`,
		string(owner), string(id))
	if err != nil {
		return nil, missing(err, "workflow_not_found", "There is no such workflow.")
	}
	return row.restore(), nil
}

// Update writes a workflow whose stored revision is the aggregate's.
func (s workflows) Update(ctx context.Context, wf *workflow.Workflow) error {
	st := wf.State()
	n, err := s.exec(ctx, "update workflow", `UPDATE workflows
		SET name = $1, description = $2, is_active = $3, updated_at = $4, revision = revision + 1
		WHERE tenant_id = $5 AND id = $6 AND revision = $7`,
		st.Name, st.Description, st.Active, st.UpdatedAt, string(st.Tenant), string(st.ID), st.Revision)
	return s.updated(n, err, wf.Saved, func() error {
		_, err := s.Get(ctx, st.Tenant, st.ID)
		return err
	})
}
