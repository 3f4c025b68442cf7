package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

// runStart measures how long it takes from sending a webhook call to an idle gateway
// until the first node of the run does something outside: an httpRequest arrives at a
// server beside it. That is more than from the accepted call to the first node's
// beginning, since it holds the call itself and the way out.
type runStart struct{}

func (runStart) name() string { return "run-start" }

// startsMeasured is how many calls a round makes; the pause lets everything fall asleep.
const (
	startsMeasured = 100
	betweenStarts  = 20 * time.Millisecond
)

func (runStart) take(ctx context.Context, st *stage, o options) ([]figure, error) {
	arrived := make(chan time.Time, 1)
	address, stop, err := listenForRequests(ctx, arrived)
	if err != nil {
		return nil, err
	}
	defer stop()
	f, err := st.newFlow(ctx, "bench run start", request("notify", address))
	if err != nil {
		return nil, err
	}
	var commits, p50, p99 []float64
	for range o.rounds {
		commit, err := st.database.commitLatency(ctx)
		if err != nil {
			return nil, err
		}
		commits = append(commits, milliseconds(commit))
		took, err := st.startsOf(ctx, f, arrived, startsMeasured)
		if err != nil {
			return nil, err
		}
		p50, p99 = append(p50, milliseconds(percentile(took, 0.50))), append(p99, milliseconds(percentile(took, 0.99)))
	}
	if _, err := st.database.drained(ctx, f.TenantID); err != nil {
		return nil, err
	}
	beside := fmt.Sprintf("a bare insert is committed in %.1f ms", newFigure("", "", "", 0, commits...).Value)
	return []figure{
		newFigure("run-start", "webhook call sent until the first node's request arrives, p50", "ms", 15, p50...).because("%s", beside),
		newFigure("run-start-p99", "the same, p99", "ms", 50, p99...).because("%d calls a round", startsMeasured),
	}, nil
}

// listenForRequests serves on an address of its own, and tells when requests arrive.
func listenForRequests(ctx context.Context, arrived chan<- time.Time) (address string, stop func(), err error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{ReadHeaderTimeout: startTimeout, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case arrived <- time.Now():
		default: // a repeat that nobody waits for
		}
		w.WriteHeader(http.StatusNoContent)
	})}
	go func() { _ = server.Serve(l) }()                                      // ends with stop
	return "http://" + l.Addr().String(), func() { _ = server.Close() }, nil // nothing is worth keeping
}

// commitLatency is the median time of a bare insert on a connection of its own.
func (p *postgresServer) commitLatency(ctx context.Context) (time.Duration, error) {
	if _, err := p.db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS bench_commits (id bigserial PRIMARY KEY)`); err != nil {
		return 0, err
	}
	var took []time.Duration
	for range startsMeasured {
		began := time.Now()
		if _, err := p.db.ExecContext(ctx, `INSERT INTO bench_commits DEFAULT VALUES`); err != nil {
			return 0, err
		}
		took = append(took, time.Since(began))
	}
	return percentile(took, 0.50), nil
}
