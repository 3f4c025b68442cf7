package language

// What an evaluation counts on its meter.
const (
	// evaluationSteps is what beginning and ending an evaluation counts, beyond its limit.
	evaluationSteps = 4

	// realBytes is how many bytes are allocated at most for each that is counted: room to
	// grow in, what grew out of its room, and the tables of maps.
	realBytes = 4

	// stepBytes is how many bytes one step allocates at most that are not counted: numbers
	// and texts are boxed when they are passed on.
	stepBytes = 24

	// evaluationBytes is what an evaluation without any value takes.
	evaluationBytes = 4 << 10
)

// MaxEvaluation is how many bytes one evaluation allocates at most with the limits that
// [Compile] uses. Limits.Memory bounds what is counted, and that is less: see [run.Meter].
const MaxEvaluation = realBytes*DefaultMemory + stepBytes*DefaultSteps + evaluationBytes

// used is what the evaluation has cost: steps, and an upper bound of the bytes that were
// allocated. What was refused was not done.
func (m *Machine) used() (steps, memory int64) {
	spent := m.limits.Steps - max(m.steps, 0)
	created := m.limits.Memory - max(m.memory, 0)
	return int64(spent + evaluationSteps), int64(realBytes*created + stepBytes*spent + evaluationBytes)
}
