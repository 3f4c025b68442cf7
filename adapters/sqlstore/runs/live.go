package runs

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

type overview struct{ *unit }

var _ outbound.RunOverview = overview{}

// unfinished finds those of the triggers of a table r that have live runs, by the index
// live_runs_origin. What selects a value is looked up for each of them, whatever the planner knows
// of the tables.
func unfinished(table string) string {
	return `SELECT r.tenant_id, r.id FROM ` + table + ` WHERE (SELECT 1 FROM live_runs u WHERE u.tenant_id = r.tenant_id AND u.trigger_id = r.id AND u.workflow_id = (
		SELECT v.workflow_id FROM triggers t JOIN workflow_versions v ON v.tenant_id = t.tenant_id AND v.id = t.workflow_version_id
		WHERE t.tenant_id = r.tenant_id AND t.id = r.id) LIMIT 1) = 1`
}

// Unfinished asks for all triggers in one statement.
func (s overview) Unfinished(ctx context.Context, of []*trigger.Trigger) ([]bool, error) {
	if len(of) == 0 {
		return nil, nil
	}
	keys := make([]core.KeyRow, len(of))
	for i, t := range of {
		keys[i] = core.KeyRow{Tenant: string(t.Tenant()), ID: string(t.ID())}
	}
	table, parameter, err := s.store.dialect.Keys(keys)
	if err != nil {
		return nil, err
	}
	var busy []core.KeyRow
	err = s.ReadRows(ctx, "find unfinished runs", &busy, unfinished(table), parameter)
	if err != nil {
		return nil, err
	}
	known := make(map[core.KeyRow]bool, len(busy))
	for _, key := range busy {
		known[key] = true
	}
	unfinished := make([]bool, len(of))
	for i := range keys {
		unfinished[i] = known[keys[i]]
	}
	return unfinished, nil
}

// OfWorkflow finds unfinished runs of a workflow.
func (s overview) OfWorkflow(ctx context.Context, scope tenant.Scope, of workflow.ID, limit int) ([]run.ID, error) {
	in, args := core.Within(scope, core.ByWorkflow("workflow_id").Of("runs"), string(of), limit)
	var ids []run.ID
	err := s.ReadRows(ctx, "find the runs of a workflow", &ids, `SELECT l.id FROM live_runs l JOIN runs ON runs.tenant_id = l.tenant_id AND runs.id = l.id
		WHERE l.tenant_id = $1 AND l.workflow_id = $2 AND runs.finished_at IS NULL`+in+` ORDER BY l.id LIMIT $3`, args...)
	return ids, err
}

// Sweep removes old runs; the schema removes what belongs to them. One that is retried meanwhile
// stays, and so does that of an item whose parent has not ended.
func (s overview) Sweep(ctx context.Context, q outbound.RunSweep) ([]time.Time, error) {
	statement, args := s.store.dialect.sweep(q)
	var found []core.Instant
	if err := s.ReadRows(ctx, "sweep runs", &found, statement, args...); err != nil {
		return nil, s.Fail(err)
	}
	times := make([]time.Time, len(found))
	for i, at := range found {
		times[i] = at.Time
	}
	return times, nil
}

// sweep finds runs by the index of when they finished, or by that of the workflow, in which those
// come first that were created first: what it passes over are the few that took longer than they are kept.
func (d dialect) sweep(q outbound.RunSweep) (statement string, args []any) {
	args = []any{string(q.Tenant), q.From.UTC(), q.Before, q.Limit}
	const old = `tenant_id = $1 AND finished_at < $3 AND (item_index IS NULL OR NOT EXISTS (
		SELECT 1 FROM live_runs p WHERE p.tenant_id = runs.tenant_id AND p.id = runs.parent_run_id))`
	if q.Workflow == "" {
		const finished = ` AND finished_at >= $2`
		return `DELETE FROM runs WHERE ` + old + finished + ` AND id ` + d.AmongFirst(`SELECT id FROM runs WHERE `+old+finished+` ORDER BY finished_at LIMIT $4`) + ` RETURNING finished_at`, args
	}
	args = append(args, string(q.Workflow))
	created := func(of string) string { // the table with a dot, or nothing
		return of + `tenant_id = $1 AND ` + of + `workflow_id = $5 AND ` + of + `created_at >= $2 AND ` + of + `created_at < $3`
	}
	again, first := `tenant_id = $1`, `SELECT id FROM runs INDEXED BY runs_of_workflow WHERE `+created("")+` AND `+old+` ORDER BY created_at LIMIT $4`
	if d.Facets != "" { // where others may retry one meanwhile
		again, first = old, `SELECT f.id FROM `+d.Facets+` f CROSS JOIN LATERAL (SELECT id FROM runs WHERE tenant_id = f.tenant_id AND id = f.id AND `+old+` OFFSET 0) r
			WHERE `+created("f.")+` ORDER BY f.created_at LIMIT $4`
	}
	return `DELETE FROM runs WHERE ` + again + ` AND id ` + d.AmongFirst(first) + ` RETURNING created_at`, args
}

