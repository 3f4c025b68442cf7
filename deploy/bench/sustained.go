package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// sustainedRuns measures whole runs on an empty database, and again when it keeps many that
// have finished and a retention is removing the oldest of them.
type sustainedRuns struct{}

func (sustainedRuns) name() string { return "runs-sustained" }

const (
	sustainedConnections = 16
	soakPeriod           = 100 * time.Second // real load between the two measurements
	expiredPart          = 4                 // one of so many kept runs is due for removal
)

func (sustainedRuns) measure(ctx context.Context, e *env, o options) ([]figure, error) {
	w, err := e.newWorkflow(ctx, "bench sustained runs", transformNodes()...)
	if err != nil {
		return nil, err
	}
	if _, err := e.completeRuns(ctx, w, warmUp); err != nil {
		return nil, err
	}
	fresh, err := e.completeRounds(ctx, w, o)
	if err != nil {
		return nil, err
	}
	if err := e.database.keepFinishedRuns(ctx, w.ID, o.runs); err != nil {
		return nil, err
	}
	if _, err := e.completeRuns(ctx, w, soakPeriod); err != nil {
		return nil, err
	}
	kept, err := e.completeRounds(ctx, w, o)
	if err != nil {
		return nil, err
	}
	var left int
	if left, err = e.database.count(ctx, "runs WHERE finished_at < now() - interval '30 days'"); err != nil {
		return nil, err
	}
	freshRate, keptRate := medianOf(fresh.rates), medianOf(kept.rates)
	freshP99, keptP99 := medianOf(fresh.p99), medianOf(kept.p99)
	return []figure{
		newFigure("runs-sustained", fmt.Sprintf("runs on an empty database against %d kept ones, of which the oldest are being removed", o.runs), "times the rate", 1.11, freshRate/keptRate).
			withDetail("%.0f/s against %.0f/s; %d of %d old runs were still to be removed at the end", freshRate, keptRate, left, o.runs/expiredPart),
		newFigure("runs-sustained-p99", "the p99 of the calls that start them, kept against empty", "times", 2, keptP99/freshP99).
			withDetail("%.1f ms against %.1f ms", keptP99, freshP99),
	}, nil
}

// completed holds the figures of several rounds.
type completed struct{ rates, p99 []float64 }

func (e *env) completeRounds(ctx context.Context, w workflow, o options) (c completed, err error) {
	for i := range o.rounds {
		found, err := e.completeRuns(ctx, w, max(o.period, 5*time.Second))
		if err != nil {
			return c, err
		}
		_, _ = fmt.Fprintf(o.verbose, "runs-sustained, round %d of %d: %.0f/s, p99 %.1f ms\n", i+1, o.rounds, found.perSecond, milliseconds(found.p99)) // progress only
		c.rates, c.p99 = append(c.rates, found.perSecond), append(c.p99, milliseconds(found.p99))
	}
	return c, nil
}

// completeRuns starts runs, waits until the last of them has ended, and counts them by what
// was acknowledged: counting rows takes long where there are millions.
func (e *env) completeRuns(ctx context.Context, w workflow, period time.Duration) (load, error) {
	began := time.Now()
	found, err := e.loadGateway(ctx, w.call, sustainedConnections, period)
	if err != nil {
		return load{}, err
	}
	for {
		var open bool
		// The table of all runs has no index for this: looking through millions of rows would be a part of what is measured.
		err := e.database.DB.QueryRowContext(ctx, `SELECT EXISTS (SELECT FROM live_runs WHERE tenant_id = $1)`, w.ID).Scan(&open)
		if err != nil {
			return load{}, err
		}
		if !open {
			break
		}
		if !harness.Sleep(ctx, 5*time.Millisecond) {
			return load{}, ctx.Err()
		}
	}
	found.perSecond = float64(found.requests) / time.Since(began).Seconds()
	return found, nil
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
