package expression

import "time"

// Limits bound what one source may be and what one evaluation may use. A zero
// member means its default.
type Limits struct {
	Source int // bytes of source, 65,536
	Depth  int // nesting of the source, and of data that is built or rendered, 200
	Steps  int // operations, elements visited and 64-byte pieces of text read, 100,000
	Memory int // bytes of values created, freed or not, and of the result, 4 MiB
}

// The defaults of [Limits].
const (
	DefaultSource = 64 << 10
	DefaultDepth  = 200
	DefaultSteps  = 100_000
	DefaultMemory = 4 << 20
)

// DefaultRoots are the roots that an expression may begin with when the caller
// names none: those of a node's configuration (execution rules, "The graph").
func DefaultRoots() []string { return []string{"input", "payload", "nodes", "run"} }

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
}

// Option changes how a source is compiled.
type Option func(*settings)

type settings struct {
	roots  []string
	limits Limits
}

// WithRoots names the roots that the source may begin with, instead of
// [DefaultRoots]. A root hides what is built in under the same name.
func WithRoots(names ...string) Option {
	return func(s *settings) { s.roots = names }
}

// WithLimits sets the limits of the source and of its evaluations.
func WithLimits(limits Limits) Option {
	return func(s *settings) { s.limits = limits }
}

func newSettings(options []Option) settings {
	s := settings{roots: DefaultRoots()}
	for _, option := range options {
		option(&s)
	}
	l := &s.limits
	for _, limit := range []struct {
		value    *int
		standard int
	}{{&l.Source, DefaultSource}, {&l.Depth, DefaultDepth}, {&l.Steps, DefaultSteps}, {&l.Memory, DefaultMemory}} {
		if *limit.value <= 0 {
			*limit.value = limit.standard
		}
	}
	return s
}
