package runs

import (
	"context"
	"database/sql"
	"errors"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

type origins struct{ *unit }

var _ outbound.RunOrigins = origins{}

// storedSize is how large a run is as it is stored, of the table of runs.
const storedSize = `octet_length(progress) + outputs + octet_length(payload) +
	coalesce((SELECT octet_length(p.payload) FROM run_payloads p WHERE p.tenant_id = runs.tenant_id AND p.id = runs.payload_id), 0)`

// Of reads lengths only.
func (s origins) Of(ctx context.Context, scope tenant.Scope, id run.ID) (run.Source, int64, error) {
	in, args := core.Within(scope, core.BySubTenant, string(id))
	var row struct {
		Version  string  `db:"workflow_version_id"`
		Snapshot *string `db:"snapshot_id"`
		Size     int64   `db:"size"`
	}
	err := s.ReadRow(ctx, "find the origin of a run", &row, `SELECT workflow_version_id, snapshot_id, `+storedSize+` AS size FROM runs WHERE tenant_id = $1 AND id = $2`+in, args...)
	if errors.Is(err, sql.ErrNoRows) {
		return run.Source{}, 0, core.NotFound(err, "run_not_found", "There is no such run.")
	}
	return run.Source{Version: workflow.VersionID(row.Version), Snapshot: orNone[run.SnapshotID](row.Snapshot)}, row.Size, err
}

// Live skips through the index of live runs from one origin to the next, so that it
// reads one entry for each of them, however many runs it has.
func (s origins) Live(ctx context.Context, after outbound.RunOrigin, limit int) ([]outbound.RunOrigin, error) {
	var rows []struct {
		Tenant   string `db:"tenant_id"`
		Trigger  string `db:"trigger_id"`
		Workflow string `db:"workflow_id"`
		Orphaned bool   `db:"orphaned"`
	}
	err := s.ReadRows(ctx, "find the origins of unfinished runs", &rows, s.store.dialect.liveOrigins(),
		string(after.Tenant), string(after.Trigger), string(after.Workflow), limit)
	if err != nil {
		return nil, err
	}
	found := make([]outbound.RunOrigin, len(rows))
	for i, row := range rows {
		found[i] = outbound.RunOrigin{
			Tenant: tenant.ID(row.Tenant), Trigger: trigger.ID(row.Trigger), Workflow: workflow.ID(row.Workflow), Orphaned: row.Orphaned,
		}
	}
	return found, nil
}

// liveOrigins has the parameters tenant, trigger and workflow of the origin to begin
// behind, and how many are wanted. The order is that of the index live_runs_origin.
func (d dialect) liveOrigins() string {
	const columns = `tenant_id, trigger_id, workflow_id`
	next := func(selected, condition string) string {
		return `(SELECT ` + selected + ` FROM live_runs u WHERE ` + condition + ` ORDER BY u.tenant_id, u.trigger_id, u.workflow_id LIMIT 1)`
	}
	const behind = `(u.tenant_id, u.trigger_id, u.workflow_id) > `
	further := `CROSS JOIN LATERAL ` + next(columns, behind+`(o.tenant_id, o.trigger_id, o.workflow_id)`) + ` AS r`
	if !d.Lateral { // SQLite would look for the tenant alone, and read all runs of it
		further = `JOIN live_runs r ON r.rowid = coalesce(` +
			next(`u.rowid`, `u.tenant_id = o.tenant_id AND u.trigger_id = o.trigger_id AND u.workflow_id > o.workflow_id`) + `, ` +
			next(`u.rowid`, `u.tenant_id = o.tenant_id AND u.trigger_id > o.trigger_id`) + `, ` +
			next(`u.rowid`, `u.tenant_id > o.tenant_id`) + `)`
	}
	return `WITH RECURSIVE origins (tenant_id, trigger_id, workflow_id, n) AS (
			SELECT f.tenant_id, f.trigger_id, f.workflow_id, 1 FROM ` + next(columns, behind+`($1, $2, $3)`) + ` AS f
			UNION ALL
			SELECT r.tenant_id, r.trigger_id, r.workflow_id, o.n + 1 FROM origins o ` + further + ` WHERE o.n < $4
		)
		SELECT o.tenant_id, o.trigger_id, o.workflow_id, w.id IS NULL AS orphaned
		FROM origins o LEFT JOIN workflows w ON w.tenant_id = o.tenant_id AND w.id = o.workflow_id ORDER BY o.n`
}
