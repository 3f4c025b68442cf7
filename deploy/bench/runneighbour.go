package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// runNeighbour measures what a tenant notices of another one that has many thousands of
// runs waiting: the 99th percentile of the time until its own run's first node begins,
// beside the backlog and alone. The neighbour's nodes take a second each, so that the
// backlog lasts.
type runNeighbour struct{}

func (runNeighbour) name() string { return "run-neighbour" }

// backlog is how many runs wait; slowness is how long each takes.
const (
	backlog  = 20_000
	slowness = time.Second
)

func (runNeighbour) take(ctx context.Context, st *stage, o options) ([]figure, error) {
	arrived := make(chan time.Time, 1)
	quick, stop, err := listenForRequests(ctx, arrived)
	if err != nil {
		return nil, err
	}
	defer stop()
	slow, stopSlow, err := listenSlowly(ctx)
	if err != nil {
		return nil, err
	}
	defer stopSlow()
	quiet, err := st.newFlow(ctx, "bench quiet runs", request("notify", quick))
	if err != nil {
		return nil, err
	}
	busy, err := st.newFlow(ctx, "bench busy runs", request("notify", slow))
	if err != nil {
		return nil, err
	}
	if _, err := st.startsOf(ctx, quiet, arrived, startsMeasured); err != nil { // warm
		return nil, err
	}
	alone, err := st.settledStartsOf(ctx, quiet, arrived)
	if err != nil {
		return nil, err
	}
	if err := st.pileUp(ctx, busy); err != nil {
		return nil, err
	}
	beside, err := st.settledStartsOf(ctx, quiet, arrived)
	if err != nil {
		return nil, err
	}
	_, open, err := st.database.runsOf(ctx, busy.TenantID)
	if err != nil {
		return nil, err
	}
	if open < backlog/2 {
		return nil, fmt.Errorf("only %d of the neighbour's %d runs were left at the end", open, backlog)
	}
	// The rest is nobody's business any more.
	if _, err := st.gateway.command(ctx, "tenant", "delete", busy.TenantID, "--yes"); err != nil {
		return nil, err
	}
	a, b := milliseconds(percentile(alone, 0.99)), milliseconds(percentile(beside, 0.99))
	return []figure{newFigure("run-neighbour", "a run's start, p99, beside another tenant with 20,000 runs waiting", "times alone", 1.2, b/a).
		because("%.1f ms against %.1f ms, of %d runs each; p50 %.1f ms against %.1f ms", b, a, len(alone),
			milliseconds(percentile(beside, 0.5)), milliseconds(percentile(alone, 0.5)))}, nil
}

// neighbourStarts are enough for the 99th percentile not to be the longest.
const neighbourStarts = 4 * startsMeasured

// settledStartsOf does so once everything that was written before is on the disk: what
// the backlog costs is asked for, and not what it cost to make it.
func (st *stage) settledStartsOf(ctx context.Context, f flow, arrived <-chan time.Time) ([]time.Duration, error) {
	if err := st.database.settle(ctx); err != nil {
		return nil, err
	}
	return st.startsOf(ctx, f, arrived, neighbourStarts)
}

// startsOf calls the flow so many times, and returns how long each run took to make its
// first request.
func (st *stage) startsOf(ctx context.Context, f flow, arrived <-chan time.Time, times int) (took []time.Duration, err error) {
	for range times {
		if err := pause(ctx, betweenStarts); err != nil {
			return nil, err
		}
		sent := time.Now()
		if _, err := ask(ctx, st.gateway.baseURL, f.call, http.StatusOK); err != nil {
			return nil, err
		}
		select {
		case at := <-arrived:
			took = append(took, at.Sub(sent))
		case <-time.After(startTimeout):
			return nil, fmt.Errorf("the run's first node did nothing within %s", startTimeout)
		}
	}
	return took, nil
}

// pileUp starts the runs of the backlog.
func (st *stage) pileUp(ctx context.Context, f flow) error {
	failed := make([]error, scheduleMakers)
	var calling sync.WaitGroup
	for i := range failed {
		calling.Go(func() {
			for n := i; n < backlog && failed[i] == nil; n += scheduleMakers {
				_, failed[i] = ask(ctx, st.gateway.baseURL, f.call, http.StatusOK)
			}
		})
	}
	calling.Wait()
	return errors.Join(failed...)
}

// listenSlowly serves on an address of its own, and takes its time.
func listenSlowly(ctx context.Context) (address string, stop func(), err error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{ReadHeaderTimeout: startTimeout, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(slowness):
		case <-r.Context().Done():
		}
		w.WriteHeader(http.StatusNoContent)
	})}
	go func() { _ = server.Serve(l) }()                                      // ends with stop
	return "http://" + l.Addr().String(), func() { _ = server.Close() }, nil // nothing is worth keeping
}
