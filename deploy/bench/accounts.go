package main

import (
	"context"

	"github.com/sluicehq/sluice/deploy/harness"
)

// accounts measures what it costs to know what each tenant takes: whole runs by a gateway that is built without the accounts
// of memory, computing and storage, and in turn by the one that is measured.
type accounts struct{}

func (accounts) name() string { return "accounts" }

func (accounts) measure(ctx context.Context, e *env, o options) ([]figure, error) {
	dir, err := e.folder("unaccounted")
	if err != nil {
		return nil, err
	}
	binary, err := harness.BuildUnaccounted(ctx, dir)
	if err != nil {
		return nil, err
	}
	without, err := e.newSide(ctx, "unaccounted", binary)
	if err != nil {
		return nil, err
	}
	defer without.close()
	with, err := e.newSide(ctx, "accounted", e.gateway.Binary)
	if err != nil {
		return nil, err
	}
	defer with.close()
	for _, s := range []*side{without, with} {
		if _, err := s.completeRuns(ctx, warmUp); err != nil {
			return nil, err
		}
	}
	of, err := measureSides(ctx, "accounts", without, with, o)
	if err != nil {
		return nil, err
	}
	return []figure{
		newFigure("accounts", "runs without accounts of memory, computing and storage, against with", "times the rate", 1.05, ratios(of[0].rates, of[1].rates)...).
			withDetail("%.0f/s against %.0f/s", medianOf(of[0].rates), medianOf(of[1].rates)),
	}, nil
}
