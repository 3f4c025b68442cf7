package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

// firing reads across tables what starting a run asks. It holds versions, and only of
// what can fire: that is enough, since a workflow goes with its versions, and what cannot
// fire starts nothing.
type firing struct{ *unit }

var _ outbound.FiringRepository = firing{}

var (
	// started, and what is kept, come after these.
	firingColumns = triggerColumnsOfT + `, v.workflow_id, v.is_active AS version_active, w.is_active AS workflow_active, ` + budgetColumns + `, `
	firingTables  = `triggers t JOIN workflow_versions v ON v.tenant_id = t.tenant_id AND v.id = t.workflow_version_id
		JOIN workflows w ON w.tenant_id = v.tenant_id AND w.id = v.workflow_id JOIN tenants b ON b.id = t.tenant_id`
)

// keptBytes is what is kept for one tenant, and keptOfEach what is for each that a table
// named r has rows of, which it is joined to; both read it once for all rows.
const (
	storedBytes       = `(SELECT CAST(coalesce(sum(k.bytes), 0) AS bigint) FROM tenant_storage k WHERE k.tenant_id = $1) AS kept`
	storedBytesColumn = `CAST(coalesce(s.kept, 0) AS bigint) AS kept`
)

func storedBytesOfEach(rows string) string {
	if !run.AccountingEnabled {
		return ` LEFT JOIN (SELECT '' AS tenant_id, 0 AS kept) AS s ON s.tenant_id = t.tenant_id`
	}
	return ` LEFT JOIN (SELECT k.tenant_id, sum(k.bytes) AS kept FROM tenant_storage k
		WHERE k.tenant_id IN (SELECT r.tenant_id FROM ` + rows + `) GROUP BY k.tenant_id) AS s ON s.tenant_id = t.tenant_id`
}

// noStartedRun is the column started where nobody asks what was started.
const noStartedRun = `'' AS started, `

const canFire = ` AND t.is_active AND v.is_active AND w.is_active`

type firingRow struct {
	triggerRow
	Workflow       string
	VersionActive  bool
	WorkflowActive bool
	budgets        budgetsRow
	Started        string
	Kept           int64
}

// Targets are where firingColumns go.
func (row *firingRow) Targets() []any {
	all := append(row.triggerRow.Targets(), &row.Workflow, &row.VersionActive, &row.WorkflowActive)
	return append(append(all, row.budgets.targets()...), &row.Started, &row.Kept)
}

// firing is what was found, with the budget of the gateway of who has none.
func (row *firingRow) firing(bytesKept int64) outbound.FiringTrigger {
	return outbound.FiringTrigger{
		Trigger: row.restore(), Workflow: workflow.ID(row.Workflow),
		ParentState: trigger.ParentState{WorkflowActive: row.WorkflowActive, VersionActive: row.VersionActive},
		Started:     run.ID(row.Started),
		StoredBytes: row.Kept, Budgets: row.budgets.budgets().Or(bytesKept),
	}
}

// keepVersions is appended to a SELECT from workflow_versions, under the name v.
func (u *unit) keepVersions() string {
	if u.Writes() {
		return u.store.dialect.KeepVersions
	}
	return ""
}

// keepOtherVersions does the same, and leaves out rows that another unit deletes.
func (u *unit) keepOtherVersions() string {
	if kept := u.keepVersions(); kept != "" {
		return kept + " SKIP LOCKED"
	}
	return ""
}

func (s firing) find(ctx context.Context, what, query string, args ...any) (found []outbound.FiringTrigger, err error) {
	err = s.EachRow(ctx, what, func(rows *sql.Rows) error {
		var row firingRow
		if err := rows.Scan(row.Targets()...); err != nil {
			return err
		}
		found = append(found, row.firing(s.store.BytesKept))
		return nil
	}, query, args...)
	return found, err
}

// Trigger looks for one that can fire, and only where there is none for any.
func (s firing) Trigger(ctx context.Context, scope tenant.Scope, id trigger.ID) (outbound.FiringTrigger, error) {
	in, args := core.Within(scope, core.ByVersion("t", "workflow_version_id").Of("t"), string(id))
	query := `SELECT ` + firingColumns + noStartedRun + storedBytes + ` FROM ` + firingTables + ` WHERE t.tenant_id = $1 AND t.id = $2` + in
	found, err := s.find(ctx, "find trigger that fires", query+canFire+s.keepVersions(), args...)
	if err == nil && len(found) == 0 {
		found, err = s.find(ctx, "find trigger", query, args...)
	}
	switch {
	case err != nil:
		return outbound.FiringTrigger{}, err
	case len(found) == 0:
		return outbound.FiringTrigger{}, core.NotFound(sql.ErrNoRows, "trigger_not_found", "There is no such trigger.")
	default:
		return found[0], nil
	}
}

