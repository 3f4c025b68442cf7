package runs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/adapters/sqlstore/core"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/outbound"
)

type families struct{ *unit }

var _ outbound.RunFamilies = families{}

// Statuses asks for all runs in one statement.
func (s families) Statuses(ctx context.Context, scope tenant.Scope, of []run.ID) ([]run.Status, error) {
	keys := make([]core.KeyRow, len(of))
	for i, id := range of {
		keys[i] = core.KeyRow{Tenant: string(scope.Tenant()), ID: string(id)}
	}
	table, parameter, err := s.store.dialect.Keys(keys)
	if err != nil {
		return nil, err
	}
	in, args := core.ByWorkflow("workflow_id").Within(scope, []any{parameter})
	var found []struct {
		ID     string `db:"id"`
		Status string `db:"status"`
	}
	err = s.ReadRows(ctx, "find the statuses of runs", &found, statusesOf(table, in), args...)
	if err != nil {
		return nil, err
	}
	known := make(map[string]run.Status, len(found))
	for _, f := range found {
		known[f.ID] = run.Status(f.Status)
	}
	statuses := make([]run.Status, len(of))
	for i, id := range of {
		statuses[i] = known[string(id)]
	}
	return statuses, nil
}

// statusesOf finds the statuses of runs in a table of keys, empty for those that are gone. A subquery, because
// PostgreSQL plans a join with a table that is still small as a scan of it, and keeps that plan while the table grows.
func statusesOf(table, condition string) string {
	return `SELECT r.id, coalesce((SELECT u.status FROM runs u WHERE u.tenant_id = r.tenant_id AND u.id = r.id` + condition + `), '') AS status FROM ` + table
}

// parentsOf lists the parents of the runs that turn with steps, each once: those that are woken, or
// those of items as well.
func parentsOf(steps []outbound.RunStep, items bool) (parents []core.KeyRow) {
	seen := make(map[run.ID]bool)
	for _, step := range steps {
		if parent := step.Run.Parent(); step.Turned && parent != "" && !seen[parent] && (items || !step.Run.IsItem()) {
			seen[parent] = true
			parents = append(parents, core.KeyRow{Tenant: string(step.Run.Tenant()), ID: string(parent)})
		}
	}
	return parents
}

// kin says which runs a row of [kinRow] stands for: the run itself, the one that started it, or
// those that it started and that have not ended.
type kin string

const (
	itself   kin = ""
	parent   kin = "parent"
	children kin = "children"
)

// kinRow is a row of [core.Dialect.Rows].
type kinRow struct {
	core.KeyRow
	Kin kin `json:"kin"`
}

// kinOf finds the keys of what rows r stand for.
var kinOf = map[kin]string{
	itself: `SELECT r.tenant_id, r.id FROM %s WHERE r.kin = ''`,
	parent: `SELECT p.tenant_id, p.parent_run_id FROM %s CROSS JOIN runs p WHERE r.kin = 'parent' AND p.tenant_id = r.tenant_id AND p.id = r.id AND p.parent_run_id <> ''`,
	children: `SELECT c.tenant_id, c.id FROM %s CROSS JOIN runs c
		WHERE r.kin = 'children' AND c.tenant_id = r.tenant_id AND c.parent_run_id = r.id AND c.parent_run_id <> '' AND c.finished_at IS NULL`,
}

// holdLive locks what workers see of runs, all in one order, so that two units never wait for each
// other. Every unit locks first the lanes of its runs, then this, then anything else of them.
func (s repository) holdLive(ctx context.Context, rows []kinRow) error {
	if len(rows) == 0 || s.store.dialect.ForUpdate == "" {
		return nil
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return s.Fail(fmt.Errorf("encode families: %w", err))
	}
	table := s.store.dialect.Rows(1, core.Column{Name: "tenant_id"}, core.Column{Name: "id"}, core.Column{Name: "kin"})
	var found []string
	for _, k := range []kin{itself, parent, children} {
		if slices.ContainsFunc(rows, func(r kinRow) bool { return r.Kin == k }) {
			found = append(found, fmt.Sprintf(kinOf[k], table))
		}
	}
	var ids []string
	err = s.ReadRows(ctx, "hold families", &ids, `SELECT u.id FROM live_runs u WHERE (u.tenant_id, u.id) IN (`+strings.Join(found, " UNION ALL ")+`)
		ORDER BY u.tenant_id, u.id FOR NO KEY UPDATE OF u`, string(text))
	if err != nil {
		return s.Fail(err)
	}
	return nil
}

