package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
)

// sustainedRuns measures whole runs on an empty database, and in turn on one that keeps many that
// have finished and whose retention is removing the oldest of them. Each has a gateway of its own,
// of which the one stands still while the other is measured: a machine that becomes slower within
// minutes makes both slower.
type sustainedRuns struct{}

func (sustainedRuns) name() string { return "runs-sustained" }

const (
	soakPeriod  = 100 * time.Second // real load before what is measured
	expiredPart = 4                 // one of so many kept runs is due for removal
)

func (sustainedRuns) measure(ctx context.Context, e *env, o options) ([]figure, error) {
	empty, err := e.newSide(ctx, "empty", e.gateway.Binary)
	if err != nil {
		return nil, err
	}
	defer empty.close()
	kept, err := e.newSide(ctx, "kept", e.gateway.Binary)
	if err != nil {
		return nil, err
	}
	defer kept.close()
	if _, err := kept.completeRuns(ctx, warmUp); err != nil {
		return nil, err
	}
	if err := kept.database.keepFinishedRuns(ctx, kept.workflow.ID, o.runs); err != nil {
		return nil, err
	}
	if _, err := kept.completeRuns(ctx, soakPeriod); err != nil {
		return nil, err
	}
	left, err := kept.overdue(ctx)
	if err != nil {
		return nil, err
	}
	of, err := measureSides(ctx, "runs-sustained", empty, kept, o)
	if err != nil {
		return nil, err
	}
	still, err := kept.overdue(ctx)
	if err != nil {
		return nil, err
	}
	return []figure{
		newFigure("runs-sustained", fmt.Sprintf("runs on an empty database against %d kept ones, of which the oldest are being removed", o.runs), "times the rate", 1.11, ratios(of[0].rates, of[1].rates)...).
			withDetail("%.0f/s against %.0f/s; of %d old runs %d were removed before and %d meanwhile", medianOf(of[0].rates), medianOf(of[1].rates), o.runs/expiredPart, o.runs/expiredPart-left, left-still),
		newFigure("runs-sustained-p99", "the p99 of the calls that start them, kept against empty", "times", 2, ratios(of[1].p99s, of[0].p99s)...).
			withDetail("%.1f ms against %.1f ms", medianOf(of[1].p99s), medianOf(of[0].p99s)),
	}, nil
}

// overdue counts the runs that were kept for longer than their retention.
func (s *side) overdue(ctx context.Context) (int, error) {
	return s.database.count(ctx, "runs WHERE finished_at < now() - interval '30 days'")
}

// keepFinishedRuns copies the newest finished run of a tenant, with all that belongs to it. The
// copies finished evenly over the last 40 days, so that a quarter of them is older than the 30
// days that a tenant keeps them by default.
func (d *database) keepFinishedRuns(ctx context.Context, tenantID string, n int) error {
	const of = `(SELECT * FROM runs WHERE tenant_id = $1 AND finished_at IS NOT NULL ORDER BY finished_at DESC LIMIT 1) AS t, generate_series(CAST($2 AS bigint), CAST($3 AS bigint)) AS n (i)`
	const id = `'run_0' || lpad(CAST(n.i AS text), 25, '0')`
	at := fmt.Sprintf(`date_trunc('milliseconds', now() - interval '40 days' * (%d - n.i) / %d)`, n, n)
	columns, values, err := d.copiedRun(ctx, map[string]string{
		"id": id, "dedupe_key": `''`, "holds_key": "false", "created_at": at, "updated_at": at, "started_at": at, "finished_at": at,
	})
	if err != nil {
		return err
	}
	inserts := []string{
		`INSERT INTO runs (` + columns + `) SELECT ` + values + ` FROM ` + of,
		`INSERT INTO run_facets SELECT t.tenant_id, ` + at + `, ` + id + `, t.sub_tenant_id, t.workflow_id, t.workflow_version_id, t.trigger_id, t.entity_id FROM ` + of,
		`INSERT INTO run_history SELECT h.tenant_id, ` + id + `, h.seq, h.entries FROM ` + of + ` JOIN run_history h ON h.tenant_id = $1 WHERE h.run_id = t.id`,
	}
	const step = 250_000
	for from := 0; from < n; from += step {
		for _, insert := range inserts {
			if _, err := d.DB.ExecContext(ctx, insert, tenantID, from, min(from+step, n)-1); err != nil {
				return fmt.Errorf("copy a run: %w", err)
			}
		}
	}
	return d.vacuum(ctx)
}

// copiedRun returns the columns of runs that are not generated, and what a copy of the row t
// has in each.
func (d *database) copiedRun(ctx context.Context, instead map[string]string) (columns, values string, err error) {
	var names []string
	err = d.Each(ctx, func(scan func(...any) error) error {
		var name string
		err := scan(&name)
		names = append(names, name)
		return err
	}, `SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = 'runs' AND is_generated = 'NEVER' ORDER BY ordinal_position`)
	copied := make([]string, len(names))
	for i, name := range names {
		copied[i] = cmp.Or(instead[name], "t."+name)
	}
	return strings.Join(names, ", "), strings.Join(copied, ", "), err
}