// OnEvent finds the triggers that an event fires, and the runs that its dedupe key stands
// for, all in one statement.
func (s firing) OnEvent(ctx context.Context, scope tenant.Scope, q outbound.EventQuery) ([]outbound.FiringTrigger, error) {
	args := []any{string(scope.Tenant()), q.Event, q.Limit}
	started, tables, condition := noStartedRun, firingTables, canFire
	if q.Key != "" {
		args = append(args, q.Key, q.After)
		started = `coalesce(u.id, '') AS started, `
		tables += ` LEFT JOIN runs u ON u.tenant_id = t.tenant_id AND u.trigger_id = t.id AND u.dedupe_key = $4 AND u.holds_key AND u.created_at > $5`
		condition = ` AND (u.id IS NOT NULL OR (true` + canFire + `))`
	}
	if q.SubTenant != nil {
		args = append(args, string(*q.SubTenant))
		condition += fmt.Sprintf(` AND t.sub_tenant_id = $%d`, len(args))
	}
	in, args := core.ByVersion("t", "workflow_version_id").Of("t").Within(scope, args)
	return s.find(ctx, "find triggers of an event", `SELECT `+firingColumns+started+storedBytes+` FROM `+tables+` WHERE t.tenant_id = $1 AND t.event = $2`+condition+in+
		` ORDER BY t.created_at, t.id LIMIT $3`+s.keepVersions(), args...)
}

// Triggers finds those that can fire in one statement, and the others, if any, in another.
func (s firing) Triggers(ctx context.Context, of []outbound.TriggerKey) ([]outbound.FiringTrigger, error) {
	if len(of) == 0 {
		return nil, nil
	}
	keys := make([]core.KeyRow, len(of))
	for i, t := range of {
		keys[i] = core.KeyRow{Tenant: string(t.Scope.Tenant()), ID: string(t.Trigger)}
	}
	known := make(map[core.KeyRow]outbound.FiringTrigger, len(of))
	if err := s.among(ctx, keys, canFire+s.keepOtherVersions(), known); err != nil {
		return nil, err
	}
	left := slices.DeleteFunc(slices.Clone(keys), func(key core.KeyRow) bool { _, ok := known[key]; return ok })
	if len(left) > 0 {
		others := make(map[core.KeyRow]outbound.FiringTrigger, len(left))
		if err := s.among(ctx, left, "", others); err != nil {
			return nil, err
		}
		for key, f := range others {
			if !f.Trigger.Active() || !f.ParentState.WorkflowActive || !f.ParentState.VersionActive { // else somebody is deleting it
				known[key] = f
			}
		}
	}
	each := make([]outbound.FiringTrigger, len(of))
	for i, key := range keys {
		if f := known[key]; f.Trigger != nil && of[i].Scope.Covers(f.Trigger.SubTenant(), string(f.Workflow)) {
			each[i] = f
		}
	}
	return each, nil
}

// among adds those of the triggers to known that a condition holds for.
func (s firing) among(ctx context.Context, keys []core.KeyRow, condition string, known map[core.KeyRow]outbound.FiringTrigger) error {
	table, parameter, err := s.store.dialect.Keys(keys)
	if err != nil {
		return err
	}
	found, err := s.find(ctx, "find triggers that fire", `SELECT `+firingColumns+noStartedRun+storedBytesColumn+` FROM `+table+`
		CROSS JOIN `+firingTables+storedBytesOfEach(table)+` WHERE t.tenant_id = r.tenant_id AND t.id = r.id`+condition, parameter)
	for _, f := range found {
		known[core.KeyRow{Tenant: string(f.Trigger.Tenant()), ID: string(f.Trigger.ID())}] = f
	}
	return err
}

// Version looks for a workflow with a version that can be started, and only where there
// is none for one that cannot, and for the workflow alone.
func (s firing) Version(ctx context.Context, scope tenant.Scope, of workflow.ID, version workflow.VersionID) (outbound.FiringVersion, error) {
	const columns = `SELECT w.id, w.sub_tenant_id, w.is_active, ` + budgetColumns + `, ` + storedBytes + `, `
	in, all := core.Within(scope, core.ByWorkflow("id").Of("w"), string(of))
	condition, args := `v.is_active`, all
	if version != "" {
		args = append(slices.Clip(all), string(version))
		condition = fmt.Sprintf(`v.id = $%d`, len(args))
	}
	query := columns + `v.id AS version_id, v.published_at IS NOT NULL AS published FROM workflow_versions v
		JOIN workflows w ON w.tenant_id = v.tenant_id AND w.id = v.workflow_id JOIN tenants b ON b.id = w.tenant_id
		WHERE w.tenant_id = $1 AND w.id = $2` + in + ` AND ` + condition
	found, err := s.version(ctx, query+` AND w.is_active`+s.keepVersions(), args...)
	if errors.Is(err, sql.ErrNoRows) {
		found, err = s.version(ctx, query+` AND NOT w.is_active`, args...)
	}
	if errors.Is(err, sql.ErrNoRows) {
		found, err = s.version(ctx, columns+`'' AS version_id, false AS published FROM workflows w JOIN tenants b ON b.id = w.tenant_id WHERE w.tenant_id = $1 AND w.id = $2`+in, all...)
	}
	return found, core.NotFound(err, "workflow_not_found", "There is no such workflow.")
}

func (s firing) version(ctx context.Context, query string, args ...any) (outbound.FiringVersion, error) {
	var row struct {
		Workflow  string `db:"id"`
		SubTenant string `db:"sub_tenant_id"`
		Active    bool   `db:"is_active"`
		Version   string `db:"version_id"`
		Published bool   `db:"published"`
		Kept      int64  `db:"kept"`
		budgetsRow
	}
	err := s.ReadRow(ctx, "find version to start", &row, query, args...)
	return outbound.FiringVersion{
		Workflow: workflow.ID(row.Workflow), SubTenant: tenant.SubTenantID(row.SubTenant), WorkflowActive: row.Active,
		Version: workflow.VersionID(row.Version), Published: row.Published, StoredBytes: row.Kept,
		Budgets: row.budgetsRow.budgets().Or(s.store.BytesKept),
	}, err
}
