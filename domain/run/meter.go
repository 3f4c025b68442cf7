package run

// Meter counts what evaluations cost.
type Meter struct {
	Steps  int64 // operations, elements visited, pieces of text and of numbers read, of all evaluations
	Memory int64 // bytes that the one that created most allocated at most, freed or not
}

// Add counts an evaluation. A nil meter counts nothing.
func (m *Meter) Add(steps, memory int64) {
	if m != nil {
		m.Steps += steps
		m.Memory = max(m.Memory, memory)
	}
}
