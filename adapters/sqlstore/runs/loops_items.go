package runs

import (
	"context"
	"slices"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain/change"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
)

// noteItems notes items that are pending again for those who follow lists.
func (s loops) noteItems(ctx context.Context, items []core.KeyRow) error {
	followed := slices.DeleteFunc(slices.Clone(items), func(key core.KeyRow) bool { return !s.ListsFollowed(tenant.ID(key.Tenant)) })
	if len(followed) == 0 {
		return nil
	}
	table, parameter, err := s.store.dialect.Keys(followed)
	if err != nil {
		return s.Fail(err)
	}
	var found []struct {
		core.KeyRow
		SubTenant string `db:"sub_tenant_id"`
		Workflow  string `db:"workflow_id"`
		Parent    string `db:"parent_run_id"`
	}
	err = s.ReadRows(ctx, "find whose items are", &found, `SELECT u.tenant_id, u.id, u.sub_tenant_id, u.workflow_id, u.parent_run_id FROM `+table+` CROSS JOIN runs u
		WHERE u.tenant_id = r.tenant_id AND u.id = r.id`, parameter)
	for _, row := range found {
		s.NoteLists(change.Change{
			Tenant: tenant.ID(row.Tenant), SubTenant: tenant.SubTenantID(row.SubTenant), Kind: change.Run, Operation: change.Changed,
			ID: row.ID, Workflow: workflow.ID(row.Workflow), Parent: run.ID(row.Parent),
		})
	}
	return err
}
