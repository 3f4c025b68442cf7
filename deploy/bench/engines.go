package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// engines measures runs of two shapes on the table, handed over to a Temporal server, and as workflows that
// Temporal knows alone: how many a second end of those that are started at once, and how long one takes alone.
type engines struct{}

func (engines) name() string { return "engines" }

// Of the runs that are started at once, so many callers start them, and as many are a first guess.
const (
	engineCallers    = 16
	engineFirstGuess = 64
	engineMostRuns   = 5_000 // of one measurement
	engineAlone      = 20    // runs, one after the other
)

// engineShape is what a run does.
type engineShape struct {
	name  string
	what  string
	nodes []map[string]any
}

func engineShapes(url string) []engineShape {
	return []engineShape{
		{"transforms", "two transforms", transformNodes()},
		{"requests", "three HTTP requests to a local server", []map[string]any{httpNode("first", url), httpNode("second", url), httpNode("third", url)}},
	}
}

// databaseCost is how many transactions PostgreSQL commits for a run, and a second for gateways that have nothing to do.
type databaseCost struct{ run, idle float64 }

// engineFound is what became of one shape on one engine.
type engineFound struct {
	PerSecond []float64
	P50       float64       // of a run alone, in milliseconds
	database  *databaseCost // nil where there is no PostgreSQL
	events    int64         // in a history of Temporal
}

func (g engines) measure(ctx context.Context, e *env, o options) ([]figure, error) {
	dir := filepath.Join(e.dir, "engines")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	server, err := harness.StartTemporal(ctx, dir)
	if err != nil {
		_, _ = fmt.Fprintf(o.verbose, "%s: left out, since there is no Temporal server: %v\n", g.name(), err) // progress only
		return nil, nil
	}
	defer server.Kill()
	with, err := e.withTemporal(ctx, server.Address, dir)
	if err != nil {
		return nil, err
	}
	own, err := buildOwnWorkflow(ctx, dir)
	if err != nil {
		return nil, err
	}
	url, stop, err := harness.Serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	if err != nil {
		return nil, err
	}
	defer stop()
	var figures []figure
	for _, s := range engineShapes(url) {
		table, err := e.measureEngine(ctx, s, o)
		if err != nil {
			return nil, fmt.Errorf("with the table: %w", err)
		}
		handed, err := with.measureHandedOver(ctx, s, o, server.Address, own)
		if err != nil {
			return nil, fmt.Errorf("with Temporal: %w", err)
		}
		alone, err := measureOwn(ctx, own, s, o, server.Address, url)
		if err != nil {
			return nil, fmt.Errorf("a workflow of Temporal alone: %w", err)
		}
		figures = append(figures,
			table.figure("engines-"+s.name+"-table", "runs of "+s.what+", on the table", table),
			handed.figure("engines-"+s.name+"-temporal", "the same, handed over to Temporal", table),
			alone.figure("engines-"+s.name+"-own", "Temporal's own workflow of the same shape", table))
	}
	costs, err := engineCosts(e, with, server)
	return append(figures, costs...), err
}

// figure shows the rate, with the rest next to it.
func (f engineFound) figure(name, what string, table engineFound) figure {
	one := newFigure(name, what, "runs/s", 0, f.PerSecond...)
	detail := fmt.Sprintf("%.2f of the table's rate; a run alone takes %.1f ms (p50)", one.Value/medianOf(table.PerSecond), f.P50)
	if f.database != nil {
		detail += fmt.Sprintf("; %.1f transactions of PostgreSQL a run, besides %.1f a second of idle gateways", f.database.run, f.database.idle)
	}
	if f.events > 0 {
		detail += fmt.Sprintf("; %d events in the history of one", f.events)
	}
	return one.withDetail("%s", detail)
}

// withTemporal is the same environment with a gateway of its own, whose runs begin with Temporal.
func (e *env) withTemporal(ctx context.Context, address, dir string) (*env, error) {
	binary, err := harness.BuildWithTemporal(ctx, dir)
	if err != nil {
		return nil, err
	}
	with := *e
	with.gateway, err = harness.NewGateway("temporal", binary, e.database.URL, dir, "SLUICE_EGRESS_ALLOW=127.0.0.0/8", "SLUICE_ENGINE=temporal", "SLUICE_TEMPORAL_ADDRESS="+address)
	return &with, err
}

// measureHandedOver has the gateway run meanwhile only: it would take runs of the table, too.
func (e *env) measureHandedOver(ctx context.Context, s engineShape, o options, address, own string) (f engineFound, err error) {
	if err := e.gateway.StartReady(ctx); err != nil {
		return f, err
	}
	defer e.gateway.Stop()
	if f, err = e.measureEngine(ctx, s, o); err != nil {
		return f, err
	}
	var id string
	if err = e.database.DB.QueryRowContext(ctx, `SELECT id FROM runs WHERE engine = 'temporal' ORDER BY created_at DESC LIMIT 1`).Scan(&id); err != nil {
		return f, err
	}
	var described struct{ Events int64 }
	err = runOwn(ctx, own, &described, "-address", address, "-describe", id)
	f.events = described.Events
	return f, err
}