// Executes looks for an unfinished run of a version among those of its workflow.
func (s overview) Executes(ctx context.Context, scope tenant.Scope, of workflow.ID, version workflow.VersionID) (bool, error) {
	in, args := core.Within(scope, core.ByWorkflow("workflow_id").Of("runs"), string(of), string(version))
	var some bool
	err := s.ReadRow(ctx, "find a run of the version", &some, `SELECT EXISTS (SELECT 1 FROM live_runs l JOIN runs ON runs.tenant_id = l.tenant_id AND runs.id = l.id
		WHERE l.tenant_id = $1 AND l.workflow_id = $2 AND runs.workflow_version_id = $3`+in+`)`, args...)
	return some, err
}

// StartedWith asks for all triggers in one statement.
func (s overview) StartedWith(ctx context.Context, scope tenant.Scope, of []trigger.ID, key string, after time.Time) ([]run.ID, error) {
	keys := make([]core.KeyRow, len(of))
	for i, id := range of {
		keys[i] = core.KeyRow{Tenant: string(scope.Tenant()), ID: string(id)}
	}
	table, parameter, err := s.store.dialect.Keys(keys)
	if err != nil {
		return nil, err
	}
	in, args := core.ByWorkflow("workflow_id").Within(scope, []any{parameter, key, after})
	var held []struct {
		Trigger string `db:"trigger_id"`
		Run     string `db:"id"`
	}
	err = s.ReadRows(ctx, "find the runs of a dedupe key", &held, `SELECT u.trigger_id, u.id FROM `+table+` CROSS JOIN runs u
		WHERE u.tenant_id = r.tenant_id AND u.trigger_id = r.id AND u.dedupe_key = $2 AND u.holds_key AND u.created_at > $3`+in, args...)
	if err != nil {
		return nil, err
	}
	first := make(map[string]string, len(held))
	for _, h := range held {
		first[h.Trigger] = h.Run
	}
	started := make([]run.ID, len(of))
	for i, id := range of {
		started[i] = run.ID(first[string(id)])
	}
	return started, nil
}

// Seqs asks for all runs in one statement.
func (s overview) Seqs(ctx context.Context, of []outbound.RunKey) ([]int64, error) {
	keys := make([]core.KeyRow, len(of))
	for i, k := range of {
		keys[i] = core.KeyRow{Tenant: string(k.Scope.Tenant()), ID: string(k.Run)}
	}
	table, parameter, err := s.store.dialect.Keys(keys)
	if err != nil {
		return nil, err
	}
	var found []struct {
		core.KeyRow
		SubTenant string `db:"sub_tenant_id"`
		Workflow  string `db:"workflow_id"`
		Seq       int64  `db:"seq"`
	}
	err = s.ReadRows(ctx, "find how far runs are", &found, `SELECT u.tenant_id, u.id, u.sub_tenant_id, u.workflow_id, u.seq FROM `+table+` CROSS JOIN runs u
		WHERE u.tenant_id = r.tenant_id AND u.id = r.id`, parameter)
	if err != nil {
		return nil, err
	}
	known := make(map[core.KeyRow]int, len(found))
	for i, f := range found {
		known[f.KeyRow] = i
	}
	seqs := make([]int64, len(of))
	for i, key := range keys {
		seqs[i] = -1
		if at, ok := known[key]; ok && of[i].Scope.Covers(tenant.SubTenantID(found[at].SubTenant), found[at].Workflow) {
			seqs[i] = found[at].Seq
		}
	}
	return seqs, nil
}
