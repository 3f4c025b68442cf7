package sqlstore

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/domain/trigger"
	"github.com/sluicehq/sluice/domain/workflow"
	"github.com/sluicehq/sluice/ports/outbound"
)

type runOverview struct{ *unit }

var _ outbound.RunOverview = runOverview{}

// Unfinished asks for all triggers in one statement.
func (s runOverview) Unfinished(ctx context.Context, of []*trigger.Trigger) ([]bool, error) {
	if len(of) == 0 {
		return nil, nil
	}
	keys := make([]keyRow, len(of))
	for i, t := range of {
		keys[i] = keyRow{string(t.Tenant()), string(t.ID())}
	}
	table, parameter, err := s.keys(keys)
	if err != nil {
		return nil, err
	}
	var busy []keyRow
	err = s.list(ctx, "find unfinished runs", &busy, `SELECT r.tenant_id, r.id FROM `+table+` WHERE EXISTS (
		SELECT 1 FROM live_runs u WHERE u.tenant_id = r.tenant_id AND u.trigger_id = r.id)`, parameter)
	if err != nil {
		return nil, err
	}
	known := make(map[keyRow]bool, len(busy))
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
func (s runOverview) OfWorkflow(ctx context.Context, scope tenant.Scope, of workflow.ID, limit int) ([]run.ID, error) {
	in, args := within(scope, bySubTenant, string(of), limit)
	var ids []run.ID
	err := s.list(ctx, "find the runs of a workflow", &ids, `SELECT l.id FROM live_runs l JOIN runs ON runs.tenant_id = l.tenant_id AND runs.id = l.id
		WHERE l.tenant_id = $1 AND l.workflow_id = $2 AND runs.finished_at IS NULL`+in+` ORDER BY l.id LIMIT $3`, args...)
	return ids, err
}

// Sweep removes old runs; the schema removes what belongs to them. One that is retried meanwhile
// stays.
func (s runOverview) Sweep(ctx context.Context, owner tenant.ID, from, before time.Time, limit int) ([]time.Time, error) {
	const old = `tenant_id = $1 AND finished_at >= $2 AND finished_at < $3`
	var finished []rowInstant
	err := s.list(ctx, "sweep runs", &finished, `DELETE FROM runs WHERE `+old+` AND id `+
		s.store.dialect.AmongFirst(`SELECT id FROM runs WHERE `+old+` ORDER BY finished_at LIMIT $4`)+` RETURNING finished_at`, string(owner), from.UTC(), before, limit)
	if err != nil {
		return nil, s.fail(err)
	}
	times := make([]time.Time, len(finished))
	for i, at := range finished {
		times[i] = at.Time
	}
	return times, nil
}

// Executes looks for an unfinished run of a version among those of its workflow.
func (s runOverview) Executes(ctx context.Context, scope tenant.Scope, of workflow.ID, version workflow.VersionID) (bool, error) {
	in, args := within(scope, bySubTenant, string(of), string(version))
	var some bool
	err := s.get(ctx, "find a run of the version", &some, `SELECT EXISTS (SELECT 1 FROM live_runs l JOIN runs ON runs.tenant_id = l.tenant_id AND runs.id = l.id
		WHERE l.tenant_id = $1 AND l.workflow_id = $2 AND runs.workflow_version_id = $3`+in+`)`, args...)
	return some, err
}

// StartedWith asks for all triggers in one statement.
func (s runOverview) StartedWith(ctx context.Context, scope tenant.Scope, of []trigger.ID, key string, after time.Time) ([]run.ID, error) {
	keys := make([]keyRow, len(of))
	for i, id := range of {
		keys[i] = keyRow{string(scope.Tenant()), string(id)}
	}
	table, parameter, err := s.keys(keys)
	if err != nil {
		return nil, err
	}
	in, args := bySubTenant.within(scope, []any{parameter, key, after})
	var held []struct {
		Trigger string `db:"trigger_id"`
		Run     string `db:"id"`
	}
	err = s.list(ctx, "find the runs of a dedupe key", &held, `SELECT u.trigger_id, u.id FROM `+table+` CROSS JOIN runs u
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
func (s runOverview) Seqs(ctx context.Context, of []outbound.RunKey) ([]int64, error) {
	keys := make([]keyRow, len(of))
	for i, k := range of {
		keys[i] = keyRow{string(k.Scope.Tenant()), string(k.Run)}
	}
	table, parameter, err := s.keys(keys)
	if err != nil {
		return nil, err
	}
	var found []struct {
		keyRow
		SubTenant string `db:"sub_tenant_id"`
		Seq       int64  `db:"seq"`
	}
	err = s.list(ctx, "find how far runs are", &found, `SELECT u.tenant_id, u.id, u.sub_tenant_id, u.seq FROM `+table+` CROSS JOIN runs u
		WHERE u.tenant_id = r.tenant_id AND u.id = r.id`, parameter)
	if err != nil {
		return nil, err
	}
	known := make(map[keyRow]int, len(found))
	for i, f := range found {
		known[f.keyRow] = i
	}
	seqs := make([]int64, len(of))
	for i, key := range keys {
		seqs[i] = -1
		if at, ok := known[key]; ok && of[i].Scope.Covers(tenant.SubTenantID(found[at].SubTenant)) {
			seqs[i] = found[at].Seq
		}
	}
	return seqs, nil
}
