package expression

import (
	"time"

	"github.com/sluicehq/sluice/domain/run"
)

// Env is what one evaluation sees.
type Env struct {
	// Values holds the roots by name: JSON trees of map[string]any, []any, string,
	// float64, bool and nil; json.Number and Go's integers are read as numbers.
	// A root that is missing reads as undefined. An evaluation changes nothing in
	// them; its result may share parts of them.
	Values map[string]any

	// Now is the instant that now() gives, in milliseconds since 1970: one that was
	// recorded with the run, so that a replay agrees. With the zero time, now() is
	// an evaluation error.
	Now time.Time

	// Meter counts what the evaluation costs, also where it fails; nil where nobody asks.
	Meter *run.Meter
}
