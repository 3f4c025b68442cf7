package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// finishRuns measures whole runs: from a webhook call to the record that the second of
// two transforms has completed. The baseline adds such a row and updates it once, in
// one transaction and without any index but the primary key.
type finishRuns struct {
	connections int

	st     *stage
	flow   flow
	script string
	rounds int
}

func (r *finishRuns) about() about {
	return about{name: "runs", what: fmt.Sprintf("runs: webhook call, two transforms, done, %d connections", r.connections), aim: 0.25}
}

func twoTransforms() []flowNode {
	return []flowNode{
		transform("total", "{ id: payload.id, total: payload.amount * 1.23 }"),
		transform("notice", "`Order ${input.id} of ${payload.customer.name} is worth ${input.total}`"),
	}
}

func (r *finishRuns) prepare(ctx context.Context, st *stage) (err error) {
	r.st = st
	if r.flow, err = st.newFlow(ctx, "bench runs", twoTransforms()...); err != nil {
		return err
	}
	if _, err := ask(ctx, st.gateway.baseURL, r.flow.call, 200); err != nil {
		return err
	}
	if _, err := st.database.drained(ctx, r.flow.TenantID); err != nil {
		return err
	}
	for _, statement := range []string{
		`DROP TABLE IF EXISTS bench_runs`,
		`CREATE TABLE bench_runs (LIKE runs INCLUDING DEFAULTS INCLUDING GENERATED, PRIMARY KEY (tenant_id, id))`,
	} {
		if _, err := st.database.db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	insert, err := bareRow(ctx, st.database.db, "runs", "bench_runs", r.flow.TenantID, "run_")
	if err != nil {
		return err
	}
	r.script = filepath.Join(st.dir, "runs.pgbench")
	return os.WriteFile(r.script, []byte("\\set i :i + 1\n\\set n :i * 100 + :client_id\nBEGIN;\n"+insert+
		"UPDATE bench_runs SET status = 'completed', seq = seq + 5, updated_at = now(), finished_at = now()\n"+
		"WHERE tenant_id = "+pgbenchLiteral(r.flow.TenantID)+" AND id = 'run_' || lpad(CAST(:n AS text), 26, '0');\nEND;\n"), 0o600)
}

func (r *finishRuns) baseline(ctx context.Context, slice time.Duration) (float64, error) {
	r.rounds++
	return r.st.database.pgbench(ctx, r.script, min(r.connections, baselineConnections), slice, map[string]int{"i": r.rounds * spanOfRound})
}

// ours counts the runs that were over when all of them were, by the time that passed
// until then.
func (r *finishRuns) ours(ctx context.Context, slice time.Duration) (load, error) {
	before, _, err := r.st.database.runsOf(ctx, r.flow.TenantID)
	if err != nil {
		return load{}, err
	}
	began := time.Now()
	found, err := r.st.askGateway(ctx, r.flow.call, r.connections, 200, slice)
	if err != nil {
		return load{}, err
	}
	after, err := r.st.database.drained(ctx, r.flow.TenantID)
	if err != nil {
		return load{}, err
	}
	if after-before < found.requests {
		return load{}, fmt.Errorf("%d calls were acknowledged, but only %d runs are in the table", found.requests, after-before)
	}
	found.perSecond = float64(after-before) / time.Since(began).Seconds()
	return found, nil
}

// runTransactions counts what a run costs the database: how many transactions it
// committed while runs were started and ended, over how many they were.
type runTransactions struct{}

func (runTransactions) name() string { return "run-transactions" }

func (runTransactions) take(ctx context.Context, st *stage, o options) ([]figure, error) {
	f, err := st.newFlow(ctx, "bench transactions", twoTransforms()...)
	if err != nil {
		return nil, err
	}
	var measured []float64
	detail := ""
	for range o.rounds {
		before, commits, err := st.database.commitsAndRuns(ctx, f)
		if err != nil {
			return nil, err
		}
		if _, err := st.askGateway(ctx, f.call, 16, 200, o.slice); err != nil {
			return nil, err
		}
		if _, err := st.database.drained(ctx, f.TenantID); err != nil {
			return nil, err
		}
		after, committed, err := st.database.commitsAndRuns(ctx, f)
		if err != nil {
			return nil, err
		}
		measured = append(measured, float64(committed-commits)/float64(after-before))
		detail = fmt.Sprintf("%d commits for %d runs in the last round, those of the measurement itself included", committed-commits, after-before)
	}
	return []figure{newFigure("run-transactions", "transactions a run, from the webhook call to the end", "", 3, measured...).because("%s", detail)}, nil
}

// statisticsLag is how long a session may keep its counts to itself.
const statisticsLag = 2 * time.Second

// commitsAndRuns reads how many transactions were committed since the cluster began, and how many runs there are.
func (p *postgresServer) commitsAndRuns(ctx context.Context, f flow) (runs, commits int, err error) {
	if err := pause(ctx, statisticsLag); err != nil {
		return 0, 0, err
	}
	if runs, _, err = p.runsOf(ctx, f.TenantID); err != nil {
		return 0, 0, err
	}
	err = p.db.QueryRowContext(ctx, `SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()`).Scan(&commits)
	return runs, commits, err
}
