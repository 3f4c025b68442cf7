package main

import (
	"context"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// finishRuns measures whole runs: from a webhook call until the second of two transforms
// is recorded as completed. The baseline adds such a row and updates it once, in
// one transaction and without any index but the primary key.
type finishRuns struct {
	connections int

	env      *env
	workflow workflow
	script   string
	rounds   int
}

func (r *finishRuns) about() about {
	return about{name: "runs", what: fmt.Sprintf("runs: webhook call, two transforms, done, %d connections", r.connections), aim: 0.35}
}

func transformNodes() []map[string]any {
	return []map[string]any{
		harness.Transform("total", "{ id: payload.id, total: payload.amount * 1.23 }"),
		harness.Transform("notice", "`Order ${input.id} of ${payload.customer.name} is worth ${input.total}`"),
	}
}

func (r *finishRuns) prepare(ctx context.Context, e *env) (err error) {
	r.env = e
	if r.workflow, err = e.newWorkflow(ctx, "bench runs", transformNodes()...); err != nil {
		return err
	}
	if _, err := r.workflow.call.send(ctx, e.gateway.URL); err != nil {
		return err
	}
	if _, err := e.database.awaitRuns(ctx, r.workflow.ID); err != nil {
		return err
	}
	err = e.database.exec(ctx, `DROP TABLE IF EXISTS bench_runs`,
		`CREATE TABLE bench_runs (LIKE runs INCLUDING DEFAULTS INCLUDING GENERATED, PRIMARY KEY (tenant_id, id))`)
	if err != nil {
		return err
	}
	insert, err := bareRow(ctx, e.database.DB, "runs", "bench_runs", r.workflow.ID, "run_")
	if err != nil {
		return err
	}
	r.script, err = e.writeFile("runs.pgbench", []byte("\\set i :i + 1\n\\set n :i * 100 + :client_id\nBEGIN;\n"+insert+
		"UPDATE bench_runs SET status = 'completed', seq = seq + 5, updated_at = now(), finished_at = now()\n"+
		"WHERE tenant_id = "+pgbenchLiteral(r.workflow.ID)+" AND id = 'run_' || lpad(CAST(:n AS text), 26, '0');\nEND;\n"))
	return err
}

// spanOfRound is the identifiers that one measurement of the baseline may use on
// each connection.
const spanOfRound = 1_000_000_000

// baselineConnections is the most that pgbench is given: more do not make it faster on two cores.
const baselineConnections = 16

func (r *finishRuns) baseline(ctx context.Context, period time.Duration) (load, error) {
	r.rounds++
	return r.env.database.pgbench(ctx, r.script, min(r.connections, baselineConnections), period, map[string]int{"i": r.rounds * spanOfRound})
}

func (r *finishRuns) gateway(ctx context.Context, period time.Duration) (load, error) {
	return r.env.finishRuns(ctx, r.workflow, r.connections, period)
}

// finishRuns counts the runs that have ended, by the time until the last one of them has.
func (e *env) finishRuns(ctx context.Context, w workflow, connections int, period time.Duration) (load, error) {
	before, _, err := e.database.countRuns(ctx, w.ID)
	if err != nil {
		return load{}, err
	}
	began := time.Now()
	found, err := e.loadGateway(ctx, w.call, connections, period)
	if err != nil {
		return load{}, err
	}
	if err := e.database.awaitEnds(ctx, w.ID); err != nil {
		return load{}, err
	}
	elapsed := time.Since(began) // counting is no part of it
	after, err := e.database.countCompleted(ctx, w.ID)
	if err != nil {
		return load{}, err
	}
	if after-before < found.requests {
		return load{}, fmt.Errorf("%d calls were acknowledged, but only %d runs are in the table", found.requests, after-before)
	}
	found.perSecond = float64(after-before) / elapsed.Seconds()
	return found, nil
}

// runTransactions counts what a run costs the database: how many transactions it
// committed while runs were started and ended, over how many they were.
type runTransactions struct{}

func (runTransactions) name() string { return "run-transactions" }

func (runTransactions) measure(ctx context.Context, e *env, o options) ([]figure, error) {
	f, err := e.newWorkflow(ctx, "bench transactions", transformNodes()...)
	if err != nil {
		return nil, err
	}
	var measured []float64
	detail := ""
	for range o.rounds {
		before, commits, err := e.database.commitsAndRuns(ctx, f)
		if err != nil {
			return nil, err
		}
		if _, err := e.loadGateway(ctx, f.call, 16, o.period); err != nil {
			return nil, err
		}
		if _, err := e.database.awaitRuns(ctx, f.ID); err != nil {
			return nil, err
		}
		after, committed, err := e.database.commitsAndRuns(ctx, f)
		if err != nil {
			return nil, err
		}
		measured = append(measured, float64(committed-commits)/float64(after-before))
		detail = fmt.Sprintf("%d commits for %d runs in the last round, those of the measurement itself included", committed-commits, after-before)
	}
	return []figure{newFigure("run-transactions", "transactions a run, from the webhook call to the end", "", 1, measured...).withDetail("%s", detail)}, nil
}

// statisticsLag is how long a session may keep its counts to itself.
const statisticsLag = 2 * time.Second

// commitsAndRuns reads how many transactions were committed since the cluster began, and how many runs there are.
func (d *database) commitsAndRuns(ctx context.Context, f workflow) (runs, commits int, err error) {
	if !harness.Sleep(ctx, statisticsLag) {
		return 0, 0, ctx.Err()
	}
	if runs, _, err = d.countRuns(ctx, f.ID); err != nil {
		return 0, 0, err
	}
	err = d.DB.QueryRowContext(ctx, `SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()`).Scan(&commits)
	return runs, commits, err
}
