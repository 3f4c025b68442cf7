package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// sustainedRuns measures whole runs on an empty database, and in turn on one that keeps many that
// have finished and whose retention is removing the oldest of them. Each has a gateway of its own,
// of which the one stands still while the other is measured: a machine that becomes slower within
// minutes makes both slower.
type sustainedRuns struct{}

func (sustainedRuns) name() string { return "runs-sustained" }

const (
	sustainedConnections = 16
	soakPeriod           = 100 * time.Second // real load before what is measured
	expiredPart          = 4                 // one of so many kept runs is due for removal
)

func (sustainedRuns) measure(ctx context.Context, e *env, o options) ([]figure, error) {
	empty, err := e.newSide(ctx, "empty")
	if err != nil {
		return nil, err
	}
	defer empty.close()
	kept, err := e.newSide(ctx, "kept")
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
	of, err := measureSides(ctx, empty, kept, o)
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

// side is a gateway with a database and a workflow of its own.
type side struct {
	env
	workflow workflow
}

func (e *env) newSide(ctx context.Context, name string) (s *side, err error) {
	address, err := e.database.CreateDatabase(ctx, "sustained_"+name)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("postgres", address)
	if err != nil {
		return nil, err
	}
	s = &side{env: *e}
	s.closers = nil
	s.database = &database{&harness.Postgres{Instance: e.database.Instance, DB: db}}
	if s.gateway, err = harness.NewGateway(name, e.gateway.Binary, address, e.dir); err == nil {
		err = s.gateway.StartReady(ctx)
	}
	if err == nil {
		s.workflow, err = s.newWorkflow(ctx, "bench sustained runs", transformNodes()...)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *side) close() {
	if s.gateway != nil {
		s.gateway.Stop()
	}
	_ = s.database.DB.Close() // nothing is pending
}

// overdue counts the runs that were kept for longer than their retention.
func (s *side) overdue(ctx context.Context) (int, error) {
	return s.database.count(ctx, "runs WHERE finished_at < now() - interval '30 days'")
}

// freeze stops the process of a side until the function that it returns is called. It does so at a moment at which the
// process has nothing open: a removal that seems to take seconds would have it rest for several times as long.
func (s *side) freeze(ctx context.Context) (thaw func() error, err error) {
	p := s.gateway.Process()
	thaw = func() error { return p.Signal(syscall.SIGCONT) }
	for {
		if err := p.Signal(syscall.SIGSTOP); err != nil {
			return nil, err
		}
		var open bool
		err := s.database.DB.QueryRowContext(ctx, `SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND backend_type = 'client backend' AND state <> 'idle' AND pid <> pg_backend_pid())`).Scan(&open)
		if err == nil && !open {
			return thaw, nil
		}
		if err := errors.Join(err, thaw()); err != nil {
			return nil, err
		}
		if !harness.Sleep(ctx, 5*time.Millisecond) {
			return nil, ctx.Err()
		}
	}
}

// sideRounds holds what was measured in each round.
type sideRounds struct{ rates, p99s []float64 }

// measureSides measures both in turn.
func measureSides(ctx context.Context, empty, kept *side, o options) (of [2]sideRounds, err error) {
	for i := range o.rounds {
		sides := []*side{empty, kept}
		for turn := range sides {
			at := (i + turn) % 2 // each begins every second round
			s := sides[at]
			found, err := s.completeRunsAlone(ctx, sides[1-at], max(o.period, 5*time.Second))
			if err != nil {
				return of, err
			}
			of[at].rates, of[at].p99s = append(of[at].rates, found.perSecond), append(of[at].p99s, milliseconds(found.p99))
			_, _ = fmt.Fprintf(o.verbose, "runs-sustained, round %d of %d, %s: %.0f/s, p99 %.1f ms\n", i+1, o.rounds, s.gateway.Name, found.perSecond, milliseconds(found.p99)) // progress only
		}
	}
	for _, s := range []*side{empty, kept} {
		if _, err := s.database.countCompleted(ctx, s.workflow.ID); err != nil {
			return of, err
		}
	}
	return of, nil
}

// ratios compares what was measured one after the other.
func ratios(of, to []float64) []float64 {
	all := make([]float64, len(of))
	for i := range of {
		all[i] = of[i] / to[i]
	}
	return all
}

// completeRunsAlone is completeRuns while the other side is frozen.
func (s *side) completeRunsAlone(ctx context.Context, other *side, period time.Duration) (found load, err error) {
	thaw, err := other.freeze(ctx)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, thaw()) }()
	return s.completeRuns(ctx, period)
}

// completeRuns starts runs, waits until the last of them has ended, and counts them by what
// was acknowledged: counting rows takes long where there are millions.
func (s *side) completeRuns(ctx context.Context, period time.Duration) (load, error) {
	began := time.Now()
	found, err := s.loadGateway(ctx, s.workflow.call, sustainedConnections, period)
	if err != nil {
		return load{}, err
	}
	if err := s.database.awaitEnds(ctx, s.workflow.ID); err != nil {
		return load{}, err
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
