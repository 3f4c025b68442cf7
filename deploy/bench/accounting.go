package main

import (
	"context"

	"github.com/sluicehq/sluice/deploy/harness"
)

// accounting measures what it costs to reserve memory and turns to compute, to weigh what runs read, and to count kept bytes: whole
// runs by a gateway that is built without that, and in turn by the one that is measured.
type accounting struct{}

func (accounting) name() string { return "accounting" }

func (accounting) measure(ctx context.Context, e *env, o options) ([]figure, error) {
	build := func(name string, build func(context.Context, string) (string, error)) (*side, error) {
		dir, err := e.folder(name)
		if err != nil {
			return nil, err
		}
		binary, err := build(ctx, dir)
		if err != nil {
			return nil, err
		}
		return e.newSide(ctx, name, binary)
	}
	without, err := build("unaccounted", harness.BuildWithoutAccounting)
	if err != nil {
		return nil, err
	}
	defer without.close()
	with, err := build("accounted", func(ctx context.Context, dir string) (string, error) { return harness.Build(ctx, dir) }) // -binary may be of another state
	if err != nil {
		return nil, err
	}
	defer with.close()
	for _, s := range []*side{without, with} {
		if _, err := s.completeRuns(ctx, warmUp); err != nil {
			return nil, err
		}
	}
	of, err := measureSides(ctx, "accounting", without, with, o)
	if err != nil {
		return nil, err
	}
	return []figure{
		newFigure("accounting", "runs without reserving memory and turns, weighing values and counting kept bytes, against with", "times the rate", 1.05, ratios(of[0].rates, of[1].rates)...).
			withDetail("%.0f/s against %.0f/s", medianOf(of[0].rates), medianOf(of[1].rates)),
	}, nil
}