func (e *env) measureEngine(ctx context.Context, s engineShape, o options) (f engineFound, err error) {
	w, err := e.newWorkflow(ctx, "bench engine "+s.name, s.nodes...)
	if err != nil {
		return f, err
	}
	guess, err := e.completeAtOnce(ctx, w, engineFirstGuess)
	if err != nil {
		return f, err
	}
	runs := min(max(engineFirstGuess, int(guess*o.period.Seconds())), engineMostRuns)
	idle, err := e.database.idleCommits(ctx, w)
	if err != nil {
		return f, err
	}
	before, commits, err := e.database.commitsAndRuns(ctx, w)
	if err != nil {
		return f, err
	}
	began := time.Now()
	for range o.rounds {
		rate, err := e.completeAtOnce(ctx, w, runs)
		if err != nil {
			return f, err
		}
		f.PerSecond = append(f.PerSecond, rate)
	}
	after, committed, err := e.database.commitsAndRuns(ctx, w)
	if err != nil {
		return f, err
	}
	f.database = &databaseCost{run: (float64(committed-commits) - idle*time.Since(began).Seconds()) / float64(after-before), idle: idle}
	f.P50, err = e.completeAlone(ctx, s)
	return f, err
}

// completeAtOnce starts so many runs at once, and says how many a second ended until the last one had.
func (e *env) completeAtOnce(ctx context.Context, w workflow, runs int) (perSecond float64, err error) {
	var calling sync.WaitGroup
	began, next, failed := time.Now(), make(chan struct{}, runs), make(chan error, engineCallers)
	for range runs {
		next <- struct{}{}
	}
	close(next)
	for range engineCallers {
		calling.Go(func() {
			for range next {
				if _, err := w.call.send(ctx, e.gateway.URL); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	calling.Wait()
	close(failed)
	for err := range failed {
		return 0, err
	}
	if err := e.database.awaitRunsSeldom(ctx, w.ID); err != nil {
		return 0, err
	}
	return float64(runs) / time.Since(began).Seconds(), nil
}

// awaitRunsSeldom is awaitRuns, and asks so seldom that it is no matter for what a run costs the database.
func (d *database) awaitRunsSeldom(ctx context.Context, tenantID string) error {
	for open := true; open; {
		if !harness.Sleep(ctx, 100*time.Millisecond) {
			return ctx.Err()
		}
		if err := d.DB.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM live_runs WHERE tenant_id = $1)`, tenantID).Scan(&open); err != nil {
			return err
		}
	}
	_, err := d.awaitRuns(ctx, tenantID)
	return err
}

// What runs leave to do has been done after idleAfter, and what idle gateways commit is counted for idlePeriod.
const (
	idleAfter  = 5 * time.Second
	idlePeriod = 8 * time.Second
)

// idleCommits is how many transactions a second the gateways commit while they have nothing to do.
func (d *database) idleCommits(ctx context.Context, w workflow) (perSecond float64, err error) {
	if !harness.Sleep(ctx, idleAfter) {
		return 0, ctx.Err()
	}
	_, before, err := d.commitsAndRuns(ctx, w)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if !harness.Sleep(ctx, idlePeriod) {
		return 0, ctx.Err()
	}
	_, after, err := d.commitsAndRuns(ctx, w)
	return float64(after-before) / time.Since(began).Seconds(), err
}

// completeAlone starts runs one after the other, and says how long half of them took at most, from their beginning to
// their end by the database's clock.
func (e *env) completeAlone(ctx context.Context, s engineShape) (p50 float64, err error) {
	w, err := e.newWorkflow(ctx, "bench engine alone "+s.name, s.nodes...)
	if err != nil {
		return 0, err
	}
	for range engineAlone {
		if _, err := w.call.send(ctx, e.gateway.URL); err != nil {
			return 0, err
		}
		if _, err := e.database.awaitRuns(ctx, w.ID); err != nil {
			return 0, err
		}
	}
	err = e.database.DB.QueryRowContext(ctx, `SELECT 1000 * percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM finished_at - created_at))
		FROM runs WHERE tenant_id = $1`, w.ID).Scan(&p50)
	return p50, err
}

func buildOwnWorkflow(ctx context.Context, dir string) (binary string, err error) {
	binary = filepath.Join(dir, "ownworkflow")
	_, err = harness.Output(exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", binary, "github.com/sluicehq/sluice/deploy/bench/ownworkflow"))
	return binary, err
}

func runOwn(ctx context.Context, binary string, into any, args ...string) error {
	printed, err := harness.Output(exec.CommandContext(ctx, binary, args...))
	if err != nil {
		return err
	}
	return json.Unmarshal(printed, into)
}

func measureOwn(ctx context.Context, binary string, s engineShape, o options, address, url string) (f engineFound, err error) {
	for range o.rounds {
		var found struct {
			PerSecond, P50 float64
			Events         int64
		}
		if err := runOwn(ctx, binary, &found, "-address", address, "-shape", s.name, "-url", url, "-period", o.period.String(), "-alone", fmt.Sprint(engineAlone)); err != nil {
			return f, err
		}
		f.PerSecond, f.P50, f.events = append(f.PerSecond, found.PerSecond), found.P50, found.Events
	}
	return f, nil
}

// engineCosts are what Temporal costs besides.
func engineCosts(e, with *env, server *harness.Temporal) ([]figure, error) {
	plain, err := os.Stat(e.gateway.Binary)
	if err != nil {
		return nil, err
	}
	tagged, err := os.Stat(with.gateway.Binary)
	if err != nil {
		return nil, err
	}
	_, peak, err := harness.Memory(server.PID())
	if err != nil {
		return nil, err
	}
	return []figure{
		newFigure("engines-binary", "size of the binary with the client of Temporal", "MB", 0, megabytes(tagged.Size())).withDetail("%.1f MB without", megabytes(plain.Size())),
		newFigure("engines-memory", "resident memory of the Temporal server at its peak", "MB", 0, megabytes(peak)),
	}, nil
}