// holdFamilies locks the runs that steps are of, and those that the steps wake.
func (s repository) holdFamilies(ctx context.Context, steps []outbound.RunStep) error {
	var held []kinRow
	for _, key := range parentsOf(steps, true) {
		held = append(held, kinRow{KeyRow: key})
	}
	for _, key := range endedParents(steps) {
		held = append(held, kinRow{key, children})
	}
	if len(held) == 0 {
		return nil
	}
	return s.holdLive(ctx, append(held, ownRows(steps)...))
}

func ownRows(steps []outbound.RunStep) (own []kinRow) {
	for _, step := range steps {
		own = append(own, kinRow{KeyRow: core.KeyRow{Tenant: string(step.Run.Tenant()), ID: string(step.Run.ID())}})
	}
	return own
}

// Hold locks what Record does, in its order, whether or not it would begin with that.
func (s families) Hold(ctx context.Context, steps ...outbound.RunStep) error {
	if !s.InTransaction() || !s.Writes() {
		return s.Fail(errUnit)
	}
	all := repository(s)
	if err := all.lock(ctx, lanesLeft(steps)); err != nil {
		return err
	}
	if err := all.holdFamilies(ctx, steps); err != nil {
		return err
	}
	return all.holdLive(ctx, ownRows(steps))
}

// wake has a worker look at live runs, at once.
func (d dialect) wake() string {
	return `UPDATE live_runs AS u SET woken = u.woken + 1, due_at = CASE WHEN u.due_at <= ` + d.Clock + ` THEN u.due_at ELSE ` + d.Clock + ` END WHERE (u.tenant_id, u.id) IN `
}

// wakeFamilies wakes the parents of runs that have ended, are paused or go on, and the children
// of those that have failed or were cancelled.
func (s repository) wakeFamilies(ctx context.Context, steps []outbound.RunStep) error {
	if err := s.wakeAll(ctx, "wake parents", `%s`, parentsOf(steps, false)); err != nil {
		return err
	}
	return s.wakeChildren(ctx, endedParents(steps))
}

// endedParents lists the runs that have failed or were cancelled with steps, and have started others.
func endedParents(steps []outbound.RunStep) (ended []core.KeyRow) {
	for _, step := range steps {
		if r := step.Run; step.Turned && r.Calls() > 0 && (r.Status() == run.StatusFailed || r.Status() == run.StatusCancelled) {
			ended = append(ended, core.KeyRow{Tenant: string(r.Tenant()), ID: string(r.ID())})
		}
	}
	return ended
}

// wakeChildren wakes the runs that others started and that have not ended.
func (s repository) wakeChildren(ctx context.Context, of []core.KeyRow) error {
	return s.wakeAll(ctx, "wake children", `(SELECT c.tenant_id, c.id FROM %s CROSS JOIN runs c
		WHERE c.tenant_id = r.tenant_id AND c.parent_run_id = r.id AND c.parent_run_id <> '' AND c.finished_at IS NULL) AS r`, of)
}

func (s repository) wakeAll(ctx context.Context, what, which string, of []core.KeyRow) error {
	if len(of) == 0 {
		return nil
	}
	table, parameter, err := s.store.dialect.Keys(of)
	if err != nil {
		return s.Fail(err)
	}
	n, err := s.Exec(ctx, what, s.store.dialect.wake()+`(SELECT r.tenant_id, r.id FROM `+fmt.Sprintf(which, table)+`)`, parameter)
	s.store.liveRunsChanged(int(n))
	return err
}
