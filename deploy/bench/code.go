package main

import (
	"context"
	"fmt"

	"github.com/sluicehq/sluice/deploy/harness"
)

// code measures how much later a run makes its first request when a small script computes what
// it sends, and no expression: the difference of two p50 of [runStart]'s kind, measured in turn.
type code struct{}

func (code) name() string { return "code" }

func (code) measure(ctx context.Context, e *env, o options) ([]figure, error) {
	arrived, address, stop, err := recordArrivals()
	if err != nil {
		return nil, err
	}
	defer stop()
	expression, err := e.newWorkflow(ctx, "bench expression", harness.Transform("total", "{ id: payload.id, total: payload.amount * 1.23 }"), httpNode("notify", address))
	if err != nil {
		return nil, err
	}
	script := harness.Node("total", "code", map[string]any{"source": "return { id: payload.id, total: payload.amount * 1.23 }"})
	scripted, err := e.newWorkflow(ctx, "bench code", script, httpNode("notify", address))
	if err != nil {
		return nil, err
	}
	var plain, more, commits []float64
	for i := range o.rounds + 1 {
		base, err := e.starts(ctx, expression, arrived, startsPerRound)
		if err != nil {
			return nil, err
		}
		took, err := e.starts(ctx, scripted, arrived, startsPerRound)
		if err != nil {
			return nil, err
		}
		commit, err := e.database.commitLatency(ctx)
		if err != nil {
			return nil, err
		}
		if i > 0 { // the first round warms up
			commits = append(commits, milliseconds(commit))
			p50 := milliseconds(percentile(base, 0.50))
			plain, more = append(plain, p50), append(more, milliseconds(percentile(took, 0.50))-p50)
		}
	}
	for _, w := range []workflow{expression, scripted} {
		if _, err := e.database.awaitRuns(ctx, w.ID); err != nil {
			return nil, fmt.Errorf("await the runs: %w", err)
		}
	}
	return []figure{newFigure("code", "code instead of an expression, webhook call sent until the next node's request arrives, p50: how much more", "ms", 1, more...).
		withDetail("with the expression %.1f ms; a bare insert is committed in %.1f ms", medianOf(plain), medianOf(commits))}, nil
}
