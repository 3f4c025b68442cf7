package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// row is one line of the table: the gateway doing something, and a baseline doing
// as much of it as can be done without the gateway. A new row is a file that
// implements this and a line in allRows.
type row interface {
	about() about

	// prepare makes ready what both sides need. It is called once, before the first
	// measurement, and checks that the gateway answers as it should.
	prepare(ctx context.Context, e *env) error

	// baseline measures for the given time. It has no latencies where pgbench makes the load.
	baseline(ctx context.Context, period time.Duration) (load, error)

	// gateway measures the gateway. An answer outside 2xx, a socket's error or an effect
	// that is missing afterwards is an error.
	gateway(ctx context.Context, period time.Duration) (load, error)
}

// about says what a row measures.
type about struct {
	name string  // short; what -only matches and the JSON shows
	what string  // the table's first column
	aim  float64 // the least ratio that is good
}

// load is what a load generator found in one measurement.
type load struct {
	perSecond float64
	p50, p99  time.Duration
	requests  int
}

// allRows lists every row in the order of the table.
func allRows() []row {
	return []row{
		&createTrigger{connections: 64},
		&createTrigger{connections: 64, withKey: true},
		&createTrigger{connections: 1},
		&createTrigger{connections: 1, withKey: true},
		&recordChange{connections: 16},
		&registry{},
		&listWorkflows{workflows: fewWorkflows},
		&listWorkflows{workflows: 100_000},
		&listWorkflows{workflows: manyWorkflows},
		&finishRuns{connections: 16},
		&deliverHooks{connections: 64},
		&deliverHooks{connections: 64, once: true},
		&callRuns{connections: 16},
		&loopRuns{connections: 16},
	}
}

// names lists what -only can choose from.
func names() string {
	var all []string
	for _, r := range allRows() {
		all = append(all, r.about().name)
	}
	for _, g := range allGauges() {
		all = append(all, g.name())
	}
	return strings.Join(all, ", ")
}

// warmUp fills caches, pools and prepared statements of both sides; its figures are
// thrown away.
const warmUp = time.Second

// measure takes turns between the baseline and the gateway, so that whatever else
// the machine does falls on both.
func measureRow(ctx context.Context, e *env, r row, o options) (result, error) {
	a := r.about()
	res := result{Name: a.name, What: a.what, Aim: a.aim}
	if err := r.prepare(ctx, e); err != nil {
		return res, fmt.Errorf("prepare: %w", err)
	}
	if _, err := r.baseline(ctx, warmUp); err != nil {
		return res, fmt.Errorf("warm up the baseline: %w", err)
	}
	if _, err := r.gateway(ctx, warmUp); err != nil {
		return res, fmt.Errorf("warm up the gateway: %w", err)
	}
	for i := range o.rounds {
		base, err := r.baseline(ctx, o.period)
		if err != nil {
			return res, fmt.Errorf("round %d: the baseline: %w", i+1, err)
		}
		found, err := r.gateway(ctx, o.period)
		if err != nil {
			return res, fmt.Errorf("round %d: the gateway: %w", i+1, err)
		}
		rd := newRound(base, found)
		res.RoundsTaken = append(res.RoundsTaken, rd)
		_, _ = fmt.Fprintf(o.verbose, "%s, round %d of %d: %.0f/s, baseline %.0f/s, ratio %.2f\n", // progress only
			a.name, i+1, o.rounds, rd.Ours, rd.Baseline, rd.Ratio)
	}
	res.summarize()
	if o.profiles != "" {
		return res, e.profile(ctx, r, o)
	}
	return res, nil
}
