package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/sluicehq/sluice/deploy/harness"
)

// runStart measures how long it takes from sending a webhook call to an idle gateway
// until the first node of the run does something outside: an httpRequest arrives at a
// server of the bench. That is more than from the accepted call to the first node's
// beginning, since it holds the call itself and the way out.
type runStart struct{}

func (runStart) name() string { return "run-start" }

// startsPerRound is how many calls a round makes; the gateway is idle between them.
const (
	startsPerRound = 100
	betweenStarts  = 20 * time.Millisecond
)

// answerTimeout bounds how long one answer, or the first request of a run, may take.
const answerTimeout = 30 * time.Second

func (runStart) measure(ctx context.Context, e *env, o options) ([]figure, error) {
	arrived, address, stop, err := recordArrivals()
	if err != nil {
		return nil, err
	}
	defer stop()
	w, err := e.newWorkflow(ctx, "bench run start", httpNode("notify", address))
	if err != nil {
		return nil, err
	}
	var commits, p50, p99 []float64
	for range o.rounds {
		commit, err := e.database.commitLatency(ctx)
		if err != nil {
			return nil, err
		}
		commits = append(commits, milliseconds(commit))
		took, err := e.starts(ctx, w, arrived, startsPerRound)
		if err != nil {
			return nil, err
		}
		p50, p99 = append(p50, milliseconds(percentile(took, 0.50))), append(p99, milliseconds(percentile(took, 0.99)))
	}
	if _, err := e.database.awaitRuns(ctx, w.ID); err != nil {
		return nil, err
	}
	return []figure{
		newFigure("run-start", "webhook call sent until the first node's request arrives, p50", "ms", 10, p50...).
			withDetail("a bare insert is committed in %.1f ms", medianOf(commits)),
		newFigure("run-start-p99", "the same, p99", "ms", 25, p99...).withDetail("%d calls a round", startsPerRound),
	}, nil
}

// recordArrivals serves requests and reports when each one arrives that is waited for.
func recordArrivals() (arrived <-chan time.Time, address string, stop func(), err error) {
	times := make(chan time.Time, 1)
	address, stop, err = harness.Serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case times <- time.Now():
		default: // a repeat that nobody waits for
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	return times, address, stop, err
}

// starts calls the workflow so many times, and returns how long each run took to make its
// first request.
func (e *env) starts(ctx context.Context, w workflow, arrived <-chan time.Time, times int) (took []time.Duration, err error) {
	for range times {
		if !harness.Sleep(ctx, betweenStarts) {
			return nil, ctx.Err()
		}
		sent := time.Now()
		if _, err := w.call.send(ctx, e.gateway.URL); err != nil {
			return nil, err
		}
		select {
		case at := <-arrived:
			took = append(took, at.Sub(sent))
		case <-time.After(answerTimeout):
			return nil, fmt.Errorf("the run's first node did nothing within %s", answerTimeout)
		}
	}
	return took, nil
}

// commitLatency is the median time of a bare insert on a connection of its own.
func (d *database) commitLatency(ctx context.Context) (time.Duration, error) {
	if err := d.exec(ctx, `CREATE TABLE IF NOT EXISTS bench_commits (id bigserial PRIMARY KEY)`); err != nil {
		return 0, err
	}
	var took []time.Duration
	for range startsPerRound {
		began := time.Now()
		if err := d.exec(ctx, `INSERT INTO bench_commits DEFAULT VALUES`); err != nil {
			return 0, err
		}
		took = append(took, time.Since(began))
	}
	return percentile(took, 0.50), nil
}
