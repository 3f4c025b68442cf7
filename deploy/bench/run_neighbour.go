package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// runNeighbour measures what a tenant notices of another one that has many thousands of
// runs waiting: the 99th percentile of the time until its own run's first node begins,
// during the backlog and alone. The neighbour's nodes take a second each, so that the
// backlog lasts.
type runNeighbour struct{}

func (runNeighbour) name() string { return "run-neighbour" }

const (
	backlog   = 20_000 // runs
	nodeDelay = time.Second

	// neighbourStarts are enough for the 99th percentile not to be the longest.
	neighbourStarts = 4 * startsPerRound
)

func (runNeighbour) measure(ctx context.Context, e *env, _ options) ([]figure, error) {
	arrived, quick, stop, err := recordArrivals()
	if err != nil {
		return nil, err
	}
	defer stop()
	slow, stopSlow, err := harness.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		harness.Sleep(r.Context(), nodeDelay) // nobody waits any more
		w.WriteHeader(http.StatusNoContent)
	}))
	if err != nil {
		return nil, err
	}
	defer stopSlow()
	quiet, err := e.newWorkflow(ctx, "bench quiet runs", httpNode("notify", quick))
	if err != nil {
		return nil, err
	}
	busy, err := e.newWorkflow(ctx, "bench busy runs", httpNode("notify", slow))
	if err != nil {
		return nil, err
	}
	if _, err := e.starts(ctx, quiet, arrived, startsPerRound); err != nil { // warm up
		return nil, err
	}
	alone, err := e.vacuumedStarts(ctx, quiet, arrived)
	if err != nil {
		return nil, err
	}
	if err := inParallel(backlog, func(int) error { _, err := busy.call.send(ctx, e.gateway.URL); return err }); err != nil {
		return nil, err
	}
	contended, err := e.vacuumedStarts(ctx, quiet, arrived)
	if err != nil {
		return nil, err
	}
	_, open, err := e.database.countRuns(ctx, busy.ID)
	if err != nil {
		return nil, err
	}
	if open < backlog/2 {
		return nil, fmt.Errorf("only %d of the neighbour's %d runs were left at the end", open, backlog)
	}
	// What is left of the backlog must not slow down what is measured next.
	if _, err := e.gateway.Command(ctx, "tenant", "delete", busy.ID, "--yes"); err != nil {
		return nil, err
	}
	a, b := milliseconds(percentile(alone, 0.99)), milliseconds(percentile(contended, 0.99))
	return []figure{newFigure("run-neighbour", "a run's start, p99, next to another tenant with 20,000 runs waiting", "times alone", 1.2, b/a).
		withDetail("%.1f ms against %.1f ms, of %d runs each; p50 %.1f ms against %.1f ms", b, a, len(alone),
			milliseconds(percentile(contended, 0.5)), milliseconds(percentile(alone, 0.5)))}, nil
}

// vacuumedStarts measures starts once everything that was written before is on the disk:
// the cost of a backlog, and not that of making it.
func (e *env) vacuumedStarts(ctx context.Context, w workflow, arrived <-chan time.Time) ([]time.Duration, error) {
	if err := e.database.vacuum(ctx); err != nil {
		return nil, err
	}
	return e.starts(ctx, w, arrived, neighbourStarts)
}

// workers is how many goroutines inParallel uses.
const workers = 32

// inParallel calls do for each number below count. Each worker stops at its first error.
func inParallel(count int, do func(n int) error) error {
	failed := make([]error, workers)
	var running sync.WaitGroup
	for i := range failed {
		running.Go(func() {
			for n := i; n < count && failed[i] == nil; n += workers {
				failed[i] = do(n)
			}
		})
	}
	running.Wait()
	return errors.Join(failed...)
}
