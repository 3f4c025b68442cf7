package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// gauge takes figures that are no ratio of two rates: times, sizes, counts. A new
// gauge is a file that implements this and a line in allGauges.
type gauge interface {
	// name is what -only matches.
	name() string

	// take measures. It is called once.
	measure(ctx context.Context, e *env, o options) ([]figure, error)
}

// figure is one line of the second table: the median of what was measured, and the
// most it should be.
type figure struct {
	Name    string  `json:"name"`
	What    string  `json:"what"`
	Unit    string  `json:"unit"`
	Value   float64 `json:"value"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
	AtMost  float64 `json:"atMost,omitempty"` // 0 where there is no aim
	Reached bool    `json:"reached"`
	Detail  string  `json:"detail,omitempty"`
}

// newFigure summarizes at least one measurement.
func newFigure(name, what, unit string, atMost float64, measured ...float64) figure {
	value := medianOf(measured)
	return figure{
		Name: name, What: what, Unit: unit, Value: value, Low: slices.Min(measured), High: slices.Max(measured),
		AtMost: atMost, Reached: atMost == 0 || value <= atMost,
	}
}

// withDetail adds what the figure was computed from.
func (f figure) withDetail(format string, args ...any) figure {
	f.Detail = fmt.Sprintf(format, args...)
	return f
}

// allGauges lists every gauge in the order of the table. Those that look at the
// gateway of the rows come first, while it is warm.
func allGauges() []gauge {
	return []gauge{admission{}, neighbour{}, hookFlood{}, runStart{}, code{}, runTransactions{}, runNeighbour{}, engines{}, schedules{}, sustainedRuns{}, accounting{}, peakMemory{}, idle{}, start{}, binarySize{}}
}

// sameAtEverySize compares the lists of the fewest and the most workflows, where
// both were measured: the rate must not depend on how many there are.
func sameAtEverySize(rows []result) []figure {
	rate := make(map[string]float64)
	for _, r := range rows {
		rate[r.Name] = r.Ours
	}
	few, many := rate[(&listWorkflows{workflows: fewWorkflows}).about().name], rate[(&listWorkflows{workflows: manyWorkflows}).about().name]
	if few == 0 || many == 0 {
		return nil
	}
	return []figure{newFigure("workflows-size", "GET /workflows of 1,000 workflows against 1,000,000", "times the rate", 1.2, few/many).
		withDetail("%.0f/s against %.0f/s", few, many)}
}

// tailOfTriggers compares the p99 of POST /triggers at many connections with its p50, and says
// how far the two of the baseline lie apart, which shares the machine with the same load.
func tailOfTriggers(rows []result) []figure {
	i := slices.IndexFunc(rows, func(r result) bool { return r.Name == "triggers-64" })
	if i < 0 {
		return nil
	}
	row := rows[i]
	return []figure{newFigure("triggers-64-tail", "the p99 of POST /triggers at 64 connections against its p50", "times", 5, row.P99/row.P50).
		withDetail("%.1f ms against %.1f ms; the baseline's %.1f ms against %.1f ms", row.P99, row.P50, row.BaseP99, row.BaseP50)}
}

// inTurns measures a baseline and something else in turn, after a warm-up of both.
func (o options) inTurns(baseline, other func(time.Duration) (float64, error)) (baselines, others []float64, err error) {
	for i := range o.rounds + 1 {
		period := o.period
		if i == 0 {
			period = warmUp
		}
		base, err := baseline(period)
		if err != nil {
			return nil, nil, fmt.Errorf("the baseline: %w", err)
		}
		found, err := other(period)
		if err != nil {
			return nil, nil, err
		}
		if i > 0 {
			baselines, others = append(baselines, base), append(others, found)
		}
	}
	return baselines, others, nil
}
