package runs

import (
	"cmp"
	"context"
	"database/sql"
	"errors"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

type origins struct{ *unit }

var _ outbound.RunOrigins = origins{}

// Of reads lengths only.
func (s origins) Of(ctx context.Context, scope tenant.Scope, id run.ID) (outbound.RunOutline, error) {
	in, args := core.Within(scope, core.ByWorkflow("workflow_id"), string(id))
	var row struct {
		Version  string  `db:"workflow_version_id"`
		Snapshot *string `db:"snapshot_id"`
		Loop     string  `db:"loop"`
		Engine   string  `db:"engine"`
		Size     int64   `db:"size"`
	}
	err := s.ReadRow(ctx, "find the origin of a run", &row, `SELECT workflow_version_id, snapshot_id, `+loopColumn+` AS loop, engine, `+wholeSize+` AS size
		FROM runs WHERE tenant_id = $1 AND id = $2`+in, args...)
	if errors.Is(err, sql.ErrNoRows) {
		return outbound.RunOutline{}, core.NotFound(err, "run_not_found", "There is no such run.")
	}
	source := run.Source{Version: workflow.VersionID(row.Version), Snapshot: orNone[run.SnapshotID](row.Snapshot), Loop: workflow.NodeID(row.Loop)}
	return outbound.RunOutline{Source: source, Engine: run.Engine(row.Engine), Size: row.Size}, err
}

// Latest reads the newest entries of one index, and their rows. Items, which may be all of the
// newest, leave those that nobody started to be found.
func (s origins) Latest(ctx context.Context, scope tenant.Scope, of workflow.ID, version workflow.VersionID) (run.ID, int64, error) {
	d := s.store.dialect
	column, value := "workflow_id", string(of)
	if version != "" {
		column, value = "workflow_version_id", string(version)
	}
	in, args := core.Within(scope, core.ByWorkflow("workflow_id"), value, outbound.LatestRuns)
	const newest = ` ORDER BY created_at DESC, id DESC LIMIT $3`
	all := `SELECT id FROM ` + cmp.Or(d.Facets, "runs") + ` WHERE tenant_id = $1 AND ` + column + ` = $2`
	var row struct {
		ID   string `db:"id"`
		Size int64  `db:"size"`
	}
	err := s.ReadRow(ctx, "find the latest run", &row, `SELECT id, `+wholeSize+` AS size FROM runs WHERE tenant_id = $1 AND item_index IS NULL AND id `+
		d.AmongFirst(`SELECT id FROM (`+all+` AND parent_run_id = ''`+newest+`) AS alone UNION ALL SELECT id FROM (`+all+newest+`) AS latest`)+in+
		` ORDER BY finished_at IS NULL, created_at DESC, id DESC LIMIT 1`, args...)
	if errors.Is(err, sql.ErrNoRows) {
		return "", 0, core.NotFound(err, "run_not_found", "There is no such run.")
	}
	return run.ID(row.ID), row.Size, err
}

// Live skips through the index of live runs from one origin to the next, so that it
// reads one entry for each of them, however many runs it has.
func (s origins) Live(ctx context.Context, after outbound.RunOrigin, limit int) ([]outbound.RunOrigin, error) {
	var rows []struct {
		Tenant   string `db:"tenant_id"`
		Workflow string `db:"workflow_id"`
		Orphaned bool   `db:"orphaned"`
	}
	err := s.ReadRows(ctx, "find the origins of unfinished runs", &rows, s.store.dialect.liveOrigins(),
		string(after.Workflow), string(after.Tenant), limit)
	if err != nil {
		return nil, err
	}
	found := make([]outbound.RunOrigin, len(rows))
	for i, row := range rows {
		found[i] = outbound.RunOrigin{Tenant: tenant.ID(row.Tenant), Workflow: workflow.ID(row.Workflow), Orphaned: row.Orphaned}
	}
	return found, nil
}

const keptShorter = `SELECT tenant_id, id, run_retention_days FROM workflows
	WHERE run_retention_days IS NOT NULL AND (tenant_id, id) > ($1, $2) ORDER BY tenant_id, id LIMIT $3`

// KeptShorter reads an index that has no other workflows.
func (s origins) KeptShorter(ctx context.Context, after outbound.KeptShorter, limit int) ([]outbound.KeptShorter, error) {
	var rows []struct {
		Tenant string `db:"tenant_id"`
		ID     string `db:"id"`
		Days   int    `db:"run_retention_days"`
	}
	err := s.ReadRows(ctx, "find workflows whose runs are kept for days of their own", &rows, keptShorter, string(after.Tenant), string(after.Workflow), limit)
	found := make([]outbound.KeptShorter, len(rows))
	for i, row := range rows {
		found[i] = outbound.KeptShorter{Tenant: tenant.ID(row.Tenant), Workflow: workflow.ID(row.ID), Days: row.Days}
	}
	return found, err
}

// liveOrigins has the parameters workflow and tenant of the origin to begin behind, and how many
// are wanted. The order is that of the index live_runs_origin.
func (d dialect) liveOrigins() string {
	next := func(selected, condition string) string {
		return `(SELECT ` + selected + ` FROM live_runs u WHERE ` + condition + ` ORDER BY u.workflow_id, u.tenant_id LIMIT 1)`
	}
	const columns, behind = `workflow_id, tenant_id`, `(u.workflow_id, u.tenant_id) > `
	further := `CROSS JOIN LATERAL ` + next(columns, behind+`(o.workflow_id, o.tenant_id)`) + ` AS r`
	if !d.Lateral { // SQLite would look for the workflow alone, and read all runs of it
		further = `JOIN live_runs r ON r.rowid = coalesce(` + next(`u.rowid`, `u.workflow_id = o.workflow_id AND u.tenant_id > o.tenant_id`) + `, ` +
			next(`u.rowid`, `u.workflow_id > o.workflow_id`) + `)`
	}
	return `WITH RECURSIVE origins (workflow_id, tenant_id, n) AS (
			SELECT f.workflow_id, f.tenant_id, 1 FROM ` + next(columns, behind+`($1, $2)`) + ` AS f
			UNION ALL
			SELECT r.workflow_id, r.tenant_id, o.n + 1 FROM origins o ` + further + ` WHERE o.n < $3
		)
		SELECT o.tenant_id, o.workflow_id, w.id IS NULL AS orphaned
		FROM origins o LEFT JOIN workflows w ON w.tenant_id = o.tenant_id AND w.id = o.workflow_id ORDER BY o.n`
}
