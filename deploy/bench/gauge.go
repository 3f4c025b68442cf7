package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"
)

// gauge takes figures that are no ratio of two rates: times, sizes, counts. A new
// gauge is a file that implements this and a line in allGauges.
type gauge interface {
	// name is what -only matches.
	name() string

	// take measures. It is called once.
	take(ctx context.Context, st *stage, o options) ([]figure, error)
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

// newFigure summarizes what was measured, of which there is at least one.
func newFigure(name, what, unit string, atMost float64, measured ...float64) figure {
	sorted := slices.Sorted(slices.Values(measured))
	value := median(sorted)
	return figure{
		Name: name, What: what, Unit: unit, Value: value, Low: sorted[0], High: sorted[len(sorted)-1],
		AtMost: atMost, Reached: atMost == 0 || value <= atMost,
	}
}

// because adds what the figure was computed from.
func (f figure) because(format string, args ...any) figure {
	f.Detail = fmt.Sprintf(format, args...)
	return f
}

// allGauges lists every gauge in the order of the table. Those that look at the
// gateway of the rows come first, while it is warm.
func allGauges() []gauge {
	return []gauge{ceiling{}, &admission{}, &neighbour{}, runStart{}, runTransactions{}, runNeighbour{}, dueTogether{}, loaded{}, idle{}, start{}, binarySize{}}
}

func chooseGauges(all []gauge, only *regexp.Regexp) []gauge {
	return slices.DeleteFunc(all, func(g gauge) bool { return !only.MatchString(g.name()) })
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
		because("%.0f/s against %.0f/s", few, many)}
}

// pause waits, unless the bench is ended.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
