package language

// Limits bound what one source may be and what one evaluation may use. A zero
// member means its default, so the zero value is what [Compile] uses.
type Limits struct {
	Source int // bytes of source, 65,536
	Depth  int // nesting of the source, and of data that is built or rendered, 200
	Steps  int // operations, elements visited, pieces of text and of long numbers read, 100,000
	Memory int // bytes of values created, freed or not, and of the result, 4 MiB; see MaxEvaluation
}

// The defaults of [Limits].
const (
	DefaultSource = 64 << 10
	DefaultDepth  = 200
	DefaultSteps  = 100_000
	DefaultMemory = 4 << 20
)

// WithDefaults replaces the members that are not set.
func (l Limits) WithDefaults() Limits {
	for _, limit := range []struct {
		value    *int
		standard int
	}{{&l.Source, DefaultSource}, {&l.Depth, DefaultDepth}, {&l.Steps, DefaultSteps}, {&l.Memory, DefaultMemory}} {
		if *limit.value <= 0 {
			*limit.value = limit.standard
		}
	}
	return l
}
